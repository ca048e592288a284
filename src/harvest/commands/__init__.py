"""What commands are made of, harvest's own and those of plugins: options, completion, output.

A function with ``takes_run_options`` above it takes the options of ``harvest run``; their
``recipe()`` is what ``harvest.Session`` carries out.  What a command shows is in the modules
next to this one, which its help does without.
"""

from __future__ import annotations

from harvest.toolkit.steps import remark

from .options import RunOptions, takes_run_options
from .output import print_json_line

__all__ = ["RunOptions", "print_json_line", "remark", "takes_run_options"]
