"""What each view gives: its columns, the most important first, and directly below what it is."""
