"""The harvest source ``pbs``."""
