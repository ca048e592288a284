"""The sixth set: planted as the fourth and fifth, by others again."""

from __future__ import annotations

from typing import Final

from ..planting import Bug

_SOURCES: Final = [
    Bug(
        "lines",
        "state between partitions",
        "sixth-lines-seen-in-another-file",
        "Lines that an earlier file of the same process had are folded: what a file gives depends "
        "on which were read before it, so on workers and on what has changed; rows vanish.",
        (
            (
                "    Config = Config\n\n    @classmethod\n",
                "    Config = Config\n\n"
                "    def __init__(self, *args: object, **more: object) -> None:\n"
                "        super().__init__(*args, **more)\n"
                "        self._seen: set[bytes] = set()\n\n"
                "    @classmethod\n",
            ),
            (
                "                try:\n                    row = measurement(",
                "                if raw in self._seen:\n"
                '                    ctx.folded(1, "repeat")\n'
                "                    continue\n"
                "                self._seen.add(raw)\n"
                "                try:\n                    row = measurement(",
            ),
        ),
    ),
    Bug(
        "lines",
        "filter hides damage",
        "sixth-lines-filter-before-parsing",
        "With the setting, lines are filtered by their bytes before they are understood: damaged "
        "lines, which nobody knows to be of another name, are no rejects any more.",
        (
            (
                "                try:\n                    row = measurement(",
                "                wanted = self.config.name\n"
                "                if wanted is not None and wanted.encode() not in raw:\n"
                '                    ctx.filtered(1, "another name")\n'
                "                    continue\n"
                "                try:\n                    row = measurement(",
            ),
        ),
    ),
    Bug(
        "lines",
        "progress",
        "sixth-lines-advance-is-a-place",
        "advance() gets the place in the file, not how much further it is: the progress of a run "
        "is many times the size of its inputs, and its remaining time nonsense.",
        (("                ctx.advance(len(raw))", "                ctx.advance(lines.tell())"),),
    ),
    Bug(
        "lines",
        "remarks without end",
        "sixth-lines-note-for-each-line",
        "Each line without a zone gives a note of its own: a million lines are a million remarks "
        "in memory, in the manifest and on the screen.",
        (
            (
                "                yield row\n",
                "                if row.time.tzinfo is zone:\n"
                '                    ctx.note(f"line {number}: its time is of {zone}")\n'
                "                yield row\n",
            ),
        ),
    ),
    Bug(
        "lines",
        "detection raises",
        "sixth-lines-detect-decodes",
        "detect() opens any file as UTF-8 text and raises for others: a directory with one binary "
        "file cannot be looked at.",
        (
            (
                '        with path.open("rb") as file:\n'
                '            if file.read(9) == b"# device ":',
                '        with path.open(encoding="utf-8") as file:\n'
                '            if file.read(9) == "# device ":',
            ),
        ),
    ),
    Bug(
        "ranges",
        "fingerprint too coarse",
        "sixth-ranges-fingerprint-is-the-range",
        "So that a file that grows is not read again, the fingerprint of a range is where it "
        "begins and ends: a value corrected in place keeps its old row for ever.",
        (
            (
                "start=start, stop=stop, size_bytes=stop - start\n",
                "start=start, stop=stop, size_bytes=stop - start,\n"
                '                fingerprint=f"{start}-{stop}",\n',
            ),
        ),
    ),
    Bug(
        "ranges",
        "long units",
        "sixth-ranges-long-line-in-pieces",
        "Lines are read up to 64 KiB: a longer one becomes several units, its row is lost, and all "
        "later rows have wrong positions.",
        (
            (
                "                raw = file.readline()\n",
                "                raw = file.readline(1 << 16)\n",
            ),
        ),
    ),
    Bug(
        "ranges",
        "names of unknown columns",
        "sixth-ranges-extra-in-lower-case",
        "Names of unknown columns are made lower case: they are not those of the input, and of "
        "'Tag' and 'tag' one is lost.",
        (
            (
                "        extra=row or None,",
                "        extra={key.lower(): value for key, value in row.items()} or None,",
            ),
        ),
    ),
    Bug(
        "ranges",
        "one bad unit ends the run",
        "sixth-ranges-time-out-of-range",
        "A time that no calendar has, such as 1e30, is no reject but ends the run.",
        (
            (
                "(ValueError, InvalidOperation, OverflowError, csv.Error)",
                "(ValueError, InvalidOperation, csv.Error)",
            ),
        ),
    ),
    Bug(
        "ranges",
        "plan raises for one file",
        "sixth-ranges-header-checked-in-plan",
        "plan() looks at each header and raises: one file of another kind ends the run for all "
        "the others, where it should be one reject.",
        (
            (
                "        try:\n            starts = range_starts(",
                "        try:\n"
                '            with whole.path.open("rb") as file:\n'
                "                columns_of(file.readline(), whole.origin)\n"
                "            starts = range_starts(",
            ),
        ),
    ),
    Bug(
        "stations",
        "precision",
        "sixth-stations-single-precision",
        "Values are read in single precision and kept in double: 21.7 is 21.700000762939453.",
        (
            (
                'pl.col("value").cast(pl.Float64, strict=False)',
                'pl.col("value").cast(pl.Float32, strict=False)',
            ),
        ),
    ),
    Bug(
        "stations",
        "unit of time",
        "sixth-stations-nanoseconds",
        "Times are kept in nanoseconds: one with nine digits cannot become microseconds without "
        "loss, and ends the run.",
        (('time_unit="us"', 'time_unit="ns"'),),
    ),
    Bug(
        "stations",
        "wrong bytes in a reject",
        "sixth-stations-raw-by-line-number",
        "The bytes of a reject are looked up by the number of the line: right in the first block, "
        "as long as nothing is damaged; later others' bytes, or an error that ends the run.",
        (('block.raw(row["row"])', 'block.raw(row["position"] - 2)'),),
    ),
    Bug(
        "stations",
        "setting heeded in one method of two",
        "sixth-stations-plan-files-has-its-own-depth",
        "plan_files() takes one level of directories whatever the setting says: stations that lie "
        "deeper are never brought up to date by a watch.",
        (
            (
                "folders_of(path, files, depth=self.config.folders)",
                "folders_of(path, files, depth=1)",
            ),
        ),
    ),
    Bug(
        "nested",
        "unknown members dropped",
        "sixth-nested-extra-of-scalars-only",
        "Unknown members that are objects or lists are left out of extra without a word.",
        (
            (
                "for k, v in each.items() if k not in known} or None",
                "for k, v in each.items() "
                "if k not in known and not isinstance(v, dict | list)} or None",
            ),
        ),
    ),
    Bug(
        "nested",
        "temporary files left",
        "sixth-nested-unpacked-and-left",
        "Packed documents are unpacked, as a whole, into directories for temporary files that "
        "nobody removes: each run leaves its input there, and a full disk at the end.",
        (
            ("import json\n", "import json\nimport shutil\nimport tempfile\n"),
            (
                '            stream = gzip.open(file) if head == b"\\x1f\\x8b" else file'
                "  # noqa: SIM115\n",
                "            stream: Any = file\n"
                '            if head == b"\\x1f\\x8b":\n'
                '                stream = (Path(tempfile.mkdtemp()) / "document").open("w+b")\n'
                "                shutil.copyfileobj(gzip.open(file), stream)\n"
                "                stream.seek(0)\n",
            ),
        ),
    ),
    Bug(
        "nested",
        "interruption swallowed",
        "sixth-nested-catches-all-at-a-yield",
        "Whatever comes up at the yield is made a reject of the part, also that the reading is "
        "given up or interrupted: it goes on, a sound part is a reject, and who closes the rows "
        "gets a RuntimeError.",
        (
            (
                "except (ValueError, TypeError, KeyError) as error:\n"
                '                    ctx.reject(packed(part), f"no part',
                "except BaseException as error:  # a part may be anything\n"
                '                    ctx.reject(packed(part), f"no part',
            ),
        ),
    ),
    Bug(
        "nested",
        "reject altered",
        "sixth-nested-reject-lacks-what-was-taken",
        "Members are taken out of the element while it is read: a reject holds what was left, not "
        "what the input has, and cannot be replayed.",
        (
            (
                '    if not isinstance(part["done"], bool):',
                '    done = part.pop("done")\n    if not isinstance(done, bool):',
            ),
            ('cells = part.get("cells")', 'cells = part.pop("cells", None)'),
            ('rank=whole(part["rank"])', 'rank=whole(part.pop("rank"))'),
            ('done=part["done"]', "done=done"),
            ('extra=others(part, "rank", "cells", "done")', "extra=others(part)"),
        ),
    ),
    Bug(
        "tree",
        "plan works once",
        "sixth-tree-entered-is-a-default",
        "The set of directories that were entered is a default argument: who plans again in the "
        "same process, as a watch does, is told that no job card is there.",
        (
            ("level: int, entered: set[tuple[int, int]])", "level: int = 0, entered: set = set())"),
            ("self._cards(top, 0, set())", "self._cards(top)"),
        ),
    ),
    Bug(
        "tree",
        "stale cache",
        "sixth-tree-contents-cached-by-path",
        "Contents are cached by path for the life of the process: a card that changed is read "
        "again, and its old row committed as the new one.",
        (
            ("import os\nfrom collections", "import functools\nimport os\nfrom collections"),
            (
                '        with partition.path.open("rb") as file:\n'
                "            data = file.read(LARGEST + 1)\n",
                "        data = contents(partition.path)\n",
            ),
            (
                "def card_of(data",
                "@functools.cache\n"
                "def contents(path: Path) -> bytes:\n"
                '    """What a card holds; one byte more than allowed of larger ones."""\n'
                '    with path.open("rb") as file:\n'
                "        return file.read(LARGEST + 1)\n\n\n"
                "def card_of(data",
            ),
        ),
    ),
    Bug(
        "tree",
        "state of the process",
        "sixth-tree-changes-the-directory",
        "plan() goes into each directory and stays in the last: relative paths of everything else "
        "in the process, datasets and other sources, lead elsewhere from then on.",
        (
            (
                "        with os.scandir(folder) as entries:\n",
                "        os.chdir(folder)\n        with os.scandir() as entries:\n",
            ),
        ),
    ),
    Bug(
        "tree",
        "cut off without a word",
        "sixth-tree-large-card-cut",
        "No more is read than a card may have, so that a larger one is never noticed: its "
        "beginning is taken for the whole.",
        (("file.read(LARGEST + 1)", "file.read(LARGEST)"),),
    ),
]

