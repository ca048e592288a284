"""One round of a watch: an ordinary run of the inputs that may be read now.

Sources that cannot list their input are left out, so that the others continue. Partitions that are
left out are still listed, and so neither replaced nor dropped.
"""

import os
from collections.abc import Iterable
from typing import Any

from harvest import Partition, RunResult, Session
from harvest.toolkit.texts import printable_line

from .inputs import Inputs


def make_round(
    session: Session, inputs: Inputs, *, whole: bool, patience_s: float, wait_s: float
) -> tuple[Any, RunResult | None]:
    """Plan, read and commit files at rest; on HarvestError (as of a run), none counts as read.

    whole: list all inputs; else only pending ones, if files can identify them.
    patience_s: maximum seconds that a changing file may delay its partition.
    Returns what the session listed, and the result of the run; None if there was nothing to run.
    """
    # None to list all inputs, for example to find the removed ones, which are dropped
    gone = session.recipe.deleted == "drop" and inputs.are_gone()
    pending = None if whole or gone else inputs.to_read()
    listing = session.list(pending, go_on=True)
    partitions = listing.partitions
    named = (path for partition in partitions for path in partition.inputs)
    left = inputs.leave(named, patience_s, whole=pending is None)
    unready = {*left, *_directories(left)}

    def ready(partition: Partition) -> bool:
        return unready.isdisjoint(partition.inputs) and not is_own(partition, inputs)

    result = session.commit(listing, ready=ready, wait_s=wait_s) if partitions else None
    inputs.take(left)
    if result is not None:
        inputs.read_again(result.inputs(changed=True))
        inputs.read_too(result.inputs(failed=True), instead_of=result.inputs(planned=True))
    return listing, result


def error_text(error: Exception) -> str:
    """Return an error's text for people, also for a system error."""
    if isinstance(error, OSError):
        text = error.strerror or str(error)
        return printable_line(f"{error.filename}: {text}" if error.filename else text)
    return str(error)


def _directories(paths: Iterable[str]) -> set[str]:
    """Return all directories that contain one of these files, at any level."""
    found: set[str] = set()
    for path in paths:
        above = os.path.dirname(path)  # noqa: PTH120
        while above not in found:
            found.add(above)
            above = os.path.dirname(above)  # noqa: PTH120
    return found


def is_own(partition: Partition, inputs: Inputs) -> bool:
    """Return whether a partition is an output of this watch, which a source lists as its input."""
    return bool(partition.inputs) and all(path in inputs.ours for path in partition.inputs)
