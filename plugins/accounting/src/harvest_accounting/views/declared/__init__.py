"""What each view gives: its columns, directly above it."""
