"""Now ``harvest_toolkit.pairs``."""

from harvest.moved import moved

__getattr__ = moved(__name__, "harvest_toolkit.pairs")
