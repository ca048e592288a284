"""From the bytes of a log to rows, step by step.

``container`` finds the regions, ``regions`` inflates them, ``job`` and ``names`` read the first
two, and a ``decoder`` each module; ``log`` checks a log as a whole, and ``rows`` gives its rows.
"""
