"""The exporter ``delta``: record types and views as tables of Delta Lake."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

from harvest import Dataset, HarvestError, UsageError

from ..chosen import views_named


def write(
    dataset: Dataset,
    target: str,
    *,
    views: str | Iterable[str] | None = None,
    partition: str | None = None,
    keep: int | None = None,
    optimize: bool = False,
    check: bool = False,
    storage: str | None = None,
) -> str:
    """Bring the tables below a directory or address to the dataset's state.

    views: as ``chosen.views_named`` takes them; those that are there unless given.
    partition: a column, or ``day``, ``month`` or ``year``.  keep: days of old versions that stay.
    optimize: make few files of many.  check: write nothing, and say what each table is of.
    storage: a TOML file with options of deltalake for an object store.
    Raises UsageError for a table of somebody else, DatasetChanged where another export of a later
    commit came first, HarvestError where the store says no.
    """
    if find_spec("deltalake") is None:
        raise UsageError(
            "tables of Delta Lake are written by deltalake, which is not installed",
            remedy="pip install 'hpc-harvest-exports[delta]'",
        )
    from deltalake.exceptions import DeltaError  # an optional library

    from .export import Export

    chosen = views_named(dataset, views)
    export = Export(dataset, target, _options(storage), partition)
    try:
        if check:
            return export.checked()
        export.run(chosen)
        if optimize or keep is not None:
            export.tidy(optimize=optimize, keep=keep)
    except DeltaError as error:
        text = str(error).splitlines()[0]
        raise HarvestError(
            f"Delta Lake says: {text}",
            where=target,
            remedy="tables that were not reached are as they were; export again when it is mended",
        ) from error
    return export.said


def _options(storage: str | None) -> dict[str, str] | None:
    """What deltalake is told of an object store."""
    if storage is None:
        return None
    try:
        read = tomllib.loads(Path(storage).expanduser().read_text())
    except (OSError, ValueError) as error:  # its text may hold secrets
        raise UsageError(
            f"this is no file of storage options ({type(error).__name__})",
            where=storage,
            remedy='write lines such as AWS_ENDPOINT_URL = "https://..."',
        ) from None
    return {key: str(value) for key, value in read.items()}
