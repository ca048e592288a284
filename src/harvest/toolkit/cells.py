"""Now ``harvest_report.values``."""

from harvest.moved import moved

__getattr__ = moved(__name__, "harvest_report.values")
