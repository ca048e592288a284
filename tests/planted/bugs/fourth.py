"""The fourth set: planted by people who had not seen the kit, nor the bugs before."""

from __future__ import annotations

from typing import Final

from ..planting import Bug

_LINES: Final = [
    Bug(
        "lines",
        "answer depends on the day",
        "fourth-lines-zone-of-today",
        "The zone's offset of the moment of the run is taken for all times: those of the other "
        "half of the year are an hour off, and the same file gives other rows in summer.",
        (
            ("from datetime import datetime\n", "from datetime import datetime, timezone\n"),
            (
                "        zone = ZoneInfo(self.config.timezone)\n",
                "        now = datetime.now(ZoneInfo(self.config.timezone))\n"
                "        zone = timezone(now.utcoffset())\n",
            ),
        ),
    ),
    Bug(
        "lines",
        "detection hangs",
        "fourth-lines-detect-opens-pipes",
        "Whatever is no directory is opened to be recognised: of a named pipe to which nobody "
        "writes that never returns, and where somebody does, it takes nine bytes of the data.",
        (("        if not path.is_file():\n", "        if path.is_dir():\n"),),
    ),
    Bug(
        "lines",
        "cannot be stopped",
        "fourth-lines-rejects-its-own-end",
        "Whatever is raised becomes a reject, also what says that nobody wants more rows, "
        "KeyboardInterrupt and MemoryError: a reader that is closed goes on reading, and the line "
        "whose row was given is rejected as well.",
        (
            (
                "                except (ValueError, OverflowError) as error:\n"
                '                    ctx.reject(raw, f"no measurement: {error}", position=number)\n'
                "                    continue\n"
                "                if self.config.name is not None and row.name != "
                "self.config.name:\n"
                '                    ctx.filtered(1, "another name")\n'
                "                    continue\n"
                "                yield row\n",
                "                    if self.config.name in (None, row.name):\n"
                "                        yield row\n"
                "                    else:\n"
                '                        ctx.filtered(1, "another name")\n'
                "                except BaseException as error:\n"
                '                    ctx.reject(raw, f"no measurement: {error}", '
                "position=number)\n",
            ),
        ),
    ),
    Bug(
        "lines",
        "empty input ends the run",
        "fourth-lines-maps-empty-file",
        "The file is mapped into memory, which Python refuses for one of no bytes by a ValueError: "
        "one empty file ends the run, with the rows of all others.",
        (
            (
                "from collections.abc import Iterator\n",
                "import mmap\nfrom collections.abc import Iterator\n",
            ),
            (
                '        with partition.path.open("rb") as lines:\n'
                "            for number, raw in enumerate(lines, 1):\n",
                "        with (\n"
                '            partition.path.open("rb") as file,\n'
                "            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as lines,\n"
                "        ):\n"
                '            for number, raw in enumerate(iter(lines.readline, b""), 1):\n',
            ),
        ),
    ),
    Bug(
        "lines",
        "location taken for the partition",
        "fourth-lines-opens-below-location",
        "The file is looked for below the location by the partition's id, and not where the "
        "partition says: a location that is one file cannot be read, nor what the core has put "
        "elsewhere, as the copy of a pipe.",
        (
            (
                '        with partition.path.open("rb") as lines:\n',
                '        with Path(self.location, partition.id).open("rb") as lines:\n',
            ),
        ),
    ),
]

