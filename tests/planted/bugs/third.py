"""The third set: planted by somebody who had not seen the kit, nor the bugs before."""

from __future__ import annotations

from typing import Final

from ..planting import Bug

_SOURCES: Final = [
    Bug(
        "lines",
        "detection",
        "lines-detects-texts-alone",
        "detect opens files as text: where anything binary lies beside, looking for inputs fails.",
        (
            (
                """\
        with path.open("rb") as file:
            if file.read(9) == b"# device ":
""",
                """\
        with path.open(encoding="utf-8") as file:
            if file.read(9) == "# device ":
""",
            ),
        ),
    ),
    Bug(
        "lines",
        "numbers",
        "lines-one-beyond-int64",
        "The bound takes 2**63, which no column holds: one such line ends the run for all inputs.",
        (("-(2**63) <= samples < 2**63", "-(2**63) <= samples <= 2**63"),),
    ),
    Bug(
        "lines",
        "paths",
        "lines-joins-location-and-id",
        "read joins location and id: a location that is one file, and not a directory, is a reject.",
        (
            (
                'with partition.path.open("rb") as lines:',
                'with Path(self.location, partition.id).expanduser().open("rb") as lines:',
            ),
        ),
    ),
    Bug(
        "lines",
        "memory",
        "lines-note-for-each-line",
        "A note for each value that nobody took: a large input fills memory and manifest with them.",
        (
            (
                "                yield row\n",
                """\
                if row.value is None:
                    ctx.note(f"no value was taken in line {number}")
                yield row
""",
            ),
        ),
    ),
    Bug(
        "lines",
        "surroundings",
        "lines-note-of-the-time-it-took",
        "A note says how long reading took: no two runs of the same inputs leave the same dataset.",
        (
            (
                "from pathlib import Path\n",
                "from pathlib import Path\nfrom time import monotonic\n",
            ),
            (
                "        zone = ZoneInfo(self.config.timezone)\n",
                "        zone = ZoneInfo(self.config.timezone)\n        began = monotonic()\n",
            ),
            (
                "                yield row\n",
                """\
                yield row
        ctx.note(f"read in {monotonic() - began:.4f} s")
""",
            ),
        ),
    ),
    Bug(
        "ranges",
        "travel",
        "ranges-holds-a-lock",
        "The source holds a lock, with which it cannot be pickled: it works here, and ends a run on a Dask cluster.",
        (
            ("import csv\n", "import csv\nimport threading\n"),
            (
                '        self._counted = ("", 0, 0)  # a file, a place in it, and how many lines lie before\n',
                """\
        self._counted = ("", 0, 0)  # a file, a place in it, and how many lines lie before
        self._counting = threading.Lock()
""",
            ),
            (
                "        before += count_lines(partition.path, place, partition.start)\n",
                """\
        with self._counting:
            before += count_lines(partition.path, place, partition.start)
""",
            ),
        ),
    ),
    Bug(
        "ranges",
        "state kept",
        "ranges-count-kept-in-the-source",
        "prepare keeps its count in the source and not in options: in a worker each range begins at line 2.",
        (
            (
                '        self._counted = ("", 0, 0)  # a file, a place in it, and how many lines lie before\n',
                """\
        self._counted = ("", 0, 0)  # a file, a place in it, and how many lines lie before
        self._before: dict[str, int] = {}  # lines before a range, by its id
""",
            ),
            (
                '        return attrs.evolve(partition, options={"before": before})\n',
                """\
        self._before[partition.id] = before
        return partition
""",
            ),
            (
                """\
        if partition.start and "before" not in partition.options:
            partition = self.prepare(partition)
""",
                "",
            ),
            (
                'number = partition.options.get("before", 1)',
                "number = self._before.get(partition.id, 1)",
            ),
        ),
    ),
    Bug(
        "ranges",
        "memory",
        "ranges-detects-by-a-whole-line",
        "detect reads the first line whatever its length: a large file without an end of line is read into memory.",
        (("file.readline(4096)", "file.readline()"),),
    ),
    Bug(
        "ranges",
        "errors",
        "ranges-plan-fails-at-a-large-file",
        "plan opens files that are larger than a range: one that cannot be opened ends the run for all.",
        (
            (
                """\
        try:
            starts = range_starts(whole.path, whole.size_bytes, step)
        except OSError:
            starts = [0]  # reading it says why
""",
                "        starts = range_starts(whole.path, whole.size_bytes, step)\n",
            ),
        ),
    ),
    Bug(
        "ranges",
        "progress",
        "ranges-advances-by-the-place",
        "advance is told the place in the file and not what came since: progress passes 100 % at once.",
        (("ctx.advance(len(raw))", "ctx.advance(file.tell())"),),
    ),
    Bug(
        "stations",
        "paths",
        "stations-plan-files-by-tables-alone",
        "plan_files asks for directories of changed CSV files: a changed station.json is not noticed in a watch.",
        (
            (
                "        for folder in folders_of(path, files, depth=self.config.folders):\n",
                """\
        days = [file for file in files if file.suffix == ".csv"]
        for folder in folders_of(path, days, depth=self.config.folders):
""",
            ),
        ),
    ),
    Bug(
        "stations",
        "paths",
        "stations-plan-follows-the-location",
        "plan resolves links in the location, plan_files does not: a watch of a linked directory has all rows twice.",
        (
            (
                """\
        \"\"\"A partition for each directory with CSV files.\"\"\"
        path = input_path(self.location)
""",
                """\
        \"\"\"A partition for each directory with CSV files.\"\"\"
        path = input_path(self.location).resolve()
""",
            ),
        ),
    ),
    Bug(
        "stations",
        "identity",
        "stations-id-by-hash",
        "Ids are told apart by hash(), which each process salts: the next run takes all stations for new, and has all rows twice.",
        (
            (
                "        id=str(folder.relative_to(top)),\n",
                '        id=f"{folder.name}-{hash(str(folder)) & 0xFFFFFFFF:08x}",\n',
            ),
        ),
    ),
    Bug(
        "stations",
        "rejects",
        "stations-damage-without-its-file",
        "Damaged records are rejected without origin: the reject names the directory, and a line of nobody knows which file.",
        (
            (
                "ctx.reject(damage.raw, damage.reason, position=damage.number, origin=origin)",
                "ctx.reject(damage.raw, damage.reason, position=damage.number)",
            ),
        ),
    ),
    Bug(
        "stations",
        "rejects",
        "stations-raw-of-another-line",
        "A fault's place is counted among the faults: the reject has the bytes of another line, which was good.",
        (
            (
                """\
            for row in rows.filter(pl.col("fault").is_not_null()).iter_rows(named=True):
                raw = block.raw(row["row"])
""",
                """\
            faulty = rows.filter(pl.col("fault").is_not_null())
            for place, row in enumerate(faulty.iter_rows(named=True)):
                raw = block.raw(place)
""",
            ),
        ),
    ),
    Bug(
        "nested",
        "silent loss",
        "nested-ends-with-the-first-document",
        "What follows the document is left unread: of two documents in a file, the second is lost without a word.",
        (
            (
                'document = json.loads(data.decode("utf-8"))',
                'document, _ = json.JSONDecoder().raw_decode(data.decode("utf-8").lstrip())',
            ),
        ),
    ),
    Bug(
        "nested",
        "texts changed",
        "nested-labels-as-python-writes-them",
        "Labels that are no texts are written as Python does: null becomes the text None, true becomes True.",
        (("{text(k): text(v) for k, v in", "{text(k): text(str(v)) for k, v in"),),
    ),
    Bug(
        "nested",
        "left behind",
        "nested-unpacks-beside-scratch",
        "Packed documents are unpacked into a temporary directory of its own, which nobody removes: /tmp fills.",
        (
            ("import json\nimport zlib\n", "import json\nimport tempfile\nimport zlib\n"),
            (
                """\
            stream = gzip.open(file) if head == b"\\x1f\\x8b" else file  # noqa: SIM115
            data = stream.read(most + 1)
""",
                """\
            if head == b"\\x1f\\x8b":
                unpacked = Path(tempfile.mkdtemp(prefix="simulation-"), "document.sim")
                with gzip.open(file) as stream:
                    unpacked.write_bytes(stream.read(most + 1))
                data = unpacked.read_bytes()
            else:
                data = file.read(most + 1)
""",
            ),
        ),
    ),
    Bug(
        "tree",
        "travel",
        "tree-path-among-options",
        "options hold a Path, which is no plain value: engines that hand partitions over as JSON fail.",
        (
            (
                "            yield file_partition(top, id=top.name)\n",
                '            yield file_partition(top, id=top.name, options={"card": top})\n',
            ),
            (
                "            yield file_partition(path, id=str(path.relative_to(top)))\n",
                """\
            name = str(path.relative_to(top))
            yield file_partition(path, id=name, options={"card": path})
""",
            ),
            (
                'with partition.path.open("rb") as file:',
                'with partition.options["card"].open("rb") as file:',
            ),
        ),
    ),
    Bug(
        "tree",
        "texts changed",
        "tree-composes-letters",
        "Names are normalised: a name in decomposed letters, as from a Mac, is no more that of the file.",
        (
            ("import os\nfrom collections", "import os\nimport unicodedata\nfrom collections"),
            (
                """\
        name=os.fsencode(path.stem).decode("utf-8", "backslashreplace"),
""",
                """\
        name=unicodedata.normalize(
            "NFC", os.fsencode(path.stem).decode("utf-8", "backslashreplace")
        ),
""",
            ),
        ),
    ),
    Bug(
        "tree",
        "surroundings",
        "tree-changes-the-directory",
        "plan changes the process's directory and leaves it so: relative paths of whatever comes later lead elsewhere.",
        (
            (
                "        for path in self._cards(top, 0, set()):\n",
                "        os.chdir(top)\n        for path in self._cards(top, 0, set()):\n",
            ),
            ("id=str(path.relative_to(top))", "id=os.path.relpath(path)"),
        ),
    ),
    Bug(
        "tree",
        "errors swallowed",
        "tree-passes-over-what-is-gone",
        "A card that is gone, or a link to nowhere, is a note and no reject: the run ends with 0.",
        (
            (
                """\
        ctx.read(1)
        with partition.path.open("rb") as file:
""",
                """\
        if not partition.path.exists():
            ctx.note("the card was gone before it was read")
            return
        ctx.read(1)
        with partition.path.open("rb") as file:
""",
            ),
        ),
    ),
]