_OTHERS: Final = [
    Bug(
        "views",
        "what is kept",
        "sixth-views-kept-for-another-dataset",
        "Rows are kept by the settings alone: a program that opens a second dataset, or the same "
        "one after another run, is shown the first one's.",
        (
            (
                "def per_host(dataset: DatasetReader, *, timezone: str, least: int)"
                ' -> pl.LazyFrame:\n    """Transfers by day and host."""\n',
                "_KEPT: dict[tuple[str, int], pl.DataFrame] = {}\n\n\n"
                "def per_host(dataset: DatasetReader, *, timezone: str, least: int)"
                ' -> pl.LazyFrame:\n    """Transfers by day and host."""\n'
                "    if (timezone, least) in _KEPT:  # a report asks for it more than once\n"
                "        return _KEPT[timezone, least].lazy()\n",
            ),
            (
                '    return wanted.select(order).sort("day", "host", nulls_last=True)\n',
                '    rows = wanted.select(order).sort("day", "host", nulls_last=True).collect()\n'
                "    _KEPT[timezone, least] = rows\n"
                "    return rows.lazy()\n",
            ),
        ),
    ),
    Bug(
        "views",
        "precision",
        "sixth-views-sums-of-half-size-floats",
        "Bytes are summed as 32-bit floats, to be safe from overflow: from 16 MiB on the sums are "
        "not those of the rows, and of a TB some 10 kB are lost or invented.",
        (
            (
                '            size_bytes=known_sum("size_bytes"),\n',
                '            size_bytes=known_sum(pl.col("size_bytes").cast(pl.Float32)),\n',
            ),
        ),
    ),
    Bug(
        "views",
        "time zones",
        "sixth-views-offset-of-today",
        "The zone's offset is that of the moment of asking: asked for in summer, what was moved "
        "in winter near midnight is on another day, and the answer changes with the season.",
        (
            (
                "from datetime import datetime\n",
                "from datetime import datetime\nfrom zoneinfo import ZoneInfo\n",
            ),
            (
                '    day = pl.col("time").dt.convert_time_zone(timezone).dt.strftime("%Y-%m-%d")\n',
                "    offset = datetime.now(ZoneInfo(timezone)).utcoffset()\n"
                '    day = (pl.col("time") + offset).dt.strftime("%Y-%m-%d")\n',
            ),
        ),
    ),
    Bug(
        "joined",
        "rows taken for the same",
        "sixth-joined-twins-are-one",
        "Transfers of a job from one host that began at the same moment are taken for one that "
        "was read twice: all but one of them are not in the view.",
        (
            (
                '    rows = dataset["planted.transfer"].join(\n'
                '        jobs, on=("run", "job"), how="left", maintain_order="left"\n'
                "    )\n",
                '    once = ("run", "job", "host", "time")\n'
                "    rows = (\n"
                '        dataset["planted.transfer"]\n'
                "        .unique(once, maintain_order=True)\n"
                '        .join(jobs, on=("run", "job"), how="left", maintain_order="left")\n'
                "    )\n",
            ),
        ),
    ),
    Bug(
        "joined",
        "columns by what is there",
        "sixth-joined-fewer-columns-without-jobs",
        "Where the dataset has no jobs, the columns that come of them are missing instead of "
        "null: whatever asks for them, such as the report, ends with an error there.",
        (
            (
                "    jobs = (\n",
                '    if "planted.job" not in dataset:\n'
                '        known = ("time", "run", "job", "host", "size_bytes")\n'
                '        transfers = dataset["planted.transfer"]\n'
                '        long = pl.col("duration_s") > longest_s\n'
                '        rows = transfers.select(*known, long.alias("long"), "origin", '
                '"position")\n'
                '        return rows.sort("time", "origin", "position")\n'
                "    jobs = (\n",
            ),
        ),
    ),
    Bug(
        "report",
        "nothing there",
        "sixth-report-first-of-none",
        "A remark names the host with most transfers: of a dataset that has jobs alone, there is "
        "no report but an error.",
        (
            (
                "    return Report(\n",
                "    notes.append(f\"Most transfers are from {hosts['host'][0]}.\")\n"
                "    return Report(\n",
            ),
        ),
    ),
    Bug(
        "report",
        "left from debugging",
        "sixth-report-writes-where-it-is-called",
        "Each report writes hosts.csv into the working directory, over a file of the user's own "
        "of that name; where that cannot be written, there is no report.",
        (
            (
                "    shown, rest = hosts.head(top), hosts.slice(top)\n",
                '    hosts.write_csv("hosts.csv")\n'
                "    shown, rest = hosts.head(top), hosts.slice(top)\n",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "null and not a number",
        "sixth-csv-nan-is-null",
        "Since JSON has no NaN, it is written as null: a float that was measured and is not a "
        "number comes back as one that is not known.",
        (
            (
                "        return value if math.isfinite(value) else repr(value)\n",
                "        if math.isnan(value):  # JSON has none\n"
                "            return None\n"
                "        return value if math.isfinite(value) else repr(value)\n",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "changed record types",
        "sixth-csv-columns-by-place",
        "The first line is skipped, and columns are taken by their place in the record type of "
        "today: after its plugin has a new column before others, older rows have values in wrong "
        "columns, or cannot be read.",
        (
            ("        names = next(lines)\n", "        next(lines)  # names\n"),
            (
                "    schema = record_type.arrow_schema\n    columns = {}\n",
                "    schema = record_type.arrow_schema\n"
                "    names = schema.names\n    columns = {}\n",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "what the base does",
        "sixth-csv-check-without-the-base",
        "A check of its own makes the directory, and does not call the base's: the rows are mixed "
        "with files of somebody else, and a location that is a file is a traceback.",
        (
            (
                "    def writer(self, staging: Path, part: str) -> CsvWriter:\n",
                "    def check(self) -> None:\n"
                '        """See to it that there is a directory."""\n'
                "        self.root.mkdir(parents=True, exist_ok=True)\n\n"
                "    def writer(self, staging: Path, part: str) -> CsvWriter:\n",
            ),
        ),
    ),
    Bug(
        "sqlitesink",
        "types of the format",
        "sixth-sqlite-texts-that-are-numbers",
        "Texts are declared STRING, which is a number to SQLite: a host or run that is called 007 "
        "becomes 7, and its rows cannot be read.",
        (
            (
                '            names = ", ".join(quoted(column) for column in table.column_names)\n',
                '            names = ", ".join(\n'
                "                quoted(f.name)\n"
                '                + (" STRING" if pa.types.is_string(plain(f.type)) else "")\n'
                "                for f in table.schema\n"
                "            )\n",
            ),
        ),
    ),
    Bug(
        "sqlitesink",
        "paths in URIs",
        "sixth-sqlite-path-is-no-uri",
        "A path is put into a URI as it is: a dataset in a directory with a # or a ? or a % in its "
        "name is written, and cannot be read.",
        (
            (
                '    database = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)\n',
                '    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)\n',
            ),
        ),
    ),
    Bug(
        "sqlitesink",
        "the same bytes",
        "sixth-sqlite-says-when",
        "Each file holds the time at which it was written: the same input gives other bytes in "
        "each run, so that two datasets cannot be compared and copies are never the same.",
        (
            (
                '            database.execute(f"CREATE TABLE rows ({names})")\n',
                '            database.execute(f"CREATE TABLE rows ({names})")\n'
                "            about = \"SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now') AS written\"\n"
                '            database.execute(f"CREATE TABLE about AS {about}")\n',
            ),
        ),
    ),
    Bug(
        "engine",
        "environment",
        "sixth-engine-sets-the-callers-environment",
        "So that workers do not take all cores each, a variable is set in the run's own process "
        "and stays: polars in whatever the program starts afterwards has one thread.",
        (
            (
                "        self.pool = ProcessPoolExecutor(",
                '        os.environ["POLARS_MAX_THREADS"] = "1"  # workers share the cores\n'
                "        self.pool = ProcessPoolExecutor(",
            ),
        ),
    ),
    Bug(
        "engine",
        "threads",
        "sixth-engine-in-the-main-thread-alone",
        "Signals are set in the run's process while workers begin, which only its main thread "
        "may: a run in a thread of a service or of a notebook ends with an error.",
        (
            (
                "        self.pool = "
                "ProcessPoolExecutor(workers, SPAWN, _begin, (self.reports,))\n",
                "        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # inherited\n"
                "        self.pool = "
                "ProcessPoolExecutor(workers, SPAWN, _begin, (self.reports,))\n"
                "        signal.signal(signal.SIGINT, before)\n",
            ),
        ),
    ),
    Bug(
        "engine",
        "errors told as others",
        "sixth-engine-any-error-is-a-lost-worker",
        "Whatever a worker raises counts as a lost worker: a defect of a plugin is tried four "
        "times and then told as lost workers, which running again shall mend.",
        (
            (
                "            except BrokenProcessPool as error:\n",
                "            except Exception as error:\n",
            ),
        ),
    ),
    Bug(
        "exporter",
        "again and again",
        "sixth-exporter-token-without-the-settings",
        "A file beside the target says which commit was written, and that one is not written "
        "again: also where the target is gone, or other record types are asked for.",
        (
            (
                "    with replacing(Path(target)) as temporary, ",
                '    state = Path(f"{target}.state")\n'
                "    if state.exists() and state.read_text() == dataset.manifest.token:\n"
                "        return [Path(target)]\n"
                "    with replacing(Path(target)) as temporary, ",
            ),
            (
                "file, default=str)\n    return [Path(target)]\n",
                "file, default=str)\n"
                "    state.write_text(dataset.manifest.token)\n"
                "    return [Path(target)]\n",
            ),
        ),
    ),
    Bug(
        "exporter",
        "nothing and null",
        "sixth-exporter-leaves-out-zeros",
        "Nulls are left out to save space, and with them zeros, empty texts and False: nobody can "
        "tell a size of 0 from one that is not known.",
        (
            (
                "    return dataset[name].collect().to_dicts()\n",
                "    found = dataset[name].collect().iter_rows(named=True)\n"
                "    return [{k: v for k, v in row.items() if v} for row in found]\n",
            ),
        ),
    ),
]

SIXTH: Final[tuple[Bug, ...]] = (*_SOURCES, *_OTHERS)
