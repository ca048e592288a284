"""Repair a dataset: restore its manifest, and read only damaged parts again.

All decisions are made under the dataset's lock, from the state in force at that time.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import attrs

from harvest.errors import DatasetError
from harvest.pipeline.exporting import announcing
from harvest.pipeline.reread import Again, read_again
from harvest.pipeline.result import RunResult
from harvest.plugins.registry import PluginManager, manager
from harvest.storage.commit import RUNS
from harvest.storage.files import in_place_of_files, link_on_the_way
from harvest.storage.history import mend_copies
from harvest.storage.manifest import GIVEN_UP, HISTORY, NAME, Manifest, segments_of
from harvest.storage.segment import COPIES, SEGMENTS, restore_segment
from harvest.storage.target import Target, holding, manifest_of, put_in_order, writing
from harvest.toolkit.plain import set_aside, what_else

from .dataset import Dataset, open, state_at, states_of  # noqa: A004
from .verify import Problem, concerned, inspect


@attrs.frozen(kw_only=True)
class Repair:
    """The problems of a dataset and the result of repairing them.

    found: problems before; left: remaining problems; restored: whether the manifest was restored.
    result: result of the run that read damaged parts again, if any.
    gone: missing inputs of damaged parts, with the reason.
    given_up: descriptions of states and records that were lost and are no longer expected.
    """

    found: list[str]
    left: list[Problem]
    restored: bool
    result: RunResult | None
    gone: tuple[tuple[str, str], ...]
    given_up: tuple[str, ...]


def repair(
    location: Path,
    *,
    plugins: PluginManager | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    deleted: str = "keep",
    give_up: bool = False,
    wait_s: float = 0,
) -> Repair:
    """Repair the dataset at a location.

    settings: plugin name -> key -> value, for values that the dataset does not keep (secrets).
    deleted: ``drop`` removes damaged parts whose input is gone from the dataset.
    give_up: give up kept states and run records that cannot be restored; if the last manifest is
        lost, go back to an earlier one.
    """
    plugins = plugins or manager()
    path = location.expanduser().absolute()
    state = state_at(path)
    # clear these first: a lock that is not a file cannot be held
    found = _clear_places(state, in_place_of_files(state, top=True))
    with announcing(plugins) as committed, holding(state, str(path), wait_s=wait_s) as lock:
        found += _clear_places(state, in_place_of_files(state))
        found += _clear_places(state, _in_place_of_one_file(path, state))
        wrong = _restore_manifest(state, give_up=give_up)
        restored, found = bool(wrong), found + wrong
        dataset = open(path, plugins=plugins)
        found += _clear_places(state, _in_place_of_rows(dataset))
        left = inspect(dataset)
        found += [problem.text for problem in left]
        again = Again(result=None, gone=())
        given_up: list[str] = []
        if left:
            target = put_in_order(dataset.sink, lock)
            mend_copies(dataset.sink.state, target.manifest)
            if keys := concerned(target.manifest, inspect(dataset)):
                again = read_again(
                    target,
                    target.manifest.parts.pick(keys).values(),
                    plugins,
                    action="repair",
                    settings=settings,
                    drop_gone=deleted == "drop",
                    check_old=True,
                    committed=committed,
                )
            left = inspect(open(path, plugins=plugins))
            given_up = _unkept(target)
        if give_up and any(problem.lost for problem in left):
            given_up += _give_up(target, left)
            left = inspect(open(path, plugins=plugins))
    return Repair(
        found=found,
        left=left,
        restored=restored,
        result=again.result,
        gone=tuple((part.origin, reason) for part, reason in again.gone),
        given_up=tuple(given_up),
    )


def _in_place_of_one_file(path: Path, state: Path) -> Iterator[tuple[Path, str]]:
    """Yield what replaces a single-file dataset; the path may be the user's own link."""
    what = what_else(Path(os.path.realpath(path)))
    if what is not None and state in states_of(path)[1:]:
        yield path, what


def _in_place_of_rows(dataset: Dataset) -> Iterator[tuple[Path, str]]:
    root = dataset.sink.root
    files = dataset.manifest.files.distinct()
    for name in sorted({file.path for file in files if file.offset is None}):
        what = what_else(root / name)
        if what is not None and link_on_the_way(root, name) in (None, root / name):
            yield root / name, what