_VIEWS: Final = [
    Bug(
        "views",
        "memory",
        "views-collects-when-built",
        "All rows are read into memory when the view is built, also where only its columns are asked for.",
        (
            (
                """\
        dataset["planted.transfer"]
        .group_by("host", day=day)
""",
                """\
        dataset["planted.transfer"]
        .collect()
        .lazy()
        .group_by("host", day=day)
""",
            ),
        ),
    ),
    Bug(
        "views",
        "settings",
        "views-any-zone",
        "The zone is not checked: a misspelt one is an error of polars, when rows are asked for, and names no setting.",
        (
            ("import at_least, time_zone\n", "import at_least\n"),
            (
                'Setting("zone of the days", str, "UTC", time_zone)',
                'Setting("zone of the days", str, "UTC")',
            ),
        ),
    ),
    Bug(
        "joined",
        "order",
        "joined-last-as-it-comes",
        "Of a job that was queued again, the last in the dataset counts and not the latest: it depends on how rows lie there.",
        (
            (
                """\
        .sort("time", "origin", "position")
        .unique(""",
                """\
        .unique(""",
            ),
        ),
    ),
    Bug(
        "joined",
        "numbers",
        "joined-whole-seconds",
        "Seconds since the job began are cut to whole ones, in a column of integers: all within the first are 0.",
        (
            (
                '(pl.col("time") - pl.col("job_time")).dt.total_microseconds() / 1e6',
                '(pl.col("time") - pl.col("job_time")).dt.total_seconds()',
            ),
        ),
    ),
    Bug(
        "report",
        "numbers",
        "report-one-other-is-left-out",
        "Where just one host is beyond those shown, it is neither shown nor among the others: the rows are not the total.",
        (
            (
                "others if rest.height else others.clear()",
                "others if rest.height > 1 else others.clear()",
            ),
        ),
    ),
    Bug(
        "report",
        "surroundings",
        "report-says-when-it-was-made",
        "The title has the time of day at which it was built: the report of the same dataset is another each time.",
        (
            (
                "import polars as pl\n",
                "from datetime import datetime\n\nimport polars as pl\n",
            ),
            (
                """\
        "Transfers",
        sections=[
""",
                """\
        f"Transfers, as of {datetime.now().astimezone():%Y-%m-%d %H:%M:%S}",
        sections=[
""",
            ),
        ),
    ),
    Bug(
        "report",
        "no rows",
        "report-needs-a-first-host",
        "A remark tells of the first host: a dataset without transfers has none, and there is no report at all.",
        (
            (
                "    return Report(\n",
                """\
    first = hosts.row(0, named=True)
    notes.append(f"Most transfers ({first['transfers']:,d}) are of one host.")
    return Report(
""",
            ),
        ),
    ),
]

