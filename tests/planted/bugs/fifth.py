"""The fifth set: planted as the fourth, by others than those who planted that."""

from __future__ import annotations

from typing import Final

from ..planting import Bug

_SOURCES: Final = [
    # lines
    Bug(
        "lines",
        "a cache that forgets a setting",
        "fifth-lines-zone-cached",
        "Moments are kept by their text, not by the zone they were read in: a second source of"
        " the same process with another timezone gets the times of the first.",
        (
            (
                "def measurement(raw: bytes, number: int, zone: ZoneInfo) -> Measurement:",
                "_MOMENTS: dict[str, datetime] = {}  # many lines have the same time\n\n\n"
                "def measurement(raw: bytes, number: int, zone: ZoneInfo) -> Measurement:",
            ),
            (
                "    time = datetime.fromisoformat(when)\n"
                "    if time.tzinfo is None:\n"
                "        time = time.replace(tzinfo=zone)\n",
                "    time = _MOMENTS.get(when)\n"
                "    if time is None:\n"
                "        time = datetime.fromisoformat(when)\n"
                "        if time.tzinfo is None:\n"
                "            time = time.replace(tzinfo=zone)\n"
                "        _MOMENTS[when] = time\n",
            ),
        ),
    ),
    Bug(
        "lines",
        "the end of the input seen too early",
        "fifth-lines-ends-at-empty-line",
        "White space is taken off before the end of the file is asked for: an empty line"
        " ends the file, and all that follows is neither a row nor a reject.",
        (
            (
                "            for number, raw in enumerate(lines, 1):\n"
                "                ctx.read(1)\n"
                "                ctx.advance(len(raw))\n",
                "            number = 0\n"
                "            while (raw := lines.readline()).strip():\n"
                "                number += 1\n"
                "                ctx.read(1)\n"
                "                ctx.advance(len(raw))\n",
            ),
        ),
    ),
    Bug(
        "lines",
        "a setting's default from the environment",
        "fifth-lines-zone-of-environment",
        "The default zone is that of the environment variable TZ: the same file gives other times"
        " on another machine, or in a worker started elsewhere; it is not in the recipe either.",
        (
            (
                "from collections.abc import Iterator\n",
                "import os\nfrom collections.abc import Iterator\n",
            ),
            (
                'setting("Zone of times that carry none.", "UTC", time_zone)',
                "setting(\n"
                '        "Zone of times that carry none.", os.environ.get("TZ") or "UTC", time_zone\n'
                "    )",
            ),
        ),
    ),
    Bug(
        "lines",
        "detection of short files",
        "fifth-lines-claims-empty-files",
        "Sides of startswith are swapped: every empty file, and each that ends within the device's"
        " comment, is claimed with 0.9, and taken from the source it belongs to.",
        (
            (
                '            if file.read(9) == b"# device ":\n',
                '            if b"# device ".startswith(file.read(9)):\n',
            ),
        ),
    ),
    Bug(
        "lines",
        "state that outlives an interrupted reading",
        "fifth-lines-number-after-a-stop",
        "The number of the line stands in the source and is set back at the end alone: after a"
        " reading that was stopped (a limit, a preview, an error), the positions of the next"
        " input go on from there.",
        (
            (
                "    Config = Config\n",
                "    Config = Config\n    _number = 0\n",
            ),
            (
                "            for number, raw in enumerate(lines, 1):\n",
                "            for raw in lines:\n"
                "                self._number += 1\n"
                "                number = self._number\n",
            ),
            (
                "                yield row\n",
                "                yield row\n        self._number = 0\n",
            ),
        ),
    ),
    # ranges
    Bug(
        "ranges",
        "preparing counts on all partitions being prepared",
        "fifth-ranges-sum-of-prepared",
        "The lines before a range are the sum of those of the ranges that were prepared before:"
        " where only some ranges are read (a retry, another process), positions are too small.",
        (
            (
                "        if not partition.start:\n"
                "            return partition\n"
                "        path, place, before = self._counted\n"
                "        if path != partition.origin or place > partition.start:\n"
                "            place, before = 0, 0\n"
                "        before += count_lines(partition.path, place, partition.start)\n"
                "        self._counted = (partition.origin, partition.start, before)\n",
                "        if partition.stop is None:\n"
                "            return partition\n"
                "        path, _, before = self._counted\n"
                "        if path != partition.origin or not partition.start:\n"
                "            before = 0\n"
                "        lines = count_lines(partition.path, partition.start or 0, partition.stop)\n"
                "        self._counted = (partition.origin, partition.stop, before + lines)\n"
                "        if not partition.start:\n"
                "            return partition\n",
            ),
        ),
    ),
    Bug(
        "ranges",
        "names made equal",
        "fifth-ranges-columns-in-lower-case",
        "Names of columns are put into lower case after they were found to differ: of two columns"
        " such as size and SIZE one value silently takes the place of the other.",
        (("    return names\n", "    return [name.lower() for name in names]\n"),),
    ),
    Bug(
        "ranges",
        "planning by the machine",
        "fifth-ranges-a-range-for-each-core",
        "Files are cut into as many ranges as this process may use cores: the same input gives"
        " other partitions with other ids on another node, where all is read again.",
        (
            ("import csv\n", "import csv\nimport os\n"),
            (
                "        step = self.config.partition_bytes\n",
                "        each = whole.size_bytes // len(os.sched_getaffinity(0)) + 1\n"
                "        step = min(self.config.partition_bytes, max(each, 1 << 12))\n",
            ),
        ),
    ),
    Bug(
        "ranges",
        "a long unit taken for two",
        "fifth-ranges-line-in-pieces",
        "Lines are read at most 64 KiB at a time, and the rest of a longer one counts as the next"
        " line: one unit is two rejects, and all rows behind it have wrong positions.",
        (
            (
                "                raw = file.readline()\n",
                "                raw = file.readline(1 << 16)  # a line is never longer\n",
            ),
        ),
    ),
    Bug(
        "ranges",
        "the process is changed for all others",
        "fifth-ranges-zone-of-the-process",
        "Importing the source sets the time zone of the whole process, and of those it starts, to"
        " UTC: local times of other plugins, of logs and of the user's program are wrong.",
        (
            ("import csv\n", "import csv\nimport os\nimport time as clock\n"),
            (
                "EPOCH = datetime(1970, 1, 1, tzinfo=UTC)\n",
                'os.environ["TZ"] = "UTC"  # times in the files are of UTC\n'
                "clock.tzset()\n"
                "EPOCH = datetime.fromtimestamp(0).astimezone(UTC)\n",
            ),
        ),
    ),
    # stations
    Bug(
        "stations",
        "reading what is not among the inputs",
        "fifth-stations-site-beside-the-file",
        "station.json is read wherever it lies, also where a single file is the location and its"
        " only input: when it changes, the rows keep the old site.",
        (
            (
                "    if str(path) not in partition.inputs:\n",
                "    if not path.exists():\n",
            ),
        ),
    ),
    Bug(
        "stations",
        "order by times of files",
        "fifth-stations-days-as-written",
        "The files of a station come in the order of their times of change: a copy of the same"
        " data, or a touched file, gives its inputs and rows in another order.",
        (
            (
                '    return [file for file in files if file.suffix == ".csv" or file.name == SITE]\n',
                '    known = [file for file in files if file.suffix == ".csv" or file.name == SITE]\n'
                "    return sorted(known, key=lambda file: file.lstat().st_mtime_ns)  # day by day\n",
            ),
        ),
    ),
    Bug(
        "stations",
        "a changed file that replans nothing",
        "fifth-stations-site-changed",
        "plan_files asks for the directories of CSV files alone: a watch that hears of a changed,"
        " new or removed station.json reads no station again.",
        (
            (
                "        for folder in folders_of(path, files, depth=self.config.folders):\n",
                '        days = [file for file in files if file.suffix == ".csv"]\n'
                "        for folder in folders_of(path, days, depth=self.config.folders):\n",
            ),
        ),
    ),
    Bug(
        "stations",
        "folding what is no repeat",
        "fifth-stations-repeats-of-a-block",
        "Of readings of one quantity at one time the first is kept and the others are folded, even"
        " where their values differ, and only within a block: values are lost, and how many"
        " depends on where blocks end.",
        (
            (
                "            if self.config.quantity is not None:\n",
                '            once = rows.unique(["time", "quantity"], keep="first", maintain_order=True)\n'
                '            ctx.folded(rows.height - once.height, "repeat")\n'
                "            rows = once\n"
                "            if self.config.quantity is not None:\n",
            ),
        ),
    ),
    # nested
    Bug(
        "nested",
        "a default that is shared",
        "fifth-nested-labels-gather",
        "Labels are gathered in a default argument that all steps share: a step has the labels of"
        " steps before it, of other documents, too, and of later ones in the same batch.",
        (
            (
                "def step_of(each: dict[str, Any], run: str, number: int) -> Step:\n",
                "def step_of(\n"
                "    each: dict[str, Any], run: str, number: int, labels: dict[str, str] = {}\n"
                ") -> Step:\n",
            ),
            (
                "    return Step(\n",
                '    for key, value in each.get("labels", {}).items():\n'
                "        labels[text(key)] = text(value)\n"
                "    return Step(\n",
            ),
            (
                '        labels={text(k): text(v) for k, v in each["labels"].items()} if "labels" in each else None,\n',
                '        labels=labels if "labels" in each else None,\n',
            ),
        ),
    ),
    Bug(
        "nested",
        "positions that a filter changes",
        "fifth-nested-parts-not-numbered",
        "Parts that a setting leaves out are counted but not numbered: with parts=false the same"
        " step has another position, and so do rejects behind it.",
        (
            (
                '            for part in each.get("parts", []):\n',
                "            if not self.config.parts:\n"
                '                ctx.read(len(each.get("parts", [])))\n'
                '                ctx.filtered(len(each.get("parts", [])), "part")\n'
                "                continue\n"
                '            for part in each.get("parts", []):\n',
            ),
            (
                "                if not self.config.parts:\n"
                '                    ctx.filtered(1, "part")\n'
                "                    continue\n"
                "                try:\n",
                "                try:\n",
            ),
        ),
    ),
    Bug(
        "nested",
        "a limit of the wrong size",
        "fifth-nested-limit-of-the-packed",
        "The limit is compared with the size of the file, packed or not, and then all is unpacked:"
        " a small packed document of many gigabytes takes all memory.",
        (
            (
                '    with partition.path.open("rb") as file:\n        head = file.read(2)\n',
                "    if partition.path.stat().st_size > most:\n"
                '        raise broken(partition, f"it has more than {most} bytes")\n'
                '    with partition.path.open("rb") as file:\n        head = file.read(2)\n',
            ),
            ("            data = stream.read(most + 1)\n", "            data = stream.read()\n"),
            (
                "    if len(data) > most:\n"
                '        raise broken(partition, f"it has more than {most} bytes")\n',
                "",
            ),
        ),
    ),
    Bug(
        "nested",
        "order of a set",
        "fifth-nested-extra-by-chance",
        "Members that are no columns are found by the difference of two sets: their order in extra"
        " is another in each process, so that the same input does not give the same rows.",
        (
            (
                "    return {text(k): packed(v).decode() for k, v in each.items() if k not in known} or None\n",
                "    return {text(k): packed(each[k]).decode() for k in each.keys() - set(known)} or None\n",
            ),
        ),
    ),
    # tree
    Bug(
        "tree",
        "a listing kept",
        "fifth-tree-listed-once",
        "The tree is walked once for each source and the paths are kept: who plans again, as a"
        " watch or a session does, never hears of new cards, and of gone ones again and again.",
        (
            (
                "    Config = Config\n",
                "    Config = Config\n    _listed: list[Path] | None = None\n",
            ),
            (
                "        for path in self._cards(top, 0, set()):\n",
                "        if self._listed is None:\n"
                "            self._listed = list(self._cards(top, 0, set()))\n"
                "        for path in self._listed:\n",
            ),
        ),
    ),
    Bug(
        "tree",
        "links followed to their ends",
        "fifth-tree-resolved",
        "A card that is a link is planned as the file that it leads to: its row has the name of"
        " that file, and two rows have the same origin and position; a link that is turned to"
        " another card of the same content is not seen to have changed.",
        (
            (
                "            yield file_partition(path, id=str(path.relative_to(top)))\n",
                "            yield file_partition(path.resolve(), id=str(path.relative_to(top)))\n",
            ),
        ),
    ),
    Bug(
        "tree",
        "values from outside the content",
        "fifth-tree-time-of-the-file",
        "A card without a time gets that of its file instead of being rejected: the value is made"
        " up, and a copy of the same card gives another row.",
        (
            ("from datetime import datetime\n", "from datetime import UTC, datetime\n"),
            (
                '    if not said.keys() >= {"user", "time"}:\n'
                '        raise ValueError("it names no user or no time")\n'
                '    time = datetime.fromisoformat(said.pop("time"))\n',
                '    if "user" not in said:\n'
                '        raise ValueError("it names no user")\n'
                '    if "time" in said:\n'
                '        time = datetime.fromisoformat(said.pop("time"))\n'
                "    else:\n"
                "        time = datetime.fromtimestamp(path.stat().st_mtime, UTC)\n",
            ),
        ),
    ),
    Bug(
        "tree",
        "ids that agree",
        "fifth-tree-flat-ids",
        "Ids have an underscore for each slash: the cards a/b.job and a_b.job have one id, so that"
        " one of them is lost, or the run ends.",
        (
            (
                "id=str(path.relative_to(top)))\n",
                'id="_".join(path.relative_to(top).parts))\n',
            ),
        ),
    ),
]

