"""The old place of the library of reports, ``harvest_report``."""

from harvest.moved import moved

__getattr__ = moved(__name__, "harvest_report")
