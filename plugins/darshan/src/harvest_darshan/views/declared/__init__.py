"""Declarations of the views, without large imports: columns, settings, and where each is built."""