_RANGES: Final = [
    Bug(
        "ranges",
        "what planning leaves behind",
        "fourth-ranges-limit-set-by-plan",
        "The csv module's limit of a value is raised where the files are listed: what this process "
        "reads may have long values, while a worker, or a run that asks for some files alone, "
        "rejects the same lines; and the limit stays raised for all other plugins.",
        (
            (
                "        for whole in super().plan():\n",
                "        csv.field_size_limit(1 << 24)  # comments can be long\n"
                "        for whole in super().plan():\n",
            ),
        ),
    ),
    Bug(
        "ranges",
        "fingerprint misses a change",
        "fourth-ranges-bounds-as-fingerprint",
        "A range's bounds are given as its fingerprint, since files grow at their ends: lines that "
        "are corrected in place, with as many bytes, are never read again.",
        (
            (
                'id=f"{whole.id}@{start}", start=start, stop=stop, size_bytes=stop - start\n',
                'id=f"{whole.id}@{start}", start=start, stop=stop, size_bytes=stop - start,\n'
                '                fingerprint=f"{start}-{stop}",\n',
            ),
        ),
    ),
    Bug(
        "ranges",
        "long records cut",
        "fourth-ranges-lines-of-64k",
        "A line is read up to 64 KiB: a longer one is lost in several rejects that were no lines, "
        "and all that follow in the range have wrong positions, which depend on its bounds.",
        (("raw = file.readline()\n", "raw = file.readline(1 << 16)\n"),),
    ),
    Bug(
        "ranges",
        "part of an origin listed",
        "fourth-ranges-only-last-range-changed",
        "Of a file that changed only the last range is listed, since files grow at their ends; of "
        "an origin all partitions are given or none, and so the rows of all other ranges leave the "
        "dataset.",
        (
            (
                "        for whole in file_partitions(self.location, files):\n"
                "            yield from self._ranges(whole)\n",
                "        for whole in file_partitions(self.location, files):\n"
                "            *_, last = self._ranges(whole)  # what lies before has not changed\n"
                "            yield last\n",
            ),
        ),
    ),
    Bug(
        "ranges",
        "concurrent reads share state",
        "fourth-ranges-header-of-the-source",
        "The header that is being read by is kept in the source: where two partitions are read at "
        "a time, as by threads, the lines of one file are taken apart by the header of the other, "
        "and values stand in wrong columns where their orders differ.",
        (
            (
                '        self._counted = ("", 0, 0)',
                '        self._header: list[str] = []\n        self._counted = ("", 0, 0)',
            ),
            (
                "            header = columns_of(first, partition.origin)\n",
                "            self._header = columns_of(first, partition.origin)\n",
            ),
            (
                "flow = flow_of(raw, header, number)\n",
                "flow = flow_of(raw, self._header, number)\n",
            ),
        ),
    ),
]

_STATIONS: Final = [
    Bug(
        "stations",
        "order by chance",
        "fourth-stations-files-of-a-set",
        "The file that tells the site is taken out of a set of the inputs, whose order Python "
        "draws anew in each process: the same station gives its rows in another order each time.",
        (
            (
                "        for name in partition.inputs:\n"
                "            path = Path(name)\n"
                "            if path.name == SITE:\n"
                "                continue\n",
                "        for name in set(partition.inputs) - {str(Path(partition.origin) / "
                "SITE)}:\n"
                "            path = Path(name)\n",
            ),
        ),
    ),
    Bug(
        "stations",
        "precision lost",
        "fourth-stations-single-precision",
        "Values are read with 32 bits to save memory: 0.1 becomes 0.10000000149011612, of large "
        "counters the last digits are wrong, and 1e300 becomes infinite.",
        (("cast(pl.Float64, strict=False)", "cast(pl.Float32, strict=False)"),),
    ),
    Bug(
        "stations",
        "setting taken for a pattern",
        "fourth-stations-quantity-contains",
        "The quantity that a user sets is searched as a regular expression: others that contain "
        "it are kept, one with brackets finds nothing, and one bracket alone ends the run.",
        (
            (
                'rows.filter(pl.col("quantity") == self.config.quantity)',
                'rows.filter(pl.col("quantity").str.contains(self.config.quantity))',
            ),
        ),
    ),
    Bug(
        "stations",
        "answer depends on blocks",
        "fourth-stations-repeats-of-a-block",
        "Repeated readings are folded within the block that is read at a time: whether a repeat "
        "becomes a row depends on where a block happens to end.",
        (
            (
                "            if self.config.quantity is not None:\n",
                '            once = rows.unique(["time", "quantity"], keep="first", '
                "maintain_order=True)\n"
                '            ctx.folded(rows.height - once.height, "repeated reading")\n'
                "            rows = once\n"
                "            if self.config.quantity is not None:\n",
            ),
        ),
    ),
]

