"""Now ``harvest_toolkit.deferred``."""

from harvest.moved import moved

__getattr__ = moved(__name__, "harvest_toolkit.deferred")
