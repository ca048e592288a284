"""Mending a dataset: restoring its manifest, reading again just what is damaged."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from harvest.errors import DatasetError
from harvest.pipeline.reread import Again, read_again
from harvest.pipeline.result import RunResult
from harvest.plugins.registry import PluginManager, manager
from harvest.storage.history import mend_copies
from harvest.storage.lock import locked
from harvest.storage.manifest import HISTORY, NAME, Manifest, segments_of
from harvest.storage.segment import COPIES, SEGMENTS, restore_segment
from harvest.storage.target import refuse_links, writing

from .dataset import Dataset, open, states_of  # noqa: A004
from .verify import concerned, inspect

__all__ = ["Repair", "problem_of_manifest", "repair", "replay"]


@attrs.frozen(kw_only=True)
class Repair:
    """What was wrong and what was done about it.

    found: problems before; left: problems that remain; restored: whether the manifest was.
    result: of the run that read damaged parts again, if one did.
    gone: inputs of damaged parts that do not exist any more, with the reason.
    """

    found: list[str]
    left: list[str]
    restored: bool
    result: RunResult | None
    gone: tuple[tuple[str, str], ...]


def repair(
    location: Path,
    *,
    plugins: PluginManager | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    deleted: str = "keep",
    wait_s: float = 0,
) -> Repair:
    """Mend the dataset at a location.

    settings: plugin name -> key -> value, for what is not kept with the dataset (secrets).
    deleted: ``drop`` takes damaged parts whose input is gone out of the dataset.
    Raises DatasetError when a damaged manifest has no copy, or a run's record is missing.
    """
    plugins = plugins or manager()
    path = location.expanduser().absolute()
    found = _restore_manifest(path, wait_s)
    restored = bool(found)
    dataset = open(path, plugins=plugins)
    problems = inspect(dataset)
    found += [problem.text for problem in problems]
    parts = dataset.manifest.parts
    keys = concerned(parts, problems)
    again = Again(result=None, gone=())
    if problems:
        # the lock removes what a run that was cut short has left
        with writing(dataset.sink, wait_s=wait_s) as target:
            mend_copies(dataset.sink.state, target.manifest)
    if keys:
        again = read_again(
            dataset.sink,
            parts.pick(keys).values(),
            plugins,
            action="repair",
            settings=settings,
            drop_gone=deleted == "drop",
            keep_state=False,
            wait_s=wait_s,
        )
    return Repair(
        found=found,
        left=open(path, plugins=plugins).verify() if problems else [],
        restored=restored,
        result=again.result,
        gone=tuple((part.origin, reason) for part, reason in again.gone),
    )


def _restore_manifest(path: Path, wait_s: float) -> list[str]:
    """Put a copy in the place of a manifest that is damaged or missing; what was wrong with it."""
    for state in states_of(path):
        try:
            _load_all(state)
        except DatasetError as error:
            refuse_links(state)
            with locked(state, wait_s=wait_s):
                copy = _newest_copy(state)
                if copy is None:
                    raise DatasetError(
                        f"{error.message}, and it has no intact copy",
                        where=error.where,
                        remedy="restore it from a backup, or harvest into a new directory",
                    ) from error
                copy.write(state / NAME)
            return [f"{error.where}: {error.message}"]
    return []


def _load_all(state: Path) -> None:
    """Read the manifest in force with all of its segments; raises DatasetError."""
    manifest = Manifest.load(state)
    if manifest is not None:
        manifest.check()


def _newest_copy(state: Path) -> Manifest | None:
    """The manifest of the latest run that is whole, its segments in their place again."""
    found: dict[Path, Manifest] = {}
    for path in (state / HISTORY).glob("*.json"):
        for name in segments_of(path) or ():
            restore_segment(state / COPIES / name, state / SEGMENTS / name)
        try:
            copy = Manifest.read(path)
            if copy is not None:
                found[path] = copy.check()
        except DatasetError:  # damaged too: an older one is better than none
            continue
    return max(found.values(), key=lambda copy: len(copy.runs), default=None)


def problem_of_manifest(path: Path) -> str | None:
    """What is wrong with the manifest of the dataset at a location, if it cannot be opened."""
    for state in states_of(path.expanduser().absolute()):
        try:
            _load_all(state)
        except DatasetError as error:
            return f"{error.where}: {error.message}"
    return None


def replay(
    dataset: Dataset,
    *,
    source: str | None = None,
    reason: str | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    wait_s: float = 0,
) -> Again:
    """Read again the partitions that have rejects: of a source, of a reason that holds a text."""
    parts = [
        part
        for part in dataset.manifest.parts.with_rejects()
        if part.rejected
        and source in (None, part.source)
        and (reason is None or any(reason in r["reason"] for r in dataset.rejects_of(part)))
    ]
    return read_again(
        dataset.sink, parts, dataset.plugins, action="replay", settings=settings, wait_s=wait_s
    )
