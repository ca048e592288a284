"""Declarations of the views: name, settings, and meaning of each column."""
