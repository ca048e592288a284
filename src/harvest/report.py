"""Now ``harvest_report``."""

from harvest.moved import moved

__getattr__ = moved(__name__, "harvest_report")
