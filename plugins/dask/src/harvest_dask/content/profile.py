"""A profile of what a worker's tasks call, by Yappi, saved next to the capture's files.

The statistics live in memory until the capture ends: a killed worker leaves none.
"""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from typing import Any, Final

CLOCKS: Final = ("cpu", "wall")
"""Times that Yappi can measure."""

logger = logging.getLogger("harvest_dask")


class Profile:
    """Profiles this process from now on; Yappi knows one profile per process.

    clock: ``cpu`` or ``wall``.  path: of the save without its suffixes: ``.pstat`` for the
    functions, ``.threads.txt`` for the threads.
    """

    def __init__(self, clock: str, path: Path) -> None:
        self._path = path
        self._yappi: Any = None
        try:
            import yappi  # the extra `yappi`
        except ImportError:
            logger.warning(
                "this process is not profiled: install hpc-harvest-dask[yappi] where it runs"
            )
            return
        if yappi.is_running():
            logger.warning("this process is already profiled: the capture adds no profile")
            return
        yappi.set_clock_type(clock)
        yappi.start()
        self._yappi = yappi

    def save(self) -> None:
        """End the profile and write what it holds; both files are whole or absent."""
        yappi, self._yappi = self._yappi, None
        if yappi is None:
            return
        yappi.stop()
        draft = self._path.with_suffix(".part")
        try:
            yappi.get_func_stats().save(str(draft), type="pstat")
            draft.replace(self._path.with_suffix(".pstat"))
            with draft.open("w", encoding="utf-8") as file:
                yappi.get_thread_stats().print_all(out=file)
            draft.replace(self._path.with_suffix(".threads.txt"))
        except OSError as error:
            logger.warning("the profile of this process cannot be saved: %s", error)
            with contextlib.suppress(OSError):
                draft.unlink(missing_ok=True)
        finally:
            yappi.clear_stats()
