"""Now ``harvest_toolkit.json_lines``."""

from harvest.moved import moved

__getattr__ = moved(__name__, "harvest_toolkit.json_lines")
