"""Common parts of the reports on scans: columns, shortened tables, plots."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import polars as pl

from harvest.toolkit.amounts import bytes_in_words, share_in_words
from harvest.toolkit.layout import shorten
from harvest.toolkit.texts import printable_line
from harvest_report import Column, Plot, bytes_axis, legend, name_bars, with_others
from harvest_toolkit.frames import sum_or_none

SHOWN = 15
_LONGEST_NAME = 34


def bars(name: str, title: str, table: pl.DataFrame, column: str) -> Plot:
    """Plot bytes of the largest groups: logical, and next to it allocated if recorded."""
    head = table.head(SHOWN)
    labels = {"size_bytes": "logical", "allocated_bytes": "allocated"}
    sizes_known = [c for c in labels if head[c].count()]

    def draw(axes: Any) -> None:
        height = 0.8 / max(len(sizes_known), 1)
        for number, c in enumerate(sizes_known):
            values = _drawn(head[c])
            shift = (number - (len(sizes_known) - 1) / 2) * height
            places = [place + shift for place in range(len(values))]
            axes.barh(places, values, height=height * 0.92, color=f"C{number}", label=labels[c])
        axes.set_xlim(left=0)
        axes.margins(y=0.02)
        bytes_axis(axes.xaxis, axes.get_xlim()[1])
        if len(sizes_known) > 1:
            legend(axes.figure)

    size = in_bytes(head[sizes_known[0]][0] if sizes_known else None)
    first = _shortened(str(head[column][0]))
    alt = f"Bytes of the {head.height} largest{_out_of(head, table)}. The first is {first}: {size}."
    return _horizontal(name, title, head[column], draw, alt)


def growth_bars(name: str, title: str, table: pl.DataFrame, column: str) -> Plot:
    """Plot growth in bytes of the groups that changed most, the largest growth first."""
    changed = table.filter(pl.col("growth_bytes") != 0)
    head = most_changed(changed, SHOWN).head(SHOWN)
    values = head["growth_bytes"].to_list()

    def draw(axes: Any) -> None:
        colours = ["C1" if value < 0 else "C0" for value in values]
        axes.barh(range(len(values)), _drawn(values), height=0.7, color=colours)
        axes.axvline(0, color="C5", linewidth=0.8)
        bytes_axis(axes.xaxis, max(map(abs, axes.get_xlim())), "growth")

    alt = "Nothing grew or shrank."
    if values:
        first, last = (
            f"{_shortened(head[column][at])} ({bytes_in_words(values[at])})" for at in (0, -1)
        )
        out_of = f"{len(values)}{_out_of(head, table)}"
        alt = f"Growth of the {out_of} that changed most, from {first} to {last}."
    unknown = table["growth_bytes"].null_count()
    if unknown:
        alt += f" The growth of {unknown:,} is unknown."
    return _horizontal(name, title, head[column], draw, alt)


def _horizontal(
    name: str, title: str, groups: pl.Series, draw: Callable[[Any], None], alt: str
) -> Plot:
    """Plot named horizontal bars, the first on top; ``draw`` draws them into the axes."""
    names = [_shortened(text) for text in groups.cast(pl.String)]

    def whole(figure: Any) -> None:
        axes = figure.subplots()
        draw(axes)
        name_bars(axes, names)

    return Plot(name, whole, title, alt, size=(6.4, 1.0 + 0.24 * max(len(names), 2)))


def age_plot(ages: pl.DataFrame) -> Plot:
    """Plot bytes by time since the last access and since the last modification."""
    accessed, modified = (ages.filter(time=time) for time in ("access", "modify"))
    longer = accessed if accessed.height >= modified.height else modified
    labels = longer["age"].fill_null("unknown").to_list()
    series = {"since the last access": accessed, "since the last modification": modified}

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for number, (name, table) in enumerate(series.items()):
            places = [place + (number - 0.5) * 0.4 for place in range(table.height)]
            values = _drawn(table["size_bytes"])
            axes.bar(places, values, width=0.37, color=f"C{number}", label=name)
        _classes(axes, labels)
        legend(figure)

    timed = accessed.filter(pl.col("age").is_not_null())
    untimed = accessed.filter(pl.col("age").is_null())
    parts = (timed, timed.filter(pl.col("above_days") >= 365), untimed)
    total, old, rest = (int(rows["size_bytes"].cast(pl.Int128).sum()) for rows in parts)
    said = f"{share_in_words(old / total) if total else '0 %'} were not accessed for a year"
    # an empty class has 0 bytes, even if the others are unknown
    if not timed.filter(pl.col("inodes") > 0)["size_bytes"].count():
        said = "access times or sizes are not recorded"
    more = f" Access times of {bytes_in_words(rest)} are not recorded." if rest else ""
    alt = f"Bytes by age in {len(labels)} classes: {said}.{more}"
    return Plot("ages-plot", draw, "Data by age", alt, size=(9.6, 3.4))


def size_plot(sizes: pl.DataFrame) -> Plot:
    """Plot objects and bytes by size, one above the other."""
    labels = sizes["size"].fill_null("unknown").to_list()

    def draw(figure: Any) -> None:
        above, below = figure.subplots(2, 1, sharex=True)
        places = range(sizes.height)
        above.bar(places, _drawn(sizes["inodes"]), width=0.75, color="C0")
        above.set_ylabel("objects")
        above.yaxis.set_major_formatter("{x:,.0f}")
        above.yaxis.get_major_locator().set_params(integer=True)
        above.grid(visible=False, axis="x")
        below.bar(places, _drawn(sizes["size_bytes"]), width=0.75, color="C1")
        below.set_ylim(bottom=0)
        _classes(below, labels)

    most, heaviest = (
        labels[sizes[name].arg_max() or 0] if sizes[name].count() else none
        for name, none in (("inodes", "none"), ("size_bytes", "none known"))
    )
    alt = (
        f"Objects and bytes in {len(labels)} classes of size: most objects are {most}, and most "
        f"bytes are in objects of {heaviest}."
    )
    return Plot("sizes-plot", draw, "Objects and data by size", alt, size=(9.6, 4.2))


def growth_plot(growth: pl.DataFrame) -> Plot:
    """Plot logical bytes and objects of each scan over time."""
    timed = growth.filter(pl.col("scan_time").is_not_null()).sort("scan_time")
    times = timed["scan_time"].dt.replace_time_zone(None).to_numpy()
    volumes = timed["size_bytes"].to_list()

    def draw(figure: Any) -> None:
        above, below = figure.subplots(2, 1, sharex=True)
        lines = (
            (above, _drawn(volumes), "", "C0"),
            (below, timed["inodes"].to_list(), "objects", "C1"),
        )
        for axes, values, label, colour in lines:
            axes.plot(times, values, marker="o", markersize=4, color=colour)
            axes.set_ylabel(label)
            axes.set_ylim(0, max([1e-9, *(v for v in values if not math.isnan(v))]) * 1.12)
            axes.yaxis.set_major_formatter("{x:,.6g}")
        bytes_axis(above.yaxis, above.get_ylim()[1])
        below.set_xlabel("time of the scan (UTC)")

    ends = [in_bytes(size) for size in (volumes[0], volumes[-1])]
    alt = f"Size and objects in {timed.height} scans. First size: {ends[0]}. Last size: {ends[1]}."
    return Plot("growth-plot", draw, "Growth", alt, size=(9.6, 3.8))


def in_bytes(size: int | None, sign: str = "", unknown: str = "not recorded") -> str:
    """Format a size in words, with ``sign`` before it if it is above 0."""
    return unknown if size is None else f"{sign if size > 0 else ''}{bytes_in_words(size)}"


def _out_of(head: pl.DataFrame, table: pl.DataFrame) -> str:
    return f" of {table.height:,}" if head.height < table.height else ""


def _drawn(values: Iterable[int | None]) -> list[float]:
    """Convert values for plotting; unknown values become NaN, which draws no bar."""
    return [math.nan if value is None else value for value in values]


def _classes(axes: Any, labels: Sequence[str]) -> None:
    in_lines = [x if x.startswith("up to") else x.replace(" to ", "\nto ") for x in labels]
    axes.set_xticks(range(len(labels)), in_lines)
    axes.tick_params(axis="x", length=0, labelsize=7.5)
    bytes_axis(axes.yaxis, axes.get_ylim()[1])
    axes.grid(visible=False, axis="x")


def _shortened(text: str | None) -> str:
    """Format a name as a label: show control characters, and shorten the middle of a long name."""
    return "–" if text is None else shorten(printable_line(text), _LONGEST_NAME, "id")


def amount(name: str, label: str, sign: str = "") -> Column:
    """Declare a column of bytes in a suitable unit; sign ``+`` also shows the sign of increases."""
    return Column(name, label, "bytes", f"{sign},.0f")


def amounts(prefix: str, said: str = "", *, allocated: bool) -> list[Column]:
    """Declare columns of logical bytes and, if recorded, allocated bytes."""
    size = amount(f"{prefix}size_bytes", f"{said}logical")
    both = [size, amount(f"{prefix}allocated_bytes", f"{said}allocated")]
    return both if allocated else [size]


def percent(name: str, label: str) -> Column:
    """Declare a column of shares, in percent."""
    return Column(name, label, None, ".1%")


def most_changed(table: pl.DataFrame, n: int) -> pl.DataFrame:
    """Move the ``n`` rows that changed most to the top, the largest growth first."""
    how = {"descending": True, "nulls_last": True, "maintain_order": True}
    largest = table.sort(pl.col("growth_bytes").abs(), **how)
    return pl.concat([largest.head(n).sort("growth_bytes", **how), largest.slice(n)])


def first_and_others(table: pl.DataFrame, column: str, sums: Sequence[str], n: int) -> pl.DataFrame:
    """Keep the first ``n`` rows and merge the others into one; a single other row is kept."""
    table = table.select(pl.col(column).cast(pl.String), *sums)
    if table.height <= n + 1:
        return table
    row = table.slice(n).select(sum_or_none(name).alias(name) for name in sums)
    return with_others(table.head(n), table.height - n, column, row)
