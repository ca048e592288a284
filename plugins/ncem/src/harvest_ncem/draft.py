"""A draft of the study's file: stretches of scans with one method and, if known, one size.

A stretch ends where the method changes, where several numbers are missing, or where the size
changes. If the size is unknown, its change is inferred from the duration of scans and the time
between them. Missing or contradictory information is left to the user as a comment.
"""

import math
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise, permutations
from typing import Final

import attrs
import polars as pl

from harvest import DatasetReader, UsageError
from harvest.toolkit.amounts import count_in_words
from harvest_toolkit.frames import complete_sum

from .study import Study, positions_of, size_name
from .views import streaming
from .views.offload import written

WINDOW: Final = 9
"""Number of scans on each side of a possible end of a stretch that are compared."""

FACTOR: Final = 1.6
"""Minimum ratio of the two medians at the end of a stretch."""

CONFLICT: Final = 2.0
"""Maximum ratio of the medians of stretches with one size."""

MISSING: Final = 5
"""Maximum number of missing scan numbers within a stretch."""

SIDES: Final = tuple(2**n for n in range(4, 13))
"""Sides of scans that are recognised by the bytes of their data files, within 5 %."""

_BYTES: Final = "the bytes of the data files"
_TO_DO: Final = "name it, and remove the # of the four lines"
_IN_PATH: Final = re.compile(r"(?<!\d)(\d{2,5})x(\d{2,5})(?!\d)")


@attrs.frozen
class Scan:
    """A scan with files: its start, its duration, and its size by each kind of evidence."""

    number: int
    method: str
    begin_s: float | None
    took_s: float | None
    sizes: tuple[tuple[str, str], ...]


def draft(dataset: DatasetReader) -> str:
    """Draft a study with the scan ranges of a dataset, as TOML text.

    Raises UsageError if no scan in the dataset has a file.
    """
    scans = list(_scans(dataset))
    if not scans:
        raise UsageError(
            "no scan of the dataset has an HDF5 file or a data file, which show its method",
            remedy="harvest the directories of the files, or their tables, with the source ncem",
        )
    lines = [
        "# A draft: scan ranges as the data show them. Check each, and name the sizes that no data",
        "# say; then give the file to views and reports: --set study=FILE.",
        "",
        "[study]",
        'name = "draft"',
    ]
    of_distiller = _by_distiller(dataset).select("scan_size").unique().collect()["scan_size"]
    known_sizes = sorted(of_distiller.to_list(), key=positions_of)
    for method in ("streaming", "file_transfer"):
        found = stretches([scan for scan in scans if scan.method == method])
        sizes = sizes_of(found)
        guesses = _guesses(found, sizes, known_sizes)
        for stretch, size, guess in zip(found, sizes, guesses, strict=True):
            lines += ["", *_range(stretch, method, size, guess)]
    return "\n".join(lines) + "\n"


def _range(
    stretch: Sequence[Scan], method: str, sized: tuple[str | None, str], guess: str | None
) -> Iterator[str]:
    """Write the lines of a range; a range of unknown size is commented out."""
    word = "streaming" if method == "streaming" else "offload"
    typical = _typical(stretch)
    took = "" if typical is None else f"; median {word} {typical:.3g} s"
    yield f"# {count_in_words(len(stretch), 'scan')}{took}"
    size, why = sized
    yield f"# size {why}"
    if size is None and guess:
        yield f"# a guess is {guess}: Distiller has as many sizes as there are ranges, by duration"
    mark = "" if size else "# "
    for line in (
        "[[range]]",
        f'size = "{size or guess or "?"}"',
        f'method = "{method}"',
        f"scans = [{stretch[0].number}, {stretch[-1].number}]",
    ):
        yield mark + line


def _typical(stretch: Sequence[Scan]) -> float | None:
    took = [scan.took_s for scan in stretch if scan.took_s is not None]
    return statistics.median(took) if took else None


def _guesses(
    found: Sequence[Sequence[Scan]], known: Sequence[tuple[str | None, str]], sizes: Sequence[str]
) -> list[str | None]:
    """Assign sizes by the order of durations, if there are as many sizes as stretches."""
    took = [_typical(stretch) for stretch in found]
    if len(sizes) != len(found) or None in took or any(size for size, _ in known):
        return [None] * len(found)
    order = sorted(range(len(found)), key=lambda n: took[n] or 0.0)
    return [sizes[order.index(n)] for n in range(len(found))]


