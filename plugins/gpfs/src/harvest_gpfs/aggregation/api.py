"""``harvest_gpfs.aggregate``: aggregate files by one call; the result names its sources.

``write_result`` writes the result to a file, with the same bytes for every backend.
"""

import contextlib
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import attrs
import polars as pl

from harvest import UsageError
from harvest.toolkit.files import replacing
from harvest_report.table_files import WRITERS
from harvest_toolkit.frames import fitted

from ..measures import AGES, DEFAULT, SIZES
from . import groupings
from .definition import METRICS
from .files import find, pieces
from .files import scan as read_rows
from .groupings import GROUPINGS, Setting, names_among, read_names
from .listing import BUDGET, IDENTITY, Listing
from .on_polars import AUTO, Choice, PolarsRows, available_memory, choose_backend
from .scans import LATEST, Rows, label_of, moment


@attrs.frozen(eq=False)
class Result:
    """Groups with their metrics, and the sources of the result.

    frame: a row for each group, sorted by the groups, nulls last.
    choice: the backend and the reason for it.
    scan: name of the scan.
    root, now: root of top-level directories and reference time of ages; None if no grouping needs
        it.
    too_large: columns with null for a sum that does not fit an int64.
    """

    frame: pl.DataFrame
    choice: Choice
    scan: str
    root: str | None
    now: str | None
    too_large: str | None = None

    @property
    def facts(self) -> dict[str, str]:
        """Sources of the result, as texts for users: backend, scan, root, now."""
        facts = {"backend": self.choice.backend, "because": self.choice.reason}
        more = {"scan": self.scan, "root": self.root, "now": self.now}
        more["null, since more than 2^63 - 1"] = self.too_large
        return facts | {name: value for name, value in more.items() if value is not None}


def aggregate(
    inputs: str | Path | Sequence[str | Path],
    by: str | Sequence[str] = ("uid",),
    metrics: str | Sequence[str] = DEFAULT,
    *,
    backend: str = AUTO,
    scan: str = LATEST,
    now: str | datetime | None = None,
    root: str | None = None,
    top_depth: int = 1,
    depth: int = 2,
    sizes: str = SIZES,
    ages: str = AGES,
    cold: str | int = 365,
    small: str | int = "64K",
    passwd: str | Path | None = None,
    group: str | Path | None = None,
    directories: bool = True,
    address: str | None = None,
    workers: int | None = None,
    memory_limit: int | None = None,
) -> Result:
    """Sum up a scan by groups, exactly; count an object with several hard links once.

    inputs: a dataset of the sink parquet, Parquet files of ``gpfs.file``, patterns, directories.
    by: names of groupings (``GROUPINGS``), empty for a single group; metrics: names of counts and
        sums (``METRICS``). Both are a list, or text with commas.
    backend: ``auto``, ``memory``, ``streaming``, ``gpu`` or ``dask``; the result is the same.
    scan: ``latest``, ``all`` (treat all rows as one scan), a time or the start of one, or
        the path of a list.
    now: time that ages count from; default: the time of the scan.
    root: directory that contains the top-level directories; default: the deepest one of all paths.
        top_depth: depth of ``top`` below root; depth: maximum depth of ``directory``.
    sizes, ages: upper limits of the classes ``size_bin``, ``access_age`` and ``modify_age``.
    cold: age of the last access and modification from which data are cold; small: size below which
        a file is small.
    passwd, group: files with the names of users and groups.
    directories: whether directories are included.
    address: address of a Dask scheduler; workers: Dask workers to start without an address.
    memory_limit: usable bytes; default: what ``available_memory`` finds.

    >>> result = aggregate("out", by="uid,top")  # doctest: +SKIP
    >>> print(result.choice)  # doctest: +SKIP
    backend streaming: 3.2 GiB of columns, 23.5 GiB of memory, no usable GPU
    >>> result.frame.columns  # doctest: +SKIP
    ['uid', 'top', 'inodes', 'files', 'directories', 'hard_links', 'size_bytes', 'allocated_bytes']
    >>> write_result(result, "usage.csv")  # doctest: +SKIP

    An object counts once in every result, at its first path in byte order; ``hard_links`` counts
    its other paths.  Results therefore add up to the whole scan.

    Raises UsageError for missing inputs or scans, DatasetError for files of another record type.
    A sum that does not fit an int64 is null, and ``facts`` names its column.
    """
    by, metrics = names_among(by, GROUPINGS, "grouping"), names_among(metrics, METRICS, "metric")
    for name, number, least in (("top_depth", top_depth, 1), ("depth", depth, 0)):
        if number < least:
            raise UsageError(f"{name} is {number}", remedy=f"give {least} or more")
    setting = Setting(
        top_depth=top_depth,
        depth=depth,
        sizes=groupings.SizeBins.parse(sizes),
        ages=groupings.AgeBins.parse(ages),
        cold_days=groupings.parse_age(cold),
        small_below=groupings.parse_size(small),
        user_names=read_names(passwd, "passwd"),
        group_names=read_names(group, "group"),
    )
    reference = None if now is None else moment(now)
    files = find(inputs)
    columns = {*IDENTITY, "path", "kind", "nlink", "scan_time"}
    columns.update(*(GROUPINGS[n].columns for n in by), *(METRICS[n].columns for n in metrics))
    size = sum(file.bytes_of(columns) for file in files)
    memory = available_memory() if memory_limit is None else memory_limit
    choice = choose_backend(size, backend, memory, address=address)
    with contextlib.ExitStack() as stack:
        if choice.backend == "dask":
            from .on_dask import PIECE_ROWS, ClusterRows, connect  # dask is an optional dependency

            client = stack.enter_context(connect(address, workers, memory))
            rows: Rows = ClusterRows(client, pieces(files, PIECE_ROWS))
        else:
            rows = PolarsRows(read_rows(files), choice.backend)
        # use up to an eighth of the memory to find hard links
        budget = max(BUDGET, memory // 8)
        listing = Listing.of(rows, scan, given_root=root, given_now=reference, budget=budget)
        frame = listing.aggregate(by, metrics, setting, directories=directories)
        kinds = {n: pl.Int64() if kind == pl.Int128 else kind for n, kind in frame.schema.items()}
        wide, frame = frame, fitted(frame, kinds)
        lost = [n for n in frame.columns if frame[n].null_count() > wide[n].null_count()]
        needs = {GROUPINGS[name].needs for name in by}
        place = listing.root if "root" in needs else None
        time = label_of(listing.now) if "now" in needs else None
        return Result(frame, choice, listing.scan.label, place, time, ", ".join(lost) or None)


def write_result(result: Result | pl.DataFrame, path: str | Path) -> Path:
    """Write a result as ``.csv``, ``.parquet`` or ``.jsonl``, replacing a file atomically.

    In CSV, times are UTC to the microsecond, and text that a spreadsheet would run as a formula
    has an apostrophe before it.

    Raises UsageError for any other suffix, or if the directory does not exist.
    """
    frame = result if isinstance(result, pl.DataFrame) else result.frame
    target = Path(path).expanduser()
    write = WRITERS.get(target.suffix.lower())
    if write is None:
        said, remedy = f"unknown file ending {target.suffix!r}", "use " + ", ".join(WRITERS)
        raise UsageError(said, where=str(target), remedy=remedy)
    if not target.parent.is_dir():
        raise UsageError("no such directory", where=str(target.parent), remedy="make it first")
    with replacing(target) as temporary:
        # one chunk: the written bytes must not depend on how the rows were computed
        write(frame.rechunk(), temporary)
    return target
