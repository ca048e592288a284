"""The names of sacct's fields, and the meanings of their texts."""