def sizes_of(found: Sequence[Sequence[Scan]]) -> list[tuple[str | None, str]]:
    """Return the size of each stretch and the evidence; no size if durations contradict."""
    sizes = [_size_of(stretch) for stretch in found]
    took = [_typical(stretch) for stretch in found]
    known = [
        _Sized(n, size, seconds, len(found[n]), _BYTES in why)
        for n, ((size, why), seconds) in enumerate(zip(sizes, took, strict=True))
        if size is not None and seconds is not None
    ]
    for n, against in _conflicts(known).items():
        said = sizes[n][1].removeprefix("as ")
        sizes[n] = None, f"unknown: {said}, but {against}; {_TO_DO}"
    return sizes


@attrs.frozen
class _Sized:
    """A stretch of known size: number, size, median duration, scans, and whether bytes prove it."""

    number: int
    size: str
    took_s: float
    scans: int
    measured: bool


def _most(some: Sequence[_Sized], of: Sequence[_Sized]) -> bool:
    """Test whether some stretches are two thirds of all, and have two thirds of the scans."""
    scans, total = (sum(each.scans for each in part) for part in (some, of))
    return 3 * len(some) >= 2 * len(of) and 3 * scans >= 2 * total


def _conflicts(known: Sequence[_Sized]) -> dict[int, str]:
    """Describe contradictions between durations and sizes, by the number of the stretch.

    Stretches of one size whose medians differ by more than ``CONFLICT`` cannot all have this size.
    A group with similar medians keeps it if it has two thirds of the stretches and of the scans, or
    if a measured stretch is in it. Of the remaining stretches, none may take ``CONFLICT`` times as
    long as one of a larger size. Sizes measured by the bytes of data files are always kept.
    """
    against: dict[int, str] = {}
    for size in {each.size: None for each in known}:
        same = sorted((each for each in known if each.size == size), key=lambda each: each.took_s)
        groups: list[list[_Sized]] = []
        for each in same:
            if groups and each.took_s <= CONFLICT * groups[-1][0].took_s:
                groups[-1].append(each)
            else:
                groups.append([each])
        if len(groups) == 1:
            continue
        measured = [group for group in groups if any(each.measured for each in group)]
        kept = measured or [group for group in groups if _most(group, same)]
        medians = ", ".join(
            f"{statistics.median(each.took_s for each in group):.3g} s" for group in groups
        )
        words = f"ranges of that size have medians of {medians}"
        against |= {each.number: words for group in groups if group not in kept for each in group}
    sure = [each for each in known if each.number not in against]
    for one, other in permutations(sure, 2):
        if (
            positions_of(one.size) < positions_of(other.size)
            and one.took_s > CONFLICT * other.took_s
        ):
            words = f"{one.size} takes {one.took_s:.3g} s and {other.size} {other.took_s:.3g} s"
            against |= {each.number: words for each in (one, other) if not each.measured}
    return against


def _size_of(stretch: Sequence[Scan]) -> tuple[str | None, str]:
    """Return the size of most scans by the first kind of evidence that exists, and the evidence."""
    for kind in ("Distiller", _BYTES, "the path of the files"):
        found = Counter(size for scan in stretch for by, size in scan.sizes if by == kind)
        if found:
            size, count = found.most_common(1)[0]
            said = f"{count:,} of {count_in_words(len(stretch), 'scan')} are {size} by {kind}"
            if count * 2 > len(stretch):
                return size, f"as {said}"
            return None, f"unknown: {said}; {_TO_DO}"
    return None, f"unknown: {_TO_DO}"


def stretches(scans: Sequence[Scan]) -> list[list[Scan]]:
    """Split scans of one method, in order of number, where the size seems to change."""
    parts: list[list[Scan]] = []
    for scan in scans:
        if parts and scan.number - parts[-1][-1].number - 1 <= MISSING:
            parts[-1].append(scan)
        else:
            parts.append([scan])
    found: list[list[Scan]] = []
    for part in parts:
        begins = [scan.begin_s for scan in part]
        pauses = [
            None if one is None or other is None else other - one for one, other in pairwise(begins)
        ]
        seen = [*changes([scan.took_s for scan in part]), *changes(pauses)]
        cuts = [*_size_changes(part), *(_behind_break(cut, pauses) for cut in seen)]
        marks = [0, *sorted(_apart(cuts)), len(part)]
        found += [part[a:b] for a, b in pairwise(marks) if a < b]
    return found


def _apart(cuts: Sequence[int]) -> list[int]:
    """Of cuts close to each other, keep the one from the most reliable evidence, which is first."""
    kept: list[int] = []
    for cut in cuts:
        if all(abs(cut - other) >= WINDOW for other in kept):
            kept.append(cut)
    return kept


