"""Live capture of any Dask cluster into crash-safe files that ``harvest`` reads.

``with capture(client, "runs/R1"):`` in a script, ``harvest dask capture`` for a cluster that runs,
``--preload harvest_dask`` for one that starts.  Nothing of harvest itself is imported here.
"""

from .client import capture
from .preload import dask_setup
from .settings import CaptureError

__all__ = ["CaptureError", "capture", "dask_setup"]