_NESTED: Final = [
    Bug(
        "nested",
        "detection raises",
        "fourth-nested-detect-unpacks-damaged",
        "Any gzip file is unpacked to look at its beginning, and what is wrong with its data is "
        "no OSError: one cut or damaged archive, of whatever program, ends the search for inputs.",
        (
            (
                "        if head.startswith(b'{\"simulation\":'):\n",
                '        if head.startswith(b"\\x1f\\x8b"):\n'
                "            with gzip.open(path) as stream:\n"
                "                head = stream.read(64)\n"
                "        if head.startswith(b'{\"simulation\":'):\n",
            ),
            (
                '        if head.startswith(b"\\x1f\\x8b") and path.name.endswith(".sim.gz"):\n'
                '            return Detection(0.6, "its name and magic number")\n',
                "",
            ),
        ),
    ),
    Bug(
        "nested",
        "positions depend on a setting",
        "fourth-nested-left-out-parts-unnumbered",
        "Parts that a setting leaves out are counted all at once but not numbered: the steps "
        "behind them have other positions than with the parts, so that neither rows nor rejects "
        "of two datasets can be matched, or found in the document.",
        (
            (
                '            for part in each.get("parts", []):\n'
                "                number += 1\n"
                "                ctx.read(1)\n"
                "                if not self.config.parts:\n"
                '                    ctx.filtered(1, "part")\n'
                "                    continue\n",
                '            parts = each.get("parts", [])\n'
                "            if not self.config.parts:\n"
                "                ctx.read(len(parts))\n"
                '                ctx.filtered(len(parts), "part")\n'
                "                continue\n"
                "            for part in parts:\n"
                "                number += 1\n"
                "                ctx.read(1)\n",
            ),
        ),
    ),
    Bug(
        "nested",
        "reject is not what was read",
        "fourth-nested-pops-what-it-rejects",
        "Members are taken out of an element while it is read; when it turns out to be none, the "
        "reject lacks just those, also the one that is wrong: nobody can see what was, or mend it.",
        (
            ('    seconds = each["seconds"]\n', '    seconds = each.pop("seconds")\n'),
            ('        name=text(each["name"]),\n', '        name=text(each.pop("name")),\n'),
            (
                'others(each, "name", "begin_ns", "seconds", "labels", "parts")',
                'others(each, "begin_ns", "labels", "parts")',
            ),
        ),
    ),
    Bug(
        "nested",
        "child process unheeded",
        "fourth-nested-gzip-never-asked",
        "A gzip process unpacks, and nobody waits for it or asks how it ended: a document whose "
        "checksum is wrong is taken for good, and one that is too large leaves the process behind.",
        (
            ("import json\nimport zlib\n", "import json\nimport subprocess\nimport zlib\n"),
            (
                '            stream = gzip.open(file) if head == b"\\x1f\\x8b" else file'
                "  # noqa: SIM115\n",
                "            stream = file\n"
                '            if head == b"\\x1f\\x8b":  # faster than Python\'s own\n'
                '                command = ["gzip", "-dcf", partition.origin]\n'
                "                stream = subprocess.Popen(command, "
                "stdout=subprocess.PIPE).stdout\n",
            ),
        ),
    ),
]

_TREE: Final = [
    Bug(
        "tree",
        "state outlives the call",
        "fourth-tree-entered-by-default",
        "The directories that were entered are gathered in a default argument, which Python makes "
        "once: whoever lists a second time in a process, as a watch does, finds no card.",
        (
            (
                "for path in self._cards(top, 0, set()):",
                "for path in self._cards(top):",
            ),
            (
                "    def _cards(self, folder: Path, level: int, entered: set[tuple[int, int]])"
                " -> Iterator[Path]:\n",
                "    def _cards(\n"
                "        self, folder: Path, level: int = 0, entered: set[tuple[int, int]] = "
                "set()\n"
                "    ) -> Iterator[Path]:\n",
            ),
        ),
    ),
    Bug(
        "tree",
        "characters stripped for a suffix",
        "fourth-tree-name-rstrip",
        "The ending is taken off by rstrip, which takes any of its letters: the job of blob.job "
        "is called bl, and that of job.job has no name, so that different jobs become one.",
        (
            (
                "os.fsencode(path.stem)",
                'os.fsencode(path.name.rstrip(".job"))',
            ),
        ),
    ),
    Bug(
        "tree",
        "identity not unique",
        "fourth-tree-origin-resolved",
        "Links to cards are resolved before they are planned: the rows of a card and of a link to "
        "it have one origin and position, and the job that the link names is called after another "
        "file; links that lead in a circle end the run.",
        (
            (
                "            yield file_partition(path, id=str(path.relative_to(top)))\n",
                "            yield file_partition(path.resolve(), id=str(path.relative_to(top)))\n",
            ),
        ),
    ),
    Bug(
        "tree",
        "input touched",
        "fourth-tree-restores-access-time",
        "To keep cards from looking used, the times from before are set again, as fractions that "
        "hold no nanoseconds: the source writes to its input, each first read counts as a change "
        "and is made again, and nobody can read the cards of another user, or of a read-only "
        "file system.",
        (
            (
                '        with partition.path.open("rb") as file:\n'
                "            data = file.read(LARGEST + 1)\n",
                "        before = partition.path.stat()\n"
                '        with partition.path.open("rb") as file:\n'
                "            data = file.read(LARGEST + 1)\n"
                "        os.utime(partition.path, (before.st_atime, before.st_mtime))\n",
            ),
        ),
    ),
]

