"""A comparison in words: its numbers, and sentences with the verdict first."""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

import polars as pl

from harvest.toolkit.amounts import bytes_in_words, count_in_words, seconds_in_words, share_in_words

from .compare import Comparison
from .numbers import OF_RUN, Numbers


def amount(value: float | None, unit: str | None) -> str:
    """Write a number with its unit: 3.2 s, 5.00 MiB, 37 %, 12; – if it is unknown."""
    if value is None:
        return "–"
    if unit == "s":  # minutes only for large numbers, so that two numbers have the same unit
        return f"{value:.0f} s" if 60 <= abs(value) < 600 else seconds_in_words(value)
    if unit == "bytes":
        return bytes_in_words(value)
    if unit == "1":
        return share_in_words(value)
    return f"{value:,.10g}" if value == round(value) else f"{value:,.2f}"


def change(row: dict[str, Any]) -> str:
    """Write the change of a number: +3.2 s, -4 points (of a percentage); – if it is unknown."""
    difference, unit = row["difference"], row["unit"]
    sign = "+" if (difference or 0) > 0 else ""
    if unit == "1" and difference is not None:
        return f"{sign}{100 * difference:.2g} points"
    return sign + amount(difference, unit)


def times(ratio: float | None) -> str:
    """Write a ratio: 2.0, 0.25, 118; – if it is unknown."""
    if ratio is None:
        return "–"
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:,.0f}"


def certainty(row: dict[str, Any]) -> str:
    """Write how sure a difference is: runs apart, p = 0.1; empty without a difference."""
    return ", p = ".join(filter(None, _certainty(row)))


def certainties(rows: pl.DataFrame) -> pl.DataFrame:
    """Compute how sure the differences of rows are: the columns how and chance."""
    texts = [_certainty(row) for row in rows.iter_rows(named=True)]
    return pl.DataFrame(texts, dict.fromkeys(("how", "chance"), pl.String), orient="row")


def _certainty(row: dict[str, Any]) -> tuple[str, str]:
    sure, pairs, chance = row["sure"] or "", row["pairs_share"], row["chance_share"]
    if pairs is not None:
        slower = "slower" if pairs >= 0.5 else "faster"
        sure = f"{slower} in {share_in_words(max(pairs, 1 - pairs))} of pairs"
    return sure, "" if chance is None else p_value(chance)


def p_value(chance: float) -> str:
    """Write a p-value: 0.026, <0.001."""
    return f"{chance:.2g}" if chance >= 0.001 else "<0.001"


def with_range(row: dict[str, Any], side: str) -> str:
    """Write a number of a side with the range of its runs: 40 s (38 s to 42 s)."""
    mean, low, high = (amount(row[side + end], row["unit"]) for end in ("", "_low", "_high"))
    return mean if low == high else f"{mean} ({low} to {high})"


def instead(row: dict[str, Any]) -> str:
    """Write both numbers: 40 s instead of 30 s."""
    least = "at least " if row["sure"] == "in part" else ""
    return f"{least}{with_range(row, 'after')} instead of {least}{with_range(row, 'before')}"


def name_of_side(which: str, side: Sequence[Numbers], others: Sequence[Numbers]) -> str:
    """Name a side by its run, or as ``the 3 runs before``."""
    if len(side) > 1:
        return f"the {len(side)} runs {which}"
    run = side[0].run
    if len(others) > 1 or others[0].run == run or others[0].run.name != run.name:
        return run.name
    return f"{run.name} {which}"


NAMED: Final = 3
"""Maximum kinds of tasks that are named."""
WORTH_NAMING: Final = 0.01
"""Share of all differences below which a kind of task is not named."""
NAMES: Final = 8
FAILURES: Final = ("failed", "erred_tasks", "unfinished_tasks", "repeated", "lost_workers")
MEMORY: Final = (
    *("moved_bytes", "moving_s", "memory_peak_share", "spilled_bytes", "pauses"),
    *("memory_restarts", "counted_bytes", "io_s"),
)
CONDITIONS: Final = (
    *("workers", "threads", "graphs", "tasks", "executions", "observed_workers", "silent_workers"),
)


def sentences(found: Comparison) -> list[str]:
    """Write the first paragraphs of the report."""
    rows = {(r["part"], r["name"], r["measure"]): r for r in found.rows.iter_rows(named=True)}
    if found.differing().is_empty():
        compared = count_in_words(found.rows.height, "number")
        return [f"Nothing differs: all {compared} known of both sides are equal.", _who(found)]
    return [
        # the name of a run stays unchanged
        " ".join([re.sub("^the ", "The ", _headline(found, rows)), *_kinds(rows), *_path(rows)]),
        *_presence(found),
        *_listed("Failures", FAILURES, rows),
        *_listed("Memory and bytes", MEMORY, rows),
        *_listed("Other conditions", CONDITIONS, rows),
        _spread(found),
        _who(found),
    ]


