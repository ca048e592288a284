"""Read Darshan logs without Darshan's library, which was not written for untrusted input.

The container, the job record, the names and each module are decoded here, from checked bytes.
"""
