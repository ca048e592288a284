"""Now ``harvest_testing``."""

from harvest.moved import moved

__getattr__ = moved(__name__, "harvest_testing")
