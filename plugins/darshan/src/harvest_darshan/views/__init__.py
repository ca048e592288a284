"""Views of I/O: files, processes, jobs, bytes over time.

``declared`` holds their declarations, each with the name of the function that builds the view.
"""
