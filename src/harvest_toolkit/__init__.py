"""What sources of large files have in common: lines, CSV, pairs, JSON, values, streams.

Each module has an example in its docstring; nothing is imported before it is asked for.
"""
