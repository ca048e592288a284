"""Helpers for authors of plugins; they stand on nothing else of the project."""
