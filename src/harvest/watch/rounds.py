"""One round of a watch: an ordinary run of what may be read now.

Sources that cannot list their input are left out, so that the others go on.  What is left out is
listed all the same and thus neither replaced nor dropped.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs

from harvest.api.sink import Sink
from harvest.api.source import Partition
from harvest.errors import SourceError
from harvest.pipeline.plan import Listed, Plan, SourceUse
from harvest.pipeline.prepare import PreparedRun
from harvest.pipeline.recipe import Recipe
from harvest.pipeline.result import RunResult
from harvest.pipeline.runner import carry_out
from harvest.pipeline.selection import (
    Named,
    Selection,
    partitions_in,
    partitions_of,
    selection_of,
)
from harvest.plugin_code import contained
from harvest.plugins.registry import PluginManager
from harvest.storage.part import Part, part_key
from harvest.toolkit.texts import printable, printable_line

from .inputs import Inputs

__all__ = ["Round", "error_text", "make_round"]


@attrs.frozen(kw_only=True)
class Round:
    """What came of a round.

    result: of its run; None when there was nothing to make one of.
    remarks: what was looked at, if that is less than all and not what is pending.
    failures: sources that could not list their input, with why; by the source's words.
    asked: whether some source has input whose changes no file shows.
    own: outputs of this watch that a source lists as its input.
    """

    result: RunResult | None
    remarks: Sequence[str]
    failures: Mapping[str, str]
    asked: bool
    own: Sequence[str]


@contained()
def make_round(
    recipe: Recipe,
    plugins: PluginManager,
    uses: Sequence[SourceUse],
    sinks: Sequence[Sink],
    inputs: Inputs,
    *,
    whole: bool,
    patience_s: float,
    wait_s: float,
) -> Round:
    """Plan, read and commit what rests; raises HarvestError as a run does, then nothing is taken.

    whole: list all there is; else what is pending, if that can be said by files.
    patience_s: how long a file may keep a partition waiting that it belongs to.
    """
    selection = selection_of(recipe)
    pending = None if whole else _pending(recipe, inputs)
    listed, failures = _list(uses, selection, pending)
    named = (path for _, partition in listed for path in partition.inputs)
    left = inputs.leave(named, patience_s, whole=pending is None)
    own = sorted({partition.origin for _, partition in listed if _is_own(partition, inputs)})
    only = _keys_to_read(listed, left, inputs)
    result = None
    if listed:
        result = carry_out(
            PreparedRun(
                recipe=recipe,
                plugins=plugins,
                uses=uses,
                listed=listed,
                sinks=sinks,
                partial=(pending or selection) is not None,
                only=only,
                wait_s=wait_s,
            )
        )
    inputs.take(left)
    if result is not None:
        inputs.read_again(_inputs_of(result, lambda part: part.changed))
        inputs.read_too(
            _inputs_of(result, lambda part: part.failed),
            instead_of=_inputs_planned(result.plan),
        )
    return Round(
        result=result,
        remarks=selection.remarks() if selection and not pending else (),
        failures=failures,
        asked=any(not partition.inputs for _, partition in listed),
        own=own,
    )


def error_text(error: Exception) -> str:
    """An error as a person reads it, also one of the system."""
    if isinstance(error, OSError):
        text = error.strerror or str(error)
        return printable_line(f"{error.filename}: {text}" if error.filename else text)
    return str(error)


def _pending(recipe: Recipe, inputs: Inputs) -> Selection | None:
    """The files that this round is about; None where all are to be listed."""
    if recipe.deleted == "drop" and inputs.are_gone():
        return None
    pending = inputs.to_read()
    return None if pending is None else Named(pending)


def _inputs_planned(plan: Plan) -> set[str]:
    """The inputs that a round was about, also of what every dataset has."""
    partitions = [planned.partition for planned in plan.partitions]
    partitions += [partition for _, partition in plan.skipped()]
    return {path for partition in partitions for path in partition.inputs}


def _inputs_of(result: RunResult, wanted: Callable[[Part], bool]) -> set[str]:
    """The inputs of some parts that a round read."""
    keys = {part.key for part in result.parts if wanted(part)}
    return {
        path
        for planned in result.plan.partitions
        if planned.key in keys
        for path in planned.partition.inputs
    }


def _list(
    uses: Iterable[SourceUse], selection: Selection | None, pending: Selection | None
) -> tuple[Listed, dict[str, str]]:
    """The partitions of all sources that can list theirs, and why the others cannot.

    pending: the files that the round is about, None for all of the selection.  A source whose
    partitions are more than files lists all: what is pending may change others, too.
    """
    listed: Listed = []
    failures: dict[str, str] = {}
    for use in uses:
        try:
            found = None if pending is None else partitions_in(use.source, pending)
            if found is None:
                found = partitions_of(use.source, selection)
            listed += [(use, partition) for partition in found]
        except (SourceError, OSError) as error:
            place = printable(use.source.redact(use.source.location))
            failures[f"{use.source.name}:{place}"] = error_text(error)
    return listed, failures


def _keys_to_read(listed: Listed, left: set[str], inputs: Inputs) -> dict[str, tuple[str, str]]:
    """Keys of the partitions to be read, as :class:`Job` takes them.

    What is of one origin is read in one round, since its partitions may be cut anew.
    """
    unready = {*left, *_directories(left)}

    def place(use: SourceUse, partition: Partition) -> tuple[str, str]:
        return use.source.name, printable(partition.origin)

    waiting = {
        place(use, partition)
        for use, partition in listed
        if not unready.isdisjoint(partition.inputs) or _is_own(partition, inputs)
    }
    return {
        part_key(use.source.name, partition): place(use, partition)
        for use, partition in listed
        if place(use, partition) not in waiting
    }


def _directories(paths: Iterable[str]) -> set[str]:
    """All directories that hold one of these files."""
    found: set[str] = set()
    for path in paths:
        above = os.path.dirname(path)  # noqa: PTH120
        while above not in found:
            found.add(above)
            above = os.path.dirname(above)  # noqa: PTH120
    return found


def _is_own(partition: Partition, inputs: Inputs) -> bool:
    return bool(partition.inputs) and all(path in inputs.ours for path in partition.inputs)