def _behind_break(cut: int, pauses: Sequence[float | None]) -> int:
    """Move a cut behind the longest break between the scans around it, if it stands out."""
    near = [
        (pause, n + 1)
        for n in range(max(0, cut - 3), min(len(pauses), cut + 2))
        if (pause := pauses[n]) is not None
    ]
    longest, behind = max(near, default=(0.0, cut))
    usual = [pause for pause, _ in near if pause < longest]
    return behind if usual and longest > 3 * max(usual) else cut


def _size_changes(scans: Sequence[Scan]) -> Iterator[int]:
    """Yield where the known size changes; a single scan of another size is ignored."""
    known = [(place, scan.sizes[0][1]) for place, scan in enumerate(scans) if scan.sizes]
    sizes = [size for _, size in known]
    for n in range(1, len(known)):
        if sizes[n] != sizes[n - 1] and (n + 1 == len(known) or sizes[n + 1] == sizes[n]):
            yield known[n][0]


def changes(values: Sequence[float | None]) -> list[int]:
    """Find positions from which values are ``FACTOR`` times larger, or smaller, than before."""
    logs = [math.log(v) if v is not None and v > 0 else None for v in values]

    def median(first: int, last: int) -> float | None:
        some = [v for v in logs[max(0, first) : last] if v is not None]
        return statistics.median(some) if len(some) * 2 > WINDOW else None

    def changed(place: int) -> bool:
        before, behind = median(place - WINDOW, place), median(place, place + WINDOW)
        if before is None or behind is None:
            return False
        return abs(behind - before) >= math.log(FACTOR)

    return [
        _best(logs, list(places)) for found, places in groupby(range(len(logs)), changed) if found
    ]


def _best(logs: Sequence[float | None], places: Sequence[int]) -> int:
    """Find which of the consecutive places best separates the values around it."""
    begin, end = max(0, places[0] - WINDOW), places[-1] + 1 + WINDOW

    def deviation(values: Sequence[float | None]) -> float:
        some = [v for v in values if v is not None]
        middle = statistics.median(some) if some else 0.0
        return sum(abs(v - middle) for v in some)

    return min(places, key=lambda place: deviation(logs[begin:place]) + deviation(logs[place:end]))


def _scans(dataset: DatasetReader) -> Iterator[Scan]:
    """Return the scans with files, by number; of repeated scans, the last take."""
    unit = Study().volume_gb("1x1") * 1e9
    data = (
        dataset["ncem.data_file"]
        .filter(pl.col("kind") == "data")
        .group_by("scan_number")
        .agg(bytes=complete_sum("size_bytes"), data_path=pl.col("path").max())
    )
    of_take = ("scan_number", "take", "first_receiver_time")
    offload = written(dataset).filter(pl.col("data_files") > 0)
    streamed = streaming.build(dataset).filter(pl.col("write_time").is_not_null())
    taken = [
        offload.select(*of_take, took_s="offload_s", method=pl.lit("file_transfer")),
        streamed.select(
            *of_take, "distiller_id", "path", took_s="duration_s", method=pl.lit("streaming")
        ),
    ]
    found = (
        pl.concat(taken, how="diagonal")
        .filter(pl.col("scan_number") != 0)
        # raw files were written for file transfer, whatever happened to them later
        .sort("scan_number", "method", pl.col("take"), descending=[False, False, True])
        .group_by("scan_number", maintain_order=True)
        .agg(pl.all().first(), ids=pl.col("distiller_id").drop_nulls().max())
        .join(data, on="scan_number", how="left")
        .join(_by_distiller(dataset), left_on="ids", right_on="scan_id", how="left")
        .sort("scan_number")
        .collect()
    )
    for row in found.iter_rows(named=True):
        # a square scan whose raw data have about as many bytes
        size = row["bytes"] or 0
        sides = [side for side in SIDES if abs(size / (side * side * unit) - 1) < 0.05]
        named = _IN_PATH.findall(row["path"] or row["data_path"] or "")
        evidence = (
            ("Distiller", row["scan_size"]),
            (_BYTES, size_name(sides[0]) if sides else None),
            ("the path of the files", size_name("x".join(named[-1])) if named else None),
        )
        begin = row["first_receiver_time"]
        yield Scan(
            *(row["scan_number"], row["method"], begin and begin.timestamp(), row["took_s"]),
            sizes=tuple((kind, size) for kind, size in evidence if size),
        )


def _by_distiller(dataset: DatasetReader) -> pl.LazyFrame:
    """Return the size of each scan in Distiller, if all its jobs have the same size."""
    try:
        jobs = dataset["distiller.job"]
    except KeyError:  # the plugin of Distiller is not installed
        return pl.LazyFrame(schema={"scan_id": pl.Int64, "scan_size": pl.String})
    sizes = jobs.select("scan_id", "scan_size").drop_nulls().unique()
    return sizes.filter(pl.len().over("scan_id") == 1)
