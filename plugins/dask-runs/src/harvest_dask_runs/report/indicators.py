"""The report ``dask.indicators``: a row per indicator, a column per run."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import polars as pl

from harvest import DatasetReader, UsageError
from harvest.toolkit.amounts import count_in_words, seconds_in_words, share_in_words
from harvest.toolkit.layout import shorten
from harvest_report import Column, Notes, Plot, Report, Table, Tile, name_bars, seconds_axis
from harvest_report.values import MISSING, texts_of

from ..frames import named_run, runs_of
from ..views.declared.indicators import INDICATOR_COLUMNS


def indicators_of_runs(data: DatasetReader, runs: tuple[str, ...] = ()) -> Report:
    """Build the report on some runs, in the order in which they are named.

    runs: their directories, or the directories' names; by default all of the dataset.

    Raises UsageError if the dataset holds no run, or lacks one that is named.
    """
    wanted = [str(named_run(data, run)) for run in runs] or runs_of(data)
    if not wanted:
        raise UsageError("the dataset holds no Dask run", remedy="harvest one")
    rows = pl.concat(data.view("dask.indicators", run=run) for run in wanted).collect()
    names = [run.rpartition("/")[2] for run in wanted]
    heads = [
        name if names.count(name) == 1 else run for name, run in zip(names, wanted, strict=True)
    ]
    shown = [c for c in INDICATOR_COLUMNS if c.name not in ("run", "runs")]
    known = [c for c in shown if rows[c.name].null_count() < rows.height]
    cells = [[c.name, *_texts(rows[c.name].to_list(), c)] for c in known]
    places = ["indicator", *(f"run_{number}" for number in range(1, len(wanted) + 1))]
    unknown = ", ".join(c.name for c in shown if c not in known)
    rest = [Notes("unknown", [f"{unknown}."], title="Not recorded for any run")] if unknown else []
    return Report(
        f"Indicators of {count_in_words(len(wanted), 'Dask run')}",
        tiles=[
            _range(rows, "span_s", "first to last execution", seconds_in_words),
            _range(rows, "used_share", "thread use", share_in_words),
            _range(rows, "executions", "executions", "{:,}".format),
            _range(rows, "failed", "failed executions", "{:,}".format),
        ],
        sections=[
            *_picture(pl.DataFrame({"run": heads, "span_s": rows["span_s"]})),
            Table(
                "indicators",
                pl.DataFrame(cells, schema=dict.fromkeys(places, pl.String), orient="row"),
                [Column(p, head) for p, head in zip(places, ("indicator", *heads), strict=True)],
                title="Indicators",
                note="–: not recorded. `harvest schema dask.indicators` describes each indicator.",
            ),
            *rest,
        ],
    )


SHOWN: Final = 30
"""Maximum number of runs in the picture."""


def _picture(runs: pl.DataFrame) -> Iterator[Plot]:
    """Plot the time from the first execution of each run to its last, if one is known."""
    bars = runs.drop_nulls().head(SHOWN)

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        axes.barh(range(bars.height), bars["span_s"])
        name_bars(axes, [shorten(name, 30, "id") for name in bars["run"]])
        seconds_axis(axes.xaxis, bars["span_s"].max(), "from first to last execution")

    if bars.height:
        said = f"Time from first to last execution of {bars.height} of {runs.height} runs."
        size = (7.5, 1.0 + 0.25 * bars.height)
        yield Plot("run-times", draw, "Time from first to last execution", said, size=size)


def _range(rows: pl.DataFrame, column: str, label: str, in_words: Callable[[Any], str]) -> Tile:
    """Show the lowest and the highest number of the runs."""
    known = rows[column].drop_nulls()
    if known.is_empty():
        return Tile(label, "not recorded")
    ends = dict.fromkeys(in_words(end) for end in (known.min(), known.max()))
    missing = f"not recorded for {rows.height - len(known)} of {rows.height} runs"
    return Tile(label, " to ".join(ends), missing if len(known) < rows.height else "")


def _texts(values: list[Any], column: Column) -> list[str]:
    """Format the cells of a row; all durations in seconds, so that runs are easy to compare."""
    if column.unit != "s":
        return texts_of(values, column.format)
    return [text if text == MISSING else f"{text} s" for text in texts_of(values)]
