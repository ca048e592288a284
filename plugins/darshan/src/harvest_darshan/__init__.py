"""Read Darshan logs without Darshan's library, which was not written for untrusted input.

The container, the job record, the map of names and each module are decoded here, from bytes that
are checked before they are used.
"""
