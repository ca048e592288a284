"""Parsing the bytes of a policy list into tables of ``gpfs.file``."""
