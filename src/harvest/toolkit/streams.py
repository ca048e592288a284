"""Now ``harvest_toolkit.streams``."""

from harvest.moved import moved

__getattr__ = moved(__name__, "harvest_toolkit.streams")
