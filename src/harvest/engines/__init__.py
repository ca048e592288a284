"""The core's engine, and building blocks for engines with workers on a machine.

``read_bundles`` reads on this machine, as the engine ``local`` does, with ``available_cores``.
``interpreter`` is the command of a worker process with the import paths of this process, ``ending``
says how a process ended. ``Progress`` is the report of bundles, ``Terms`` are the requirements for
workers elsewhere, ``Awaited`` finds results that jobs stage.
"""

from harvest.reading.awaited import Awaited
from harvest.reading.task import Progress
from harvest.reading.terms import Terms

from .pool import available_cores, ending, interpreter, read_bundles

__all__ = [
    "Awaited", "Progress", "Terms", "available_cores", "ending", "interpreter", "read_bundles",
]  # fmt: skip
