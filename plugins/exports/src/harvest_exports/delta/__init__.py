"""The exporter ``delta``: record types and views as tables of Delta Lake."""

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
    """Update the tables below a directory or URL to the dataset's state; gives a summary.

    ``harvest_exports.plugin`` documents the settings.
    Raises UsageError for a table of another dataset, DatasetChanged if a later commit was already
    exported, HarvestError for an error of the store.
    """
    if find_spec("deltalake") is None:
        raise UsageError(
            "tables of Delta Lake need deltalake, which is not installed",
            remedy="pip install 'hpc-harvest-exports[delta]'",
        )
    from deltalake.exceptions import DeltaError  # an optional library

    from .export import Export

    chosen = views_named(dataset, views)
    export = Export(dataset, target, _options(storage) if storage else None, partition)
    try:
        if check:
            return export.checked()
        said = export.run(chosen)
        if optimize or keep is not None:
            export.tidy(optimize=optimize, keep=keep)
    except DeltaError as error:
        text = str(error).splitlines()[0]
        raise HarvestError(
            f"Delta Lake says: {text}",
            where=target,
            remedy="tables that were not reached are as they were; export again when it is mended",
        ) from error
    return said


def _options(storage: str) -> dict[str, str]:
    """Read the options of deltalake for an object store from a TOML file."""
    try:
        read = tomllib.loads(Path(storage).expanduser().read_text())
    except (OSError, ValueError) as error:  # its text may hold secrets
        raise UsageError(
            f"this is not a file of storage options ({type(error).__name__})",
            where=storage,
            remedy='write lines such as AWS_ENDPOINT_URL = "https://..."',
        ) from None
    return {key: str(value) for key, value in read.items()}
