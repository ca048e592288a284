"""Now ``harvest_toolkit.delimited``."""

from harvest.moved import moved

__getattr__ = moved(__name__, "harvest_toolkit.delimited")
