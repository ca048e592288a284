"""Helpers of all views of Dask runs: the runs of a dataset, their rows, and their transfers.

A dataset may hold several runs.  The files of a run are in one directory, so the directory
of ``origin`` names the run.  Task keys, worker addresses and client ids are unique only
within a run.
"""

from collections.abc import Mapping
from typing import Final, TypeAlias

import polars as pl

from harvest import DatasetReader, UsageError
from harvest.toolkit.amounts import LONGEST_S
from harvest_toolkit.choices import choice_of_runs, named_directory
from harvest_toolkit.frames import (
    directory_of,
    first_text,
    kept,
    known_sum,
    safe_sum,
    whole_nanoseconds,
)

from .record_names import DASK_TYPES


def runs_of(dataset: DatasetReader) -> list[str]:
    """Return the directories of all Dask runs in a dataset, sorted; they are found only once."""

    def find() -> list[str]:
        present = [dataset[name] for name in DASK_TYPES if name in dataset]
        run = directory_of(pl.col("origin").unique())
        named = pl.collect_all(frame.select(run=run.unique()) for frame in present)
        return sorted({name for frame in named for name in frame["run"]})

    return kept(dataset, "dask.runs", find)


def named_run(dataset: DatasetReader, run: str | None) -> str | None:
    """Return the directory of the run that a setting names; None for None.

    Raises UsageError if no run or several runs have the name.
    """
    return None if run is None else named_directory(runs_of(dataset), run)


def choose_run(dataset: DatasetReader, run: str | None, how: str) -> str:
    """Return the directory of the named run, or of the only run.

    how: the setting or option by which a user names it (``--set run=``).
    Raises UsageError if there is no run, or if there are several and none is named.
    """
    runs = runs_of(dataset)
    if run is not None:
        return named_directory(runs, run)
    if not runs:
        raise UsageError(
            "the dataset holds no Dask run",
            remedy="harvest one with the source 'mofka-dask' or 'dask'",
        )
    if len(runs) > 1:
        many = f"the dataset holds {len(runs)} runs"
        raise choice_of_runs(many, f"choose with {how}", runs, ["run"])
    return runs[0]


Frames: TypeAlias = Mapping[str, pl.LazyFrame]
"""Rows by name of their record type, each frame with the column ``run``."""


def load(
    dataset: DatasetReader, names: tuple[str, ...] = DASK_TYPES, *, run: str | None = None
) -> Frames:
    """Load record types as lazy frames with the column ``run``, each event of a run once.

    run: the only run to keep: its directory, or the directory's name.

    Raises UsageError if no run or several runs have that name.
    """
    wanted = named_run(dataset, run)
    found = {}
    for name in names:
        frame = dataset[name].with_columns(run=directory_of(pl.col("origin")))
        if name in EVENTS and (again := _again(dataset, name)).height:
            frame = frame.join(again.lazy(), on=PLACE, how="anti")
        found[name] = frame if wanted is None else frame.filter(pl.col("run") == wanted)
    return found


EVENTS: Final = ("dask.task_transition", "dask.worker_transition", "dask.transfer")
PLACE: Final = ["origin", "position"]


def _again(dataset: DatasetReader, name: str) -> pl.DataFrame:
    """Find the rows of a record type whose event another file of the run holds: their PLACE."""
    run = directory_of(pl.col("origin"))

    def find() -> pl.DataFrame:
        files = dataset[name].select("origin", "worker").unique().collect()
        several = files.lazy().filter(pl.len().over(run, "worker") > 1)
        rows = dataset[name].join(several, on=["origin", "worker"], how="semi", nulls_equal=True)
        same = [n for n in rows.collect_schema() if n not in (*PLACE, "extra", "copies")]
        return (
            rows.sort(PLACE)
            .with_columns(run=run, number=pl.int_range(pl.len()).over("origin", *same))
            .filter(~pl.struct("run", *same, "number").is_first_distinct())
            .select(PLACE)
            .collect()
        )

    return kept(dataset, ("dask.again", name), find)


def repeated_events(dataset: DatasetReader, run: str) -> int:
    """Count the rows of a run that ``load`` leaves out, since another file has their event."""
    rows = pl.concat(_again(dataset, name).select("origin") for name in EVENTS)
    return rows.select((directory_of(pl.col("origin")) == run).sum()).item()


def host_of(address: pl.Expr) -> pl.Expr:
    """Extract the host from ``tcp://10.0.0.1:8786`` or ``tls://[fe80::1]:8786``; else null."""
    parts = address.str.extract_groups(r"^[A-Za-z][A-Za-z0-9+.-]*://(?:\[([^\]]*)\]|([^:/\[]+))")
    return pl.coalesce(parts.struct.field("1"), parts.struct.field("2"))


def sentence(*parts: str | pl.Expr) -> pl.Expr:
    """Join texts and columns to one text; null if a column is null."""
    # pl.format would read better, but polars 1.35 panics in it on some filtered frames
    return pl.concat_str(pl.lit(part) if isinstance(part, str) else part for part in parts)


def possible_seconds(name: str) -> pl.Expr:
    """Select a duration; null if it is below 0, as when a clock is set back, or too long."""
    return pl.when(pl.col(name).is_between(0, LONGEST_S)).then(name)


def exact_sum(seconds: pl.Expr) -> pl.Expr:
    """Sum durations in whole nanoseconds, so that the sum does not depend on their order.

    Impossible durations, for example below 0, are left out.
    """
    whole = whole_nanoseconds(seconds)
    return (safe_sum(pl.when(whole >= 0).then(whole)) / 1e9).round(9)


def moved_bytes() -> pl.Expr:
    """Compute the bytes of a ``dask.transfer`` row: its total, else the sum of its keys' sizes.

    Null if the sum exceeds 64 bits.
    """
    shares = pl.col("keys").list.eval(pl.element().struct.field("size_bytes"))
    known = shares.list.eval(pl.element().is_not_null()).list.all()
    total = shares.cast(pl.List(pl.Int128)).list.sum().cast(pl.Int64, strict=False)
    return pl.coalesce(pl.col("total_bytes"), pl.when(known).then(total))


CLIENT: Final = "a client"
UNNAMED: Final = "a worker not recorded"


def pairs_of(transfers: pl.LazyFrame) -> pl.LazyFrame:
    """Sum up transfers by run and pair: source, target, movements, bytes, seconds, sides.

    The sender, the receiver or both report a movement (``sides``); of each pair the larger sum
    counts.  Bytes and seconds that are not recorded are null.
    """
    pair = ["run", "source", "target"]
    sides = transfers.select(
        *("run", "direction"),
        seconds=possible_seconds("duration_s"),
        source=pl.col("fulfiller").fill_null(UNNAMED),
        target=pl.col("requestor").fill_null(CLIENT),
        bytes=moved_bytes(),
    )
    return (
        sides.group_by(*pair, "direction")
        .agg(
            movements=pl.len().cast(pl.Int64),
            bytes=known_sum("bytes"),
            seconds=known_sum("seconds"),
        )
        .group_by(pair)
        .agg(
            pl.col("movements", "bytes", "seconds").max(),
            sides=first_text(
                (pl.len() > 1, "both sides"),
                ((pl.col("direction") == "outgoing").all(), "the sender"),
            ).fill_null("the receiver"),
        )
        .sort("bytes", *pair, descending=[True, False, False, False], nulls_last=True)
    )
