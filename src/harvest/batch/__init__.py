"""Now ``harvest_batch``."""

from harvest.moved import moved

__getattr__ = moved(__name__, "harvest_batch")
