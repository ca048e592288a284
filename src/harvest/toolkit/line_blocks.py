"""Now ``harvest_toolkit.line_blocks``."""

from harvest.moved import moved

__getattr__ = moved(__name__, "harvest_toolkit.line_blocks")