_OTHERS: Final = [
    Bug(
        "views",
        "calendars",
        "fifth-offset-of-today",
        "Days are made by the zone's offset of the day on which somebody asks: what happened in "
        "the other half of the year is an hour off, and the table changes when the clocks do.",
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
        "views",
        "precision",
        "fifth-sum-through-floats",
        "Sizes are summed as floats, against an overflow: beyond 2**53 bytes the last digits of a "
        "sum, even of a single size, are not those of the rows.",
        (
            (
                'size_bytes=known_sum("size_bytes"),',
                'size_bytes=known_sum(pl.col("size_bytes").cast(pl.Float64)).cast(pl.Int64),',
            ),
        ),
    ),
    Bug(
        "views",
        "resources",
        "fifth-spool-left-behind",
        "The groups are put into a file of a temporary directory, to bound memory, and nobody "
        "removes it: each time the view is asked for, one more stays until the disk is full.",
        (
            (
                "import json\nfrom collections.abc import Iterator\n",
                "import json\nimport tempfile\nfrom collections.abc import Iterator\n",
            ),
            (
                "from datetime import datetime\n",
                "from datetime import datetime\nfrom pathlib import Path\n",
            ),
            (
                '    wanted = grouped.filter(pl.col("transfers") >= least)\n',
                '    spool = Path(tempfile.mkdtemp(prefix="per-host-")) / "groups.parquet"\n'
                '    grouped.filter(pl.col("transfers") >= least).sink_parquet(spool)\n'
                "    wanted = pl.scan_parquet(spool)\n",
            ),
        ),
    ),
    Bug(
        "joined",
        "keys",
        "fifth-key-of-glued-texts",
        "Run and job are glued into one text to join by: job 11 of run r1 and job 1 of run r11 are "
        "the same then, and a transfer gets somebody else's user.",
        (
            (
                '    jobs = (\n        dataset["planted.job"]\n',
                '    key = pl.concat_str("run", pl.col("job").cast(pl.String))\n'
                '    jobs = (\n        dataset["planted.job"]\n        .with_columns(key=key)\n',
            ),
            ('.unique(("run", "job"), keep', '.unique("key", keep'),
            ('.select("run", "job", "user", job_time', '.select("key", "user", job_time'),
            (
                'dataset["planted.transfer"].join(\n        jobs, on=("run", "job"), how',
                'dataset["planted.transfer"].with_columns(key=key).join(\n'
                '        jobs, on="key", how',
            ),
        ),
    ),
    Bug(
        "joined",
        "nulls",
        "fifth-not-below-zero",
        "Times since the job's begin are kept from being negative by the larger of them and 0, "
        "which ignores nulls: a transfer whose job nobody knows happened 0 s after its begin.",
        (("since_s=since,", "since_s=pl.max_horizontal(since, pl.lit(0.0)),  # clocks differ"),),
    ),
    Bug(
        "report",
        "nothing there",
        "fifth-first-of-none",
        "A remark names the host of the first row, and there is none in a dataset that has jobs "
        "and no transfers: the report fails instead of being empty.",
        (
            (
                "    return Report(\n",
                "    busiest = hosts.row(0, named=True)\n"
                '    name = busiest["host"] or "an unknown host"\n'
                "    notes.append(f\"Most transfers, {busiest['transfers']}, are from {name}.\")\n"
                "    return Report(\n",
            ),
        ),
    ),
    Bug(
        "report",
        "state between calls",
        "fifth-remarks-of-before",
        "Remarks are collected in a list of the module: a second report of one process repeats "
        "those of the first, which may be of another dataset.",
        (
            (
                "def summary(dataset",
                "_REMARKS: list[str] = []\n\n\ndef summary(dataset",
            ),
            (
                '    notes = [f"{unknown} transfers have no size and are not in the sums."] if '
                "unknown else []\n",
                "    if unknown:\n"
                '        _REMARKS.append(f"{unknown} transfers have no size and are not in the '
                'sums.")\n',
            ),
            ('Notes("remarks", notes)', 'Notes("remarks", _REMARKS)'),
        ),
    ),
    Bug(
        "csvsink",
        "ends of lines",
        "fifth-lines-of-python",
        "Lines are split where Python's splitlines does, which is also at U+2028, U+2029 and "
        "U+0085: these characters vanish from texts when rows are read.",
        (
            (
                '    with path.open(encoding="utf-8", newline="") as file:\n'
                "        lines = csv.reader(file)\n"
                "        names = next(lines)\n"
                "        values: list[list[str]] = list(lines)\n",
                '    lines = csv.reader(path.read_text(encoding="utf-8").splitlines())\n'
                "    names = next(lines)\n"
                "    values: list[list[str]] = list(lines)\n",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "files of others",
        "fifth-tidies-too-much",
        "After a commit every CSV file one directory down that the manifest does not name is "
        "removed, also those that a user keeps beside the record types, as plots/limits.csv.",
        (
            (
                "    def scan(self, files",
                "    def finish(self, publication: harvest.Publication) -> None:\n"
                '        """Remove what the manifest does not name."""\n'
                "        super().finish(publication)\n"
                "        named = publication.parts.paths()\n"
                '        for path in self.root.glob(f"*/*{self.suffix}"):\n'
                "            if path.relative_to(self.root).as_posix() not in named:\n"
                "                path.unlink(missing_ok=True)\n\n"
                "    def scan(self, files",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "concurrency",
        "fifth-one-scratch-for-all",
        "Files are written in the machine's temporary directory, under the part's name, and moved "
        "when done: two sinks of one run, or two runs, write into the same file, and what is given "
        "up stays there.",
        (
            ("import math\n", "import math\nimport shutil\nimport tempfile\n"),
            (
                "            path = self.staging / self.sink.place(name, self.part)\n"
                "            path.parent.mkdir(parents=True)\n"
                '            self.open[name] = path.open("w", encoding="utf-8", newline="")\n',
                "            path = self._scratch(name)\n"
                '            self.open[name] = path.open("w", encoding="utf-8", newline="")\n',
            ),
            (
                '        """Finish all files."""\n'
                "        for file in self.open.values():\n"
                "            file.close()\n",
                '        """Finish all files."""\n'
                "        for name, file in self.open.items():\n"
                "            file.close()\n"
                "            place = self.staging / self.sink.place(name, self.part)\n"
                "            place.parent.mkdir(parents=True)\n"
                "            shutil.move(self._scratch(name), place)\n",
            ),
            (
                "    def abort(self) -> None:\n",
                "    def _scratch(self, name: str) -> Path:\n"
                '        return Path(tempfile.gettempdir(), f"{name}-{self.part}.csv")\n\n'
                "    def abort(self) -> None:\n",
            ),
        ),
    ),
    Bug(
        "sqlitesink",
        "uniqueness",
        "fifth-one-row-of-a-position",
        "Origin and position are unique in a table, and a later row takes the place of an earlier "
        "one: of several rows that a source makes of one line, the last stays, while all are "
        "counted.",
        (
            (
                'f"CREATE TABLE rows ({names})"',
                'f"CREATE TABLE rows ({names}, UNIQUE (origin, position))"',
            ),
            (
                'f"INSERT INTO rows VALUES ({places})"',
                'f"INSERT OR REPLACE INTO rows VALUES ({places})"',
            ),
        ),
    ),
    Bug(
        "sqlitesink",
        "types",
        "fifth-affinity-of-string",
        "Columns of text are declared STRING, which SQLite takes for numbers: the text 007 becomes "
        "7, 1e3 becomes 1000, and such rows cannot be read back.",
        (
            (
                '            names = ", ".join(quoted(column) for column in table.column_names)\n',
                "            declared = {\n"
                '                pa.string(): "STRING", pa.int64(): "INTEGER", pa.bool_(): '
                '"BOOLEAN"\n'
                "            }\n"
                '            names = ", ".join(\n'
                "                f\"{quoted(f.name)} {declared.get(plain(f.type), 'BLOB')}\"\n"
                "                for f in table.schema\n"
                "            )\n",
            ),
        ),
    ),
    Bug(
        "sqlitesink",
        "files beside files",
        "fifth-log-ahead-stays",
        "Databases are in WAL mode for good: whoever reads one makes -wal and -shm files beside "
        "it, which stay in the dataset, and on a file system that is read-only nothing can be "
        "read.",
        (("PRAGMA journal_mode = MEMORY", "PRAGMA journal_mode = WAL"),),
    ),
    Bug(
        "engine",
        "preparing",
        "fifth-prepared-with-each-try",
        "A bundle is prepared when it is submitted, so again, and behind later ones, when a worker "
        "was lost: a source that counts on once and in order gives wrong positions then.",
        (
            (
                "bundles = map(harvest.Bundle.prepare, work.bundles)",
                "bundles = iter(work.bundles)",
            ),
            (
                "yield from (bundle.read(work.on_progress) for bundle in bundles)",
                "yield from (bundle.prepare().read(work.on_progress) for bundle in bundles)",
            ),
            (
                "future = self.pool.submit(_read, self.waiting[0])  # it raises, too",
                "bundle = self.waiting[0].prepare()\n"
                "                future = self.pool.submit(_read, bundle)  # it raises, too",
            ),
        ),
    ),
    Bug(
        "engine",
        "progress",
        "fifth-reports-when-idle",
        "What workers report is passed on only while no bundle ends: a busy run shows no progress, "
        "its last reports are lost, and workers wait for a full pipe.",
        (
            (
                "            self._report()\n            for future in done:\n",
                "            if not done:  # results first\n"
                "                self._report()\n            for future in done:\n",
            ),
        ),
    ),
    Bug(
        "engine",
        "time",
        "fifth-slow-means-lost",
        "Workers of which none gives a result for 30 s are taken for lost and killed: a partition "
        "that needs longer is begun again and again, and its run always fails.",
        (
            (
                '"""Results as they are done; raises BrokenProcessPool when a worker is lost."""\n',
                '"""Results as they are done; raises BrokenProcessPool when a worker is lost."""\n'
                "        silent_s = 0.0\n",
            ),
            (
                "            self._report()\n            for future in done:\n",
                "            self._report()\n"
                "            silent_s = 0.0 if done else silent_s + interrupt.POLL_S\n"
                "            if silent_s > 30:\n"
                '                raise BrokenProcessPool("the workers do not answer")\n'
                "            for future in done:\n",
            ),
        ),
    ),
    Bug(
        "exporter",
        "what changed",
        "fifth-same-token-same-file",
        "A file beside the target keeps the token of what was exported, and the same token means "
        "that nothing is to do: with other settings the old rows stay, and a target that was "
        "removed is named as written and is not there.",
        (
            (
                "    return [Path(target)]\n",
                "    known.write_text(dataset.manifest.token)\n    return [Path(target)]\n",
            ),
            (
                "    with replacing(Path(target)) as temporary",
                '    known = Path(f"{target}.token")\n'
                "    if known.exists() and known.read_text() == dataset.manifest.token:\n"
                "        return [Path(target)]\n"
                "    with replacing(Path(target)) as temporary",
            ),
        ),
    ),
    Bug(
        "exporter",
        "behind the dataset's back",
        "fifth-files-by-itself",
        "Rows are taken from the Parquet files that lie in the dataset's directory: another sink's "
        "dataset cannot be exported, and files of a commit that was cut short are rows, too.",
        (
            ("import harvest\nfrom", "import polars as pl\n\nimport harvest\nfrom"),
            (
                "    return dataset[name].collect().to_dicts()\n",
                '    files = sorted((dataset.sink.root / name).glob("*.parquet"))\n'
                "    frames = [pl.read_parquet(file) for file in files]\n"
                '    return pl.concat(frames, how="diagonal_relaxed").to_dicts()\n',
            ),
        ),
    ),
]

FIFTH: Final[tuple[Bug, ...]] = (*_SOURCES, *_OTHERS)
