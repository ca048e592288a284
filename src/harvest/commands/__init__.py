"""Building blocks of commands, for harvest and plugins: options, completion, output.

A function decorated with ``takes_run_options`` takes the options of ``harvest run``; their
``recipe()`` is the input of ``harvest.Session``. Output is in the modules next to this one, which a
command's help does not import.
"""

from harvest.toolkit.steps import remark

from .options import RunOptions, takes_run_options
from .output import print_json_line

__all__ = ["RunOptions", "print_json_line", "remark", "takes_run_options"]
