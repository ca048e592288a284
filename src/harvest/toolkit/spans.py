"""Now ``harvest_toolkit.spans``."""

from harvest.moved import moved

__getattr__ = moved(__name__, "harvest_toolkit.spans")