def _clear_places(state: Path, places: Iterable[tuple[Path, str]]) -> list[str]:
    return [f"{path}: was {what}, now {set_aside(path, state)}" for path, what in list(places)]


def _restore_manifest(state: Path, *, give_up: bool) -> list[str]:
    """Replace a damaged or missing manifest by a copy; return what was wrong."""
    try:
        _load_all(state)
    except DatasetError as error:
        copy = _newest_copy(state)
        if copy is None:
            problem = f"{error.message}, and it has no intact copy"
            remedy = "restore it from a backup, or harvest into a new directory"
            raise DatasetError(problem, where=error.where, remedy=remedy) from error
        recorded = {path.stem for of in (HISTORY, RUNS) for path in (state / of).glob("*.json")}
        later = recorded - set(copy.runs)
        if later and not give_up:
            raise DatasetError(
                f"{error.message}, and the newest whole copy is that of run {copy.run}, "
                f"before run {min(later)}",
                where=error.where,
                remedy="restore it from a backup, or go back to that copy with --give-up; what "
                "later runs wrote is lost then, until it is harvested again",
            ) from error
        copy.write(state / NAME)
        return [f"{error.where}: {error.message}"]
    return []


def _load_all(state: Path) -> None:
    manifest = Manifest.load(state)
    if manifest is not None:
        manifest.check()


def _newest_copy(state: Path) -> Manifest | None:
    """Return the latest intact copy of the manifest, with its segments restored, or None."""
    found: dict[Path, Manifest] = {}
    for path in (state / HISTORY).glob("*.json"):
        for name in segments_of(path) or ():
            restore_segment(state / COPIES / name, state / SEGMENTS / name)
        try:
            copy = Manifest.read(path)
            if copy is not None:
                found[path] = copy.check()
        except DatasetError:  # this copy is damaged too: try older ones
            continue
    return max(found.values(), key=lambda copy: len(copy.runs), default=None)


def problem_of_manifest(path: Path) -> str | None:
    """Return the problem of a dataset's manifest if it cannot be opened, else None."""
    for state in states_of(path.expanduser().absolute()):
        try:
            _load_all(state)
        except DatasetError as error:
            return f"{error.where}: {error.message}"
    return None


def _unkept(target: Target) -> list[str]:
    """Return a sentence if the previous state should have been kept but could not be."""
    before, now = target.manifest, manifest_of(target.sink)
    if now.run == before.run or before.run in now.kept or not now.keep_runs:
        return []
    return [f"the state that run {before.run} left is not kept: a damaged file of it is lost"]


def _give_up(target: Target, problems: Iterable[Problem]) -> list[str]:
    """Give up kept states and records that the problems concern; return a sentence on each."""
    now = manifest_of(target.sink)
    states = {problem.state for problem in problems}
    records = {problem.record for problem in problems}
    target.amend(
        attrs.evolve(
            now,
            kept=tuple(run for run in now.kept if run not in states),
            records={**now.records, **{run: GIVEN_UP for run in now.runs if run in records}},
        )
    )
    gone = [run for run in now.kept if run in states]
    said = [f"the state that run {run} left is not kept any more" for run in gone]
    return [*said, *(f"the record of run {run} is given up" for run in now.runs if run in records)]


@attrs.frozen(kw_only=True)
class Replay:
    """The outcome of a replay; before, left: numbers of rejects in the dataset."""

    again: Again
    before: int
    left: int


def replay(
    dataset: Dataset,
    *,
    source: str | None = None,
    reason: str | None = None,
    settings: Mapping[str, Mapping[str, Any]] | None = None,
    wait_s: float = 0,
) -> Replay:
    """Read partitions with rejects again; ``reason`` selects rejects by a text in their reason."""
    plugins = dataset.plugins
    with announcing(plugins) as committed, writing(dataset.sink, wait_s=wait_s) as target:
        held = target.manifest.parts
        parts = [
            part
            for part in held.with_rejects()
            if part.rejected
            and source in (None, part.source)
            and (reason is None or any(reason in r["reason"] for r in dataset.rejects_of(part)))
        ]
        again = read_again(
            target, parts, plugins, action="replay", settings=settings, committed=committed
        )
        left = manifest_of(dataset.sink).parts.total("rejected")
        return Replay(again=again, before=held.total("rejected"), left=left)
