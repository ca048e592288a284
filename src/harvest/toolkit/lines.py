"""Now ``harvest_toolkit.lines``."""

from harvest.moved import moved

__getattr__ = moved(__name__, "harvest_toolkit.lines")
