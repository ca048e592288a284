"""Decode the bytes of a log into rows.

``container`` finds the regions, ``regions`` inflates them, ``job`` and ``names`` parse the first
two, and a decoder parses each module. ``log`` checks a whole log, and yields its rows.
"""
