"""Backends of polars, and the choice of a backend by size, memory, devices and setting."""

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final, Self

import attrs
import polars as pl

from harvest import HarvestError, UsageError
from harvest.toolkit.amounts import bytes_in_words

from .scans import Scan, Step

_NEWEST_FOR_GPU: Final = (1, 45)
"""First polars version that cudf-polars 26 does not support."""


def _no_gpu() -> str | None:
    if find_spec("cudf_polars") is None:
        return "cudf-polars is not installed"
    version = tuple(int(part) for part in pl.__version__.split(".")[:2])
    if version >= _NEWEST_FOR_GPU:
        return f"cudf-polars needs polars below 1.45, and {pl.__version__} is installed"
    return None if gpu_devices() else "no CUDA device found"


def _no_dask() -> str | None:
    missing = [name for name in ("dask", "distributed") if find_spec(name) is None]
    return f"{' and '.join(missing)} not installed" if missing else None


def gpu_devices() -> list[int]:
    """Return the memory in bytes of each usable CUDA device, as reported by the driver."""
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
        got = driver.cuDeviceGet(ctypes.byref(device), number)
        if got == 0 and driver.cuDeviceTotalMem_v2(ctypes.byref(size), device) == 0:
            found.append(size.value)
    return found


BACKENDS: Final[dict[str, Callable[[], str | None]]] = {
    "memory": lambda: None,
    "streaming": lambda: None,
    "gpu": _no_gpu,
    "dask": _no_dask,
}
"""Backends by name, each with a function that returns why it cannot be used here, or None.

memory: polars, with all needed columns in memory; streaming: with a few batches in memory; gpu: on
    a CUDA device, with cudf-polars; dask: parts on workers of a Dask cluster, combined in a tree.
"""


@attrs.frozen(eq=False)
class PolarsRows:
    """Rows of ``gpfs.file`` in a lazy frame, computed by an engine of polars."""

    frame: pl.LazyFrame
    backend: str = "streaming"

    def of(self, scan: Scan) -> Self:
        return attrs.evolve(self, frame=scan.filter(self.frame))

    def reduce(self, step: Step) -> pl.DataFrame:
        query = step.finish(step.partial(self.frame))
        if self.backend != "gpu" or not step.on_device:
            return query.collect(engine="in-memory" if self.backend == "memory" else "streaming")
        remedy = "use backend=streaming"
        try:
            # otherwise, unsupported operations would run on the CPU unnoticed
            return query.collect(engine=pl.GPUEngine(raise_on_fail=True))
        except NotImplementedError as error:
            raise UsageError(f"the GPU cannot run this query: {error}", remedy=remedy) from error
        except (pl.exceptions.ComputeError, MemoryError) as error:
            raise HarvestError(f"the GPU failed: {error}", remedy=remedy) from error


AUTO: Final = "auto"

SMALL_BYTES: Final = 64 << 20
"""Below this size, starting the streaming engine or a GPU costs more than it saves."""

IN_MEMORY_FACTOR: Final = 4
"""Peak memory of the in-memory engine, as a multiple of the columns' size."""


@attrs.frozen
class Choice:
    """A backend and the reason for choosing it."""

    backend: str
    reason: str

    def __str__(self) -> str:
        return f"backend {self.backend}: {self.reason}"


def choose_backend(
    size_bytes: int,
    wish: str = AUTO,
    memory_limit: int | None = None,
    devices: Sequence[int] | None = None,
    *,
    address: str | None = None,
) -> Choice:
    """Choose the backend for an aggregation, and state the reason.

    size_bytes: uncompressed size of the needed columns.
    wish: name of a backend, or ``auto``.
    memory_limit: usable bytes; default: what ``available_memory`` finds.
    devices: bytes of memory of each usable GPU; default: those of this machine.
    address: address of a Dask scheduler; if given, Dask is chosen.

    >>> print(choose_backend(10 << 20, memory_limit=8 << 30, devices=[]))
    backend memory: only 10.0 MiB of columns
    >>> print(choose_backend(40 << 30, memory_limit=8 << 30, devices=[]))
    backend streaming: 40.0 GiB of columns, 8.00 GiB of memory, no usable GPU

    Raises UsageError for an unknown backend, or one that cannot be used here.
    """
    if wish != AUTO:
        return _wished(wish, address)
    if address is not None:
        return attrs.evolve(_wished("dask", address), reason="a scheduler's address was given")
    size = bytes_in_words(size_bytes)
    memory = available_memory() if memory_limit is None else memory_limit
    if size_bytes <= SMALL_BYTES and size_bytes * IN_MEMORY_FACTOR <= memory:
        return Choice("memory", f"only {size} of columns")
    if devices is None:
        devices = gpu_devices() if BACKENDS["gpu"]() is None else []
    have = f"{size} of columns, {bytes_in_words(memory)} of memory"
    if not devices:
        return Choice("streaming", f"{have}, no usable GPU")
    device = bytes_in_words(max(devices))
    if size_bytes * IN_MEMORY_FACTOR <= max(devices):
        return Choice("gpu", f"{size} of columns fit into a GPU with {device}")
    return Choice("streaming", f"{have}, and a GPU with only {device}")


_REMEDIES: Final = {
    "gpu": "use backend=streaming, or a machine with a CUDA device, polars 1.44 and cudf-polars",
    "dask": "pip install 'hpc-harvest-gpfs[dask]', or use backend=streaming",
}


def _wished(wish: str, address: str | None) -> Choice:
    if wish not in BACKENDS:
        raise UsageError(f"no backend {wish!r}", remedy=f"use auto, {', '.join(BACKENDS)}")
    if address is not None and wish != "dask":
        said, remedy = f"backend {wish!r} takes no address of a scheduler", "use backend=dask"
        raise UsageError(said, remedy=remedy)
    if (reason := BACKENDS[wish]()) is not None:
        said = f"the backend {wish!r} cannot be used here: {reason}"
        raise UsageError(said, remedy=_REMEDIES[wish])
    return Choice(wish, "your choice")


def available_memory(environ: Mapping[str, str] = os.environ, root: Path = Path("/")) -> int:
    """Return the usable memory in bytes: the minimum of memory, cgroup and Slurm limits.

    environ, root: environment and file system root; parameters for tests.
    """
    here = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([here, *_of_cgroup(root), *_of_slurm(environ)])


def _of_cgroup(root: Path) -> list[int]:
    """Return the memory limits of this process's cgroup and its ancestors, in versions 1 and 2."""
    found = []
    try:
        lines = (root / "proc/self/cgroup").read_text().splitlines()
    except OSError:
        return []  # without cgroups, memory is unlimited
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        top = root / "sys/fs/cgroup" / ("memory" if controllers else "")
        name = "memory.limit_in_bytes" if controllers else "memory.max"
        below = Path(path.strip("/"))
        for folder in (below, *below.parents):
            try:
                text = (top / folder / name).read_text().strip()
            except OSError:
                continue  # a container may not see the groups above its own
            if text.isdigit():
                found.append(int(text))
    return found


def _of_slurm(environ: Mapping[str, str]) -> list[int]:
    """Return the memory in bytes that Slurm allocated on this node; its 0 means the whole node."""
    names = ("SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU", "SLURM_CPUS_ON_NODE")
    texts = [environ.get(name, "") for name in names]
    per_node, per_cpu, cpus = (int(text) if text.isdigit() else 0 for text in texts)
    return [mebibytes << 20 for mebibytes in (per_node, per_cpu * cpus) if mebibytes]
