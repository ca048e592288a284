"""Tasks as objects, text and files."""
