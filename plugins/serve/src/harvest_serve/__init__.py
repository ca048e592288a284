"""Serve datasets to browsers and programs, read-only.

``state`` opens a dataset at one commit (``Snapshot``). ``tables`` and ``sql`` query it.
``work`` runs each question in a thread, with limits, and stops it when its client leaves. ``api``
answers programs, ``pages`` answers people, and ``guard`` checks every request first.
"""