def _who(found: Comparison) -> str:
    names = (", ".join(run.run.directory for run in side) for side in (found.before, found.after))
    before, after = names
    other = found.after[0].run.place
    return f"Before: {before}. After: {after}{f', in the dataset {other}' if other else ''}."


def _headline(found: Comparison, rows: dict[Any, dict[str, Any]]) -> str:
    first = name_of_side("before", found.before, found.after)
    second = name_of_side("after", found.after, found.before)
    row = rows.get(("run", "all", "span_s"))
    if row is None or row["difference"] is None:
        wall = rows.get(("run", "all", "wall_s"), {"difference": None})
        reach = f" The records span {instead(wall)}." if wall["difference"] is not None else ""
        unseen = "of one, no execution was seen to end"
        return f"It is unknown whether {second} took longer than {first}: {unseen}.{reach}"
    if not row["difference"]:
        return f"{second} took as long as {first}: {with_range(row, 'after')}."
    several = len(found.before) + len(found.after) > 2
    how = f" ({certainty(row)})" if several else ""
    share = f" ({share_in_words(abs(row['ratio'] - 1))})" if row["ratio"] else ""
    return f"{second} took {_more(row)}{share} than {first}: {instead(row)}{how}."


def _more(row: dict[str, Any]) -> str:
    by = amount(abs(row["difference"]), "s")
    return f"{by} {'longer' if row['difference'] > 0 else 'less'}"


def _kinds(rows: dict[Any, dict[str, Any]]) -> Iterator[str]:
    """Describe the kinds of tasks with the largest differences, surer ones first."""
    changed = [
        row
        for (part, _, measure), row in rows.items()
        if part == "prefix" and measure == "total_s" and row["difference"]
    ]
    overall = sum(abs(row["difference"]) for row in changed)
    changed.sort(key=lambda row: (row["sure"] == "runs overlap", -abs(row["difference"])))
    for number, row in enumerate(changed[:NAMED]):
        if number and abs(row["difference"]) < WORTH_NAMING * overall:
            return
        yield _kind(row["name"], rows)


def _path(rows: dict[Any, dict[str, Any]]) -> Iterator[str]:
    """Describe the part of the critical path that changed most."""
    parts = [row for (part, *_), row in rows.items() if part == "path" and row["difference"]]
    if parts:
        most = max(parts, key=lambda row: abs(row["difference"]))
        yield f"On the critical path, {most['name']} changed most: {_more(most)}."


def _kind(name: str, rows: dict[Any, dict[str, Any]]) -> str:
    total = rows["prefix", name, "total_s"]
    took = f"{name} took {_more(total)} in all threads ({instead(total)}"
    executions = rows.get(("prefix", name, "executions"))
    if total["presence"] != "both" or executions is None:
        return f"{took}; {total['presence']})."
    count = f"{amount(executions['after'], None)} execution{'s' * (executions['after'] != 1)}"
    before = amount(executions["before"], None)
    counted = f"{count} instead of {before}" if executions["difference"] else f"{count} in both"
    return f"{took}): {counted}{_each(name, rows)}."


def _each(name: str, rows: dict[Any, dict[str, Any]]) -> str:
    """Describe how much longer one execution took, and how sure that is."""
    mean = rows.get(("prefix", name, "mean_s"))
    if mean is None or mean["ratio"] is None:
        return ""
    if abs(mean["ratio"] - 1) < 0.005:
        return ", each as long"
    sure = certainty(mean)
    return f", each {times(mean['ratio'])} times as long{f' ({sure})' if sure else ''}"


def _presence(found: Comparison) -> Iterator[str]:
    names = found.rows.filter(part="prefix").unique("name", maintain_order=True)
    for presence in ("new", "gone", "not seen before", "not seen after"):
        gaps = " (the record has gaps)" if presence.startswith("not") else ""
        listed = names.filter(pl.col("presence") == presence)["name"].to_list()
        if listed:
            more = f" and {len(listed) - NAMES} more" if len(listed) > NAMES else ""
            yield f"{presence.capitalize()}{gaps}: {', '.join(listed[:NAMES])}{more}."


def _listed(title: str, measures: tuple[str, ...], rows: dict[Any, dict[str, Any]]) -> list[str]:
    """List the numbers of the whole run that differ, in one sentence."""
    said = []
    for measure in measures:
        row = rows.get(("run", "all", measure))
        if row is not None and row["difference"]:
            after, before = (amount(row[side], row["unit"]) for side in ("after", "before"))
            if after != before:
                said.append(f"{OF_RUN[measure]} {instead(row)}")
    return [f"{title}: {'; '.join(said)}."] if said else []


def _spread(found: Comparison) -> str:
    before, after = len(found.before), len(found.after)
    if before == after == 1:
        return (
            "With one run on each side, it is unknown how much runs vary. Name several with "
            "before=A1,A2 and after=B1,B2."
        )
    least = min(2 / math.comb(before + after, before), 1.0)
    return f"With {before} and {after} runs, p is at least {p_value(least)}."
