"""A Yappi profile of a worker's function calls, saved next to the capture's files.

The statistics stay in memory until the capture ends: a killed worker leaves no profile.
"""

import contextlib
import logging
from pathlib import Path
from typing import Any, Final

CLOCKS: Final = ("cpu", "wall")
"""Times that Yappi can measure."""

logger = logging.getLogger("harvest_dask")


class Profile:
    """A profile of this process from now on; Yappi supports one profile per process.

    clock: ``cpu`` or ``wall``. path: path of the files without their suffixes, ``.pstat`` for
    functions and ``.threads.txt`` for threads.
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
        """Stop the profile and write both files; each file is complete or absent."""
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
