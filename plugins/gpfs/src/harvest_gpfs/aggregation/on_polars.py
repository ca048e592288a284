"""Where an aggregation runs: polars in memory, streaming or on a GPU, or a Dask cluster.

All run the steps of ``steps`` and give the same rows.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from importlib.util import find_spec
from typing import Final

import attrs
import polars as pl

from harvest import HarvestError, UsageError

from .scans import Scan
from .steps import Step

__all__ = ["BACKENDS", "Backend", "PolarsRows", "backends", "gpu_devices"]


@attrs.frozen
class Backend:
    """One of the ways to run an aggregation.

    missing: gives why it cannot be used here, or None.
    """

    name: str
    doc: str
    missing: Callable[[], str | None]

    @property
    def available(self) -> bool:
        """Whether it can be used here."""
        return self.missing() is None

    def describe(self) -> dict[str, str | bool]:
        """Name, what it is, whether it can be used here, and why not."""
        reason = self.missing()
        return {
            "name": self.name,
            "doc": self.doc,
            "available": reason is None,
            "reason": reason or "",
        }


_NEWEST_FOR_GPU: Final = (1, 45)
"""cudf-polars 26 drives polars below this version."""


def _no_gpu() -> str | None:
    if find_spec("cudf_polars") is None:
        return "cudf-polars is not installed"
    version = tuple(int(part) for part in pl.__version__.split(".")[:2])
    if version >= _NEWEST_FOR_GPU:
        return f"cudf-polars needs polars below 1.45, and {pl.__version__} is installed"
    return None if gpu_devices() else "no CUDA device is at hand"


def _no_dask() -> str | None:
    missing = [name for name in ("dask", "distributed") if find_spec(name) is None]
    return f"{' and '.join(missing)} not installed" if missing else None


def gpu_devices() -> list[int]:
    """Bytes of memory of each CUDA device that this process may use, as the driver reports."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []  # no driver, no device
    count = ctypes.c_int()
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return []
    found = []
    for number in range(count.value):
        device, size = ctypes.c_int(), ctypes.c_size_t()
        if (
            driver.cuDeviceGet(ctypes.byref(device), number) == 0
            and driver.cuDeviceTotalMem_v2(ctypes.byref(size), device) == 0
        ):
            found.append(size.value)
    return found


BACKENDS: Final = {
    backend.name: backend
    for backend in (
        Backend("memory", "polars, all columns needed in memory at once", lambda: None),
        Backend("streaming", "polars' streaming engine, a few batches in memory", lambda: None),
        Backend("gpu", "polars on a CUDA device, with cudf-polars", _no_gpu),
        Backend("dask", "each part on a worker of a Dask cluster, combined in a tree", _no_dask),
    )
}
"""All backends by name."""


def backends() -> list[Backend]:
    """All backends, those that cannot be used here too.

    >>> [backend.name for backend in backends()]
    ['memory', 'streaming', 'gpu', 'dask']
    >>> backends()[1].describe()["available"]
    True
    """
    return list(BACKENDS.values())


@attrs.frozen(eq=False)
class PolarsRows:
    """Rows of ``gpfs.file`` in a lazy frame, asked by an engine of polars.

    backend: memory, streaming or gpu.
    """

    frame: pl.LazyFrame
    backend: str = "streaming"

    def of(self, scan: Scan) -> PolarsRows:
        """The rows of one scan alone."""
        return attrs.evolve(self, frame=scan.filter(self.frame))

    def reduce(self, step: Step) -> pl.DataFrame:
        """The result of a step over all rows."""
        query = step.finish(step.partial(self.frame))
        if self.backend == "gpu" and step.on_device:
            return _on_gpu(query)
        return query.collect(engine="in-memory" if self.backend == "memory" else "streaming")


def _on_gpu(query: pl.LazyFrame) -> pl.DataFrame:
    try:
        # without it, what the GPU cannot do would run on the CPU and nobody would know
        return query.collect(engine=pl.GPUEngine(raise_on_fail=True))
    except NotImplementedError as error:
        raise UsageError(
            f"the GPU cannot run this query: {error}", remedy="take backend=streaming"
        ) from error
    except (pl.exceptions.ComputeError, MemoryError) as error:
        raise HarvestError(f"the GPU gave up: {error}", remedy="take backend=streaming") from error
