"""Helpers for sources that read large files: lines, CSV, pairs, JSON, values, streams.

Each module shows an example in its docstring, and is imported only where it is used.
"""
