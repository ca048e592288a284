"""Now ``harvest_toolkit.hosts``."""

from harvest.moved import moved

__getattr__ = moved(__name__, "harvest_toolkit.hosts")
