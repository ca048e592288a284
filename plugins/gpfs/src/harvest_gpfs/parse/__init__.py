"""From the bytes of a policy list to tables of ``gpfs.file``."""
