"""Datasets in the browser and for other programs: read, never written.

``state`` opens a dataset at one commit (``Snapshot``); ``tables``, ``facets`` and ``sql`` ask it;
``work`` runs what is asked in a thread, with limits, and ends it when its client leaves; ``api``
and ``pages`` give the answers to programs and to people; ``guard`` stands before all of it.
"""
