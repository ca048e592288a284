"""Options and help of the commands; other modules implement them."""
