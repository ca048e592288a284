"""Read Darshan logs, with nothing but the format's description.

The container, the job record, the name map and every module are decoded here, from bytes that are
checked before they are used; no foreign library sees an untrusted log.
"""
