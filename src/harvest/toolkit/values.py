"""Now ``harvest_toolkit.values``."""

from harvest.moved import moved

__getattr__ = moved(__name__, "harvest_toolkit.values")
