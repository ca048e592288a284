"""The fuzz targets: one module per parser, each with a ``TARGET``."""

from collections.abc import Callable
from importlib import import_module
from random import Random

import attrs

__all__ = ["NAMES", "PARSERS", "Target", "load"]

PARSERS = {
    "dask_capture": ("harvest_dask.records.captures",),
    "mofka_csv": ("harvest_mofka_dask",),
    "mofka_literals": ("harvest_dask.records",),
    "mofka_lines": ("harvest_mofka_dask",),
    "mofka_settings": ("harvest_mofka_dask", "yaml"),
    "slurm_text": ("harvest_slurm",),
    "slurm_json": ("harvest_slurm",),
    "ncem_status": ("harvest_ncem",),
    "ncem_tables": ("harvest_ncem", "harvest"),
    "distiller_csv": ("harvest_distiller", "harvest"),
    "darshan_log": ("harvest_darshan",),
    "yappi_text": ("harvest_yappi",),
    "yappi_pstat": ("harvest_yappi",),
    "gpfs_lines": ("harvest_gpfs",),
}
"""Each target's name, and the packages whose code guides the fuzzer."""

NAMES = tuple(PARSERS)


@attrs.frozen(kw_only=True)
class Target:
    """One parser under test.

    name: also of its corpus folder; doc: what the bytes of an input mean.
    seeds: sound inputs to start from, made anew by our own generators.
    run: checks one input; raises for a broken promise and for nothing else.
    mutate: a change that keeps the input's form, for formats that random bytes never reach.
    """

    name: str
    doc: str
    seeds: Callable[[], list[bytes]]
    run: Callable[[bytes], None]
    mutate: Callable[[bytes, Random], bytes] | None = None
    max_bytes: int = 8192


def load(name: str) -> Target:
    """The target of a name; raises KeyError for an unknown one."""
    if name not in NAMES:
        raise KeyError(f"no fuzz target {name!r}; there are {', '.join(NAMES)}")
    target: Target = import_module(f".{name}", __name__).TARGET
    return target
