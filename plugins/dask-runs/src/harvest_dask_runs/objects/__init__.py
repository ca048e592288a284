"""Tasks as objects, text and files; the command that compiles them from bare CSVs."""
