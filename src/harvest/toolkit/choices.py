"""Now ``harvest_toolkit.choices``."""

from harvest.moved import moved

__getattr__ = moved(__name__, "harvest_toolkit.choices")
