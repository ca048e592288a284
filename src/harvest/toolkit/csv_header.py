"""Now ``harvest_toolkit.csv_header``."""

from harvest.moved import moved

__getattr__ = moved(__name__, "harvest_toolkit.csv_header")