_SINKS: Final = [
    Bug(
        "csvsink",
        "times",
        "csvsink-times-through-floats",
        "Times are made microseconds by way of a float and cut: from 2038 on, as of an expiry, many come back a microsecond earlier.",
        (
            (
                "        return (value - EPOCH) // timedelta(microseconds=1)\n",
                "        return int(value.timestamp() * 1_000_000)\n",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "commits",
        "csvsink-files-at-their-place-alone",
        "scan joins root and path and does not ask where files are kept: earlier states cannot be read.",
        (
            (
                "for path in self.paths(f for f in files if f.record_type == record_type.name):",
                "for path in (self.root / f.path for f in files if f.record_type == record_type.name):",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "schemas",
        "csvsink-columns-by-place",
        "Columns are taken by their place and not by the file's first line: files of an older version of a type are misread.",
        (
            ("        names = next(lines)\n", "        next(lines)  # the names\n"),
            ("in enumerate(names):", "in enumerate(schema.names):"),
        ),
    ),
    Bug(
        "csvsink",
        "left behind",
        "csvsink-types-beside-staging",
        "While rows are staged, a file with the columns' types is written into the dataset: a run that fails leaves it there.",
        (
            (
                "            path.parent.mkdir(parents=True)\n",
                """\
            path.parent.mkdir(parents=True)
            types = {field.name: str(field.type) for field in table.schema}
            (self.sink.root / f"{name}.json").write_text(json.dumps(types), encoding="utf-8")
""",
            ),
        ),
    ),
    Bug(
        "sqlitesink",
        "left behind",
        "sqlitesink-log-beside-the-file",
        "The database keeps a write-ahead log: reading makes files beside it, and who may not write there cannot read.",
        (("PRAGMA journal_mode = MEMORY", "PRAGMA journal_mode = WAL"),),
    ),
    Bug(
        "sqlitesink",
        "surroundings",
        "sqlitesink-time-of-writing",
        "Each file says when it was written: the same rows are never the same bytes, and each commit replaces all.",
        (
            (
                '            database.execute(f"CREATE TABLE rows ({names})")\n',
                """\
            database.execute(f"CREATE TABLE rows ({names})")
            now = "strftime('%Y-%m-%dT%H:%M:%fZ', 'now')"
            database.execute(f"CREATE TABLE about AS SELECT {now} AS written")
""",
            ),
        ),
    ),
]

_ENGINES: Final = [
    Bug(
        "engine",
        "lost workers",
        "engine-counts-all-losses",
        "A result does not begin the count of losses anew: a long run ends at its fourth lost worker, hours apart.",
        (
            (
                "                    lost = 0\n                    yield result\n",
                "                    yield result\n",
            ),
        ),
    ),
    Bug(
        "engine",
        "surroundings",
        "engine-takes-all-cores",
        "By default it begins a worker for each core of the machine, not for those that the process may use.",
        (
            ("from harvest.engines import available_cores\n", ""),
            ("self.workers or available_cores()", "self.workers or os.cpu_count() or 1"),
        ),
    ),
    Bug(
        "engine",
        "errors",
        "engine-tells-errors-in-its-words",
        "What a worker raises becomes an error of the engine's own: the run's exit code and remedy are lost.",
        (
            (
                "                result = future.result()\n",
                """\
                try:
                    result = future.result()
                except BrokenProcessPool:
                    raise
                except Exception as error:
                    raise harvest.HarvestError(
                        f"a worker failed: {error}",
                        where=self.given[future].origins[0],
                        remedy="run again",
                    ) from error
""",
            ),
        ),
    ),
]

_EXPORTERS: Final = [
    Bug(
        "exporter",
        "results",
        "exporter-gives-a-text",
        "It gives the path as a text, which is taken for what it did: no file counts as written.",
        (("    return [Path(target)]\n", "    return str(Path(target))\n"),),
    ),
    Bug(
        "exporter",
        "results",
        "exporter-compares-counts",
        "A target with as many rows is left as it is: where rows were replaced by others, it keeps the old.",
        (
            (
                "    with replacing(Path(target)) as temporary,",
                """\
    if counts(Path(target)) == {name: len(rows(dataset, name)) for name in chosen}:
        return [Path(target)]  # nothing new since the run before
    with replacing(Path(target)) as temporary,""",
            ),
            (
                "def rows(dataset",
                '''\
def counts(path: Path) -> dict[str, int] | None:
    """How many rows of what a file has; None where it is no export of ours."""
    try:
        return {name: len(held) for name, held in json.loads(path.read_bytes()).items()}
    except (OSError, ValueError, AttributeError, TypeError):
        return None


def rows(dataset''',
            ),
        ),
    ),
]

THIRD: Final = [*_SOURCES, *_VIEWS, *_SINKS, *_ENGINES, *_EXPORTERS]
