"""How the kinds of slices are drawn: which share a colour, and where on a lane they lie."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import attrs
import polars as pl

from ..critical.waits import PARTS
from ..report.figures import COLOURS, OTHER
from .slices import Slices

LAYERS: Final[Mapping[str, int]] = {
    "task": 0,
    "path": 0,
    "path.wait": 0,
    "transfer": 1,
    "transfer.untold": 1,
    "io": 2,
}
"""Slices of a lane that are never drawn as one with those of another layer."""

PALE: Final = 0.4

HUES: Final = (
    *COLOURS,
    *("#c2577e", "#2a9fb0", "#8f6b4e", "#7d9a20", "#6a74c9", "#d0783c"),
)
"""More than colour-blind readers can distinguish: a slice says its kind when it is pointed at."""


@attrs.frozen
class Kind:
    """Slices that are drawn alike.

    colour: the name of one of a report's plots, or a value; label: in the legend.
    """

    label: str
    colour: str
    alpha: float
    layer: int


TRANSFERS: Final = {
    "transfer": Kind("transfers", "transfer", 1.0, LAYERS["transfer"]),
    "transfer.untold": Kind("transfers, as the other side recorded them", "transfer", PALE,
                            LAYERS["transfer.untold"]),
}  # fmt: skip
READ: Final = Kind("I/O: read", "ink", 1.0, LAYERS["io"])
WRITE: Final = Kind("I/O: write", "write", 1.0, LAYERS["io"])
WAITS: Final = {
    part: Kind(f"critical path: {part}", colour, 1.0, LAYERS["path.wait"])
    for part, colour in zip(PARTS[1:], ("transfer", "write", "ink", "#b8860b", "grid"), strict=True)
}
OTHER_IO: Final = Kind("I/O: other", "grid", 1.0, LAYERS["io"])


def kinds_of(slices: Slices) -> tuple[list[Kind], list[int]]:
    """The kinds that a run has, and for each of its names the number of its kind.

    The prefixes with the most time have a colour of their own, as in the report ``dask.run``.
    """
    time = slices.rows.group_by("name").agg(time=pl.col("dur").sum())
    tasks = (
        slices.names.with_row_index("number")
        .filter(pl.col("cat") == "task")
        .join(time, left_on="number", right_on="name")
        .sort("time", "name", descending=[True, False])["name"]
        .to_list()
    )
    chosen = {
        name: Kind(name, _name(colour), 1.0, LAYERS["task"])
        for name, colour in zip(tasks, HUES, strict=False)
    }
    beyond = len(tasks) - len(chosen)
    others = Kind(f"{beyond} other kinds of tasks", _name(OTHER), 1.0, LAYERS["task"])

    def kind_of(row: Mapping[str, Any]) -> Kind:
        if row["cat"] in ("task", "path"):  # the path has the colours of its tasks
            return chosen.get(row["name"], others)
        if row["cat"] == "path.wait":
            return WAITS[row["name"]]
        if row["cat"] == "io":
            return {"read": READ, "write": WRITE}.get(row["name"], OTHER_IO)
        return TRANSFERS[row["cat"]]

    of_names = [kind_of(row) for row in slices.names.iter_rows(named=True)]
    order = [*chosen.values(), others, *TRANSFERS.values(), READ, WRITE, OTHER_IO, *WAITS.values()]
    present = set(of_names)
    numbers = {kind: i for i, kind in enumerate(k for k in order if k in present)}
    return list(numbers), [numbers[kind] for kind in of_names]


def _name(colour: str) -> str:
    """The name that a page has for a colour of matplotlib's cycle."""
    return f"series-{colour[1:]}" if colour.startswith("C") else colour