_SOURCES: Final = [*_LINES, *_RANGES, *_STATIONS, *_NESTED, *_TREE]
"""Of all of these, what is wrong shows in what goes in and what comes out."""

_OTHERS: Final = [
    Bug(
        "views",
        "identity of a row",
        "fourth-view-counts-line-numbers",
        "Transfers are counted by their distinct line numbers, without the file that these are"
        " of: whoever harvests two files of one day and host is told too few transfers.",
        (("transfers=pl.len(),", 'transfers=pl.col("position").n_unique(),'),),
    ),
    Bug(
        "views",
        "meaning of a setting",
        "fourth-view-least-of-measured",
        "The setting compares with the transfers whose size is known, not with transfers, so that"
        " by default a host none of whose sizes is known vanishes, and its transfers with it.",
        (
            (
                'wanted = grouped.filter(pl.col("transfers") >= least)',
                'measured_ones = pl.col("transfers") - pl.col("unknown_sizes")\n'
                "    wanted = grouped.filter(measured_ones >= least)",
            ),
        ),
    ),
    Bug(
        "views",
        "time",
        "fourth-view-offset-of-today",
        "Days begin by the offset that the zone has when the view is asked for: the same dataset"
        " gives other days, counts and sums in winter than in summer.",
        (
            (
                "from datetime import datetime\n",
                "from datetime import datetime\nfrom zoneinfo import ZoneInfo\n",
            ),
            (
                'day = pl.col("time").dt.convert_time_zone(timezone).dt.strftime("%Y-%m-%d")',
                "offset = datetime.now(ZoneInfo(timezone)).utcoffset()\n"
                '    local = pl.col("time").dt.replace_time_zone(None) + offset\n'
                '    day = local.dt.strftime("%Y-%m-%d")',
            ),
        ),
    ),
    Bug(
        "joined",
        "columns that depend on the data",
        "fourth-join-fewer-columns-without-jobs",
        "Where a dataset has no job, the columns user and since_s are not null but missing: whoever"
        " selects them, as the report does, gets an error for a dataset that is in order.",
        (
            (
                '    jobs = (\n        dataset["planted.job"]\n',
                '    if "planted.job" not in dataset:  # there is nothing to join\n'
                '        alone = dataset["planted.transfer"].select(\n'
                '            *("time", "run", "job", "host", "size_bytes"),\n'
                '            long=pl.col("duration_s") > longest_s,\n'
                '            origin="origin",\n'
                '            position="position",\n'
                "        )\n"
                '        return alone.sort("time", "origin", "position")\n'
                '    jobs = (\n        dataset["planted.job"]\n',
            ),
        ),
    ),
    Bug(
        "joined",
        "composed keys",
        "fourth-join-key-glued-together",
        "Run and job are put together to one text with nothing between them: job 12 of run r1 and"
        " job 2 of run r11 are one, and a transfer gets the user of somebody else's job.",
        (
            (
                '    jobs = (\n        dataset["planted.job"]\n',
                '    key = pl.format("{}{}", "run", "job")\n'
                '    jobs = (\n        dataset["planted.job"]\n        .with_columns(key=key)\n',
            ),
            ('.unique(("run", "job"), keep="last"', '.unique("key", keep="last"'),
            (
                '.select("run", "job", "user", job_time="time")',
                '.select("key", "user", job_time="time")',
            ),
            (
                'rows = dataset["planted.transfer"].join(\n'
                '        jobs, on=("run", "job"), how="left"',
                'rows = dataset["planted.transfer"].with_columns(key=key).join(\n'
                '        jobs, on="key", how="left"',
            ),
        ),
    ),
    Bug(
        "report",
        "boundary of a setting",
        "fourth-report-one-other-left-out",
        "Where a single host is beyond those that are shown, there is no row of others: it is"
        " nowhere in the table, whose rows do not make the total.",
        (("others if rest.height else", "others if rest.height > 1 else"),),
    ),
    Bug(
        "report",
        "what is kept too long",
        "fourth-report-days-kept-by-location",
        "What the view gave is kept by the dataset's location for as long as the process lives: a"
        " server or notebook shows the hosts of the first state after every later harvest.",
        (
            (
                "\n\ndef summary(dataset",
                "\n\n_DAYS: dict[str, pl.DataFrame] = {}\n"
                '"""By location: the view is dear, and asked for with every page."""'
                "\n\n\ndef summary(dataset",
            ),
            (
                '    days = dataset.view("planted.per_host").collect()\n',
                "    location = str(dataset.sink.location)\n"
                "    if location not in _DAYS:\n"
                '        _DAYS[location] = dataset.view("planted.per_host").collect()\n'
                "    days = _DAYS[location]\n",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "files elsewhere",
        "fourth-csv-written-in-the-temporary-directory",
        "Rows are written in the system's temporary directory and moved to staging at the end: what"
        " is aborted or killed stays there for good, /tmp fills with the size of the dataset, and"
        " the files can be read by their owner alone, whatever the umask.",
        (
            ("import math\n", "import math\nimport shutil\nimport tempfile\n"),
            (
                "            path = self.staging / self.sink.place(name, self.part)\n"
                "            path.parent.mkdir(parents=True)\n"
                '            self.open[name] = path.open("w", encoding="utf-8", newline="")\n',
                "            self.open[name] = tempfile.NamedTemporaryFile(  # a near disk\n"
                '                "w", encoding="utf-8", newline="", suffix=".csv", delete=False\n'
                "            )\n",
            ),
            (
                '        """Finish all files."""\n'
                "        for file in self.open.values():\n"
                "            file.close()\n",
                '        """Finish all files."""\n'
                "        for name, file in self.open.items():\n"
                "            file.close()\n"
                "            path = self.staging / self.sink.place(name, self.part)\n"
                "            path.parent.mkdir(parents=True)\n"
                "            shutil.move(file.name, path)\n",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "values that the format cannot hold",
        "fourth-csv-maps-as-objects",
        "A map is written as an object of JSON: of entries of one key, of which a row's extra may"
        " have several, the last alone comes back.",
        (
            (
                "return [[simple(k, kind.key_type), simple(v, kind.item_type)] for k, v in value]",
                "return {simple(k, kind.key_type): simple(v, kind.item_type) for k, v in value}",
            ),
            (
                "return [(understood(k, kind.key_type), understood(v, kind.item_type))"
                " for k, v in value]",
                "return [(k, understood(v, kind.item_type)) for k, v in value.items()]",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "pieces of a table",
        "fourth-csv-first-chunk-alone",
        "Of a table in several chunks only the first is written, and all its rows are told: what a"
        " source gives in chunks is lost, and the account says that it is there.",
        (
            (
                "        for batch in table.to_batches():\n"
                "            columns = [told(column) for column in batch.columns]\n"
                "            lines.writerows(zip(*columns, strict=True))\n"
                "            self.rows[name] += batch.num_rows\n",
                "        if table.num_rows:\n"
                "            columns = [told(column.chunk(0)) for column in table.columns]\n"
                "            lines.writerows(zip(*columns))\n"
                "            self.rows[name] += table.num_rows\n",
            ),
        ),
    ),
    Bug(
        "sqlitesink",
        "types of the format",
        "fourth-sqlite-string-is-a-number",
        "Columns of text are declared as STRING, which SQLite takes for a type of numbers: a text"
        " such as 007 or 1e3 becomes a number, and the committed dataset cannot be read any more.",
        (
            (
                'names = ", ".join(quoted(column) for column in table.column_names)',
                'names = ", ".join(map(declared, table.schema))',
            ),
            (
                "def cells(column: pa.Array)",
                "def declared(field: pa.Field) -> str:\n"
                '    """A column as CREATE TABLE takes it, so that tools show its type."""\n'
                "    kind = plain(field.type)\n"
                "    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)\n"
                '    return quoted(field.name) + (" STRING" if text else "")\n'
                "\n\n"
                "def cells(column: pa.Array)",
            ),
        ),
    ),
    Bug(
        "sqlitesink",
        "files that come from reading",
        "fourth-sqlite-write-ahead-log",
        "Databases are kept with a write-ahead log: each reader puts two files beside a database"
        " which are in no manifest and stay there, and who may not write there cannot read.",
        (("PRAGMA journal_mode = MEMORY", "PRAGMA journal_mode = WAL"),),
    ),
    Bug(
        "sqlitesink",
        "names of directories",
        "fourth-sqlite-path-as-address",
        "A path is put into an address as it is: a dataset below a directory whose name has ?, # or"
        " % is written and committed, and cannot be read.",
        (('f"{path.as_uri()}?mode=ro"', 'f"file:{path}?mode=ro"'),),
    ),
    Bug(
        "engine",
        "what is not taken in time",
        "fourth-engine-reports-only-with-results",
        "What workers report is taken only when a bundle is done: a run of large inputs shows no"
        " progress meanwhile, and stands for ever once a worker's reports fill the pipe.",
        (
            (
                "            self._report()\n            for future in done:\n",
                "            for future in done:\n                self._report()\n",
            ),
        ),
    ),
    Bug(
        "engine",
        "errors that are no loss",
        "fourth-engine-full-disk-is-a-lost-worker",
        "Whatever error of the system a worker tells, as of a full disk, is taken for a lost"
        " worker: all is given out three times more, and then the run says that workers were"
        " lost, not what the engine local says.",
        (
            (
                "            except BrokenProcessPool as error:\n",
                "            except (BrokenProcessPool, OSError) as error:  # or its disk\n",
            ),
        ),
    ),
    Bug(
        "engine",
        "accounting of what is in hand",
        "fourth-engine-forgets-the-bundle-that-was-lost",
        "A bundle is struck off before it is known to be read: the one whose worker was lost is"
        " given to nobody again, and the run ends without its results.",
        (
            (
                "                result = future.result()\n"
                "                del self.given[future]\n"
                "                yield result\n",
                "                del self.given[future]\n                yield future.result()\n",
            ),
        ),
    ),
    Bug(
        "exporter",
        "what is taken for up to date",
        "fourth-export-same-state-other-setting",
        "A target that has the dataset's state is left as it is, whatever was asked for: after an"
        " export of one record type, that of all of them says it is done and leaves the one.",
        (
            (
                "    with replacing(Path(target)) as temporary, temporary.open",
                "    token = dataset.manifest.token\n"
                "    with contextlib.suppress(OSError, ValueError, AttributeError):\n"
                '        if json.loads(Path(target).read_text()).get("token") == token:\n'
                "            return [Path(target)]  # called after each run, also of no change\n"
                "    with replacing(Path(target)) as temporary, temporary.open",
            ),
            (
                "json.dump({name: rows(dataset, name) for name in chosen}, file, default=str)",
                "held = {name: rows(dataset, name) for name in chosen}\n"
                '        json.dump({"token": token, **held}, file, default=str)',
            ),
            ("import json\n", "import contextlib\nimport json\n"),
        ),
    ),
    Bug(
        "exporter",
        "names of temporary files",
        "fourth-export-temporary-of-a-name-that-others-have",
        "It writes to the target's name with the ending .tmp first: a file of the user's of that"
        " name is gone, two exports to rows.json and rows.txt mix, and after an error it stays.",
        (
            (
                "    with replacing(Path(target)) as temporary, temporary.open"
                '("w", encoding="utf-8") as file:\n',
                '    temporary = Path(target).with_suffix(".tmp")\n'
                '    with temporary.open("w", encoding="utf-8") as file:\n',
            ),
            (
                "default=str)\n    return",
                "default=str)\n    temporary.replace(target)\n    return",
            ),
            ("from harvest.toolkit.files import replacing\n", ""),
        ),
    ),
]

FOURTH: Final[tuple[Bug, ...]] = (*_SOURCES, *_OTHERS)
