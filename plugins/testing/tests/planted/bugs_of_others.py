"""Bugs of sinks, engines and exporters, one for each promise that has one."""

from planted.planting import bug

BUGS = (
    bug("csvsink", "test_batches_types_and_partitions", "fourth-csv-first-chunk-alone",
        "Of a table in several chunks only the first is written, and all its rows are told: what a"
        " source gives in chunks is lost, and the account says that it is there.",
        ("        for batch in table.to_batches():\n"
         "            columns = [told(column) for column in batch.columns]\n"
         "            lines.writerows(zip(*columns, strict=True))\n"
         "            self.rows[name] += batch.num_rows\n",
         "        if table.num_rows:\n"
         "            columns = [told(column.chunk(0)) for column in table.columns]\n"
         "            lines.writerows(zip(*columns))\n"
         "            self.rows[name] += table.num_rows\n")),
    bug("csvsink", "test_columns_may_be_added", "csvsink-columns-by-place",
        "Columns are taken by their place and not by the file's first line: files of an older version of a type are misread.",
        ("        names = next(lines)\n", "        next(lines)  # the names\n"),
        ("in enumerate(names):", "in enumerate(schema.names):")),
    bug("csvsink", "test_commits_can_be_given_up", "old-files-go-in-publish",
        "publish removes what is replaced: where the manifest is never renamed, its rows are gone.",
        ("    def scan(self",
         "    def publish(self, publication):\n"
         "        final = super().publish(publication)\n"
         "        for file in (file for files in publication.old.values() for file in files):\n"
         "            (self.root / file.path).unlink(missing_ok=True)\n"
         "        return final\n\n    def scan(self")),
    bug("csvsink", "test_commits_leave_nothing_behind", "files-left-open",
        "Files are never closed: a large run ends with 'too many open files'.",
        ("            file.close()\n        return",
         "            file.flush()\n        KEPT.extend(self.open.values())\n        return"),
        ("class CsvSink(", "KEPT = []\n\n\nclass CsvSink(")),
    bug("csvsink", "test_equal_rows_are_kept", "one-of-equal-rows",
        "Of equal rows one is written, while all are counted.",
        ("lines.writerows(zip(*columns, strict=True))",
         "lines.writerows(dict.fromkeys(zip(*columns, strict=True)))")),
    bug("csvsink", "test_equal_rows_give_equal_bytes", "time-in-the-file",
        "The time of writing stands in the file: equal rows give other bytes.",
        ("import math\n", "import math\nimport time\n"),
        (".writerow(table.column_names)",
         '.writerow([*table.column_names, f"at {time.time_ns()}"])')),
    bug("csvsink", "test_names_of_any_bytes", "path-taken-for-an-address",
        "A path is taken for an address with escapes: below a folder with % none is found.",
        ("import polars as pl\n", "from urllib.parse import unquote\n\nimport polars as pl\n"),
        ("with path.open(", "with Path(unquote(str(path))).open(")),
    bug("csvsink", "test_native_readers_find_the_values", "minus-zero",
        "A -0.0 comes back as 0.0.",
        ("return value if math.isfinite(value)", "return value + 0.0 if math.isfinite(value)")),
    bug("csvsink", "test_native_readers_find_what_is_committed", "finish-removes-nothing",
        "finish leaves replaced files beside the new ones: other readers see rows twice.",
        ("    def scan(self",
         "    def finish(self, publication):\n        pass\n\n    def scan(self")),
    bug("csvsink", "test_no_global_state", "fourth-csv-written-in-the-temporary-directory",
        "Rows are written in the system's temporary directory and moved to staging at the end: what"
        " is aborted or killed stays there for good, /tmp fills with the size of the dataset, and"
        " the files can be read by their owner alone, whatever the umask.",
        ("import math\n", "import math\nimport shutil\nimport tempfile\n"),
        ("            path = self.staging / self.sink.place(name, self.part)\n"
         "            path.parent.mkdir(parents=True)\n"
         '            self.open[name] = path.open("w", encoding="utf-8", newline="")\n',
         "            self.open[name] = tempfile.NamedTemporaryFile(  # a near disk\n"
         '                "w", encoding="utf-8", newline="", suffix=".csv", delete=False\n'
         "            )\n"),
        ('        """Finish all files."""\n'
         "        for file in self.open.values():\n"
         "            file.close()\n",
         '        """Finish all files."""\n'
         "        for name, file in self.open.items():\n"
         "            file.close()\n"
         "            path = self.staging / self.sink.place(name, self.part)\n"
         "            path.parent.mkdir(parents=True)\n"
         "            shutil.move(file.name, path)\n")),
    bug("csvsink", "test_rows_come_back", "csvsink-nulls-in-lists-are-lost",
        "Nulls in a list are left out: it comes back shorter, and places are others.",
        ("[simple(each, kind.value_type) for each in value]",
         "[simple(each, kind.value_type) for each in value if each is not None]")),
    bug("csvsink", "test_writers_can_be_aborted", "given-up-and-left-open",
        "A writer that gives up leaves its files open: each partition that fails costs some.",
        ("of open files.\"\"\"\n        for file in self.open.values():\n            file.close()\n",
         "of open files.\"\"\"\n")),
    bug("engine", "test_a_lost_worker_costs_no_row", "engine-counts-all-losses",
        "A result does not begin the count of losses anew: a long run ends at its fourth lost worker, hours apart.",
        ("                    lost = 0\n                    yield result\n",
         "                    yield result\n")),
    bug("engine", "test_the_dataset_is_that_of_the_engine_local", "last-bundle-lost",
        "The last bundle in hand is dropped when the others are done.",
        ("            if not self.given:\n", "            if len(self.given) < 2:\n")),
    bug("engine", "test_what_stops_a_bundle_stops_the_run",
        "sixth-engine-any-error-is-a-lost-worker",
        "Whatever a worker raises counts as a lost worker: a defect of a plugin is tried four "
        "times and then told as lost workers, which running again shall mend.",
        ("            except BrokenProcessPool as error:\n",
         "            except Exception as error:\n")),
    bug("engine", "test_workers_are_not_replaced_without_end",
        "fourth-engine-forgets-the-bundle-that-was-lost",
        "A bundle is struck off before it is known to be read: the one whose worker was lost is"
        " given to nobody again, and the run ends without its results.",
        ("                result = future.result()\n"
         "                del self.given[future]\n"
         "                yield result\n",
         "                del self.given[future]\n                yield future.result()\n")),
    bug("exporter", "test_all_rows_are_written", "export-first-thousand",
        "Only the first thousand rows of each record type are exported.",
        ("dataset[name].collect()", "dataset[name].head(1000).collect()")),
    bug("exporter", "test_it_names_what_it_writes", "exporter-gives-a-text",
        "It gives the path as a text, which is taken for what it did: no file counts as written.",
        ("    return [Path(target)]\n", "    return str(Path(target))\n")),
    bug("exporter", "test_what_is_there_is_whole", "joined-with-the-old",
        "Record types that were at the target before stay there when the dataset has them no more.",
        ("    with replacing(",
         "    old = json.loads(Path(target).read_text()) if Path(target).is_file() else {}\n"
         "    with replacing("),
        ("json.dump({name: rows(dataset, name) for name in chosen}",
         "json.dump({**old, **{name: rows(dataset, name) for name in chosen}}")),
    bug("exporter", "test_what_is_there_stays_when_reading_fails",
        "fourth-export-temporary-of-a-name-that-others-have",
        "It writes to the target's name with the ending .tmp first: a file of the user's of that"
        " name is gone, two exports to rows.json and rows.txt mix, and after an error it stays.",
        ("    with replacing(Path(target)) as temporary, temporary.open"
         '("w", encoding="utf-8") as file:\n',
         '    temporary = Path(target).with_suffix(".tmp")\n'
         '    with temporary.open("w", encoding="utf-8") as file:\n'),
        ("default=str)\n    return", "default=str)\n    temporary.replace(target)\n    return"),
        ("from harvest.toolkit.files import replacing\n", "")),
)  # fmt: skip
