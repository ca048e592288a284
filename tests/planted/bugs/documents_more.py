"""More bugs in the sources stations, nested and tree: planning, documents and surroundings."""

from __future__ import annotations

from typing import Final

from ..planting import Bug

DOCUMENTS_MORE: Final = (
    Bug(
        "stations",
        "identity",
        "stations-id-counts-files",
        "The id says how many files there are: a day more, and the station is there twice.",
        (
            (
                "        id=str(folder.relative_to(top)),\n",
                '        id=f"{folder.relative_to(top)} ({len(inputs)} files)",\n',
            ),
        ),
    ),
    Bug(
        "stations",
        "order",
        "stations-order-of-changes",
        "Files are read as they were changed: a copy of the archive gives other rows in other order.",
        (
            (
                '    return [file for file in files if file.suffix == ".csv" or file.name == SITE]\n',
                """\
    ours = [file for file in files if file.suffix == ".csv" or file.name == SITE]
    return sorted(ours, key=lambda file: file.lstat().st_mtime_ns)
""",
            ),
        ),
    ),
    Bug(
        "stations",
        "errors end the run",
        "stations-size-of-what-is-gone",
        "One link that leads nowhere, or one file that goes away, and nothing at all is planned.",
        (
            (
                "        size_bytes=sum(file.stat().st_size for file in inputs if file.exists()),\n",
                "        size_bytes=sum(file.stat().st_size for file in inputs),\n",
            ),
        ),
    ),
    Bug(
        "stations",
        "errors end the run",
        "stations-site-of-another-type",
        "Where station.json is a list or a number, TypeError takes the station's readings.",
        (
            (
                "(OSError, ValueError, KeyError, TypeError, RecursionError)",
                "(OSError, ValueError, KeyError, RecursionError)",
            ),
        ),
    ),
    Bug(
        "stations",
        "origin",
        "stations-note-of-the-directory",
        "The note on a broken station.json names the directory: nobody sees which file to mend.",
        (
            (
                '{error!r}", origin=printable(str(path)))',
                '{error!r}", origin=printable(partition.origin))',
            ),
        ),
    ),
    Bug(
        "stations",
        "silent loss",
        "stations-blank-header-is-empty",
        "A file whose first line is empty passes for an empty file: its readings are lost.",
        (
            (
                "            if path.stat().st_size == 0:\n",
                "            if not any(names):\n",
            ),
        ),
    ),
    Bug(
        "stations",
        "detection",
        "stations-detects-by-reading-all",
        "detect reads the whole of each CSV file, of any size, to look at its first line.",
        (
            (
                "        if set(COLUMNS) <= set(column_names(header_line(path))):\n",
                """\
        lines = path.read_text(errors="replace").splitlines() or [""]
        if set(COLUMNS) <= set(lines[0].split(",")):
""",
            ),
        ),
    ),
    Bug(
        "stations",
        "surroundings",
        "stations-sets-the-environment",
        "plan sets a variable of the environment, for the program and all that it begins.",
        (
            ("import json\n", "import json\nimport os\n"),
            (
                '        """A partition for each directory with CSV files."""\n',
                """\
        \"\"\"A partition for each directory with CSV files.\"\"\"
        os.environ["POLARS_MAX_THREADS"] = "1"
""",
            ),
        ),
    ),
    Bug(
        "nested",
        "unknown is zero",
        "nested-zero-is-unknown",
        "A step that took no time has an unknown duration: a zero is taken for nothing.",
        (
            (
                "duration_s=None if seconds is None else float(seconds)",
                "duration_s=float(seconds) if seconds else None",
            ),
        ),
    ),
    Bug(
        "nested",
        "JSON types",
        "nested-true-is-one",
        "true and false pass for the numbers 1 and 0: a rank that nobody wrote.",
        (
            (
                "    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63)",
                "    if not isinstance(value, int) or not -(2**63)",
            ),
            ("    return value\n\n\ndef text(", "    return int(value)\n\n\ndef text("),
        ),
    ),
    Bug(
        "nested",
        "numbers",
        "nested-cuts-fractions",
        "A fraction where a whole number belongs is cut: 2.5 cells are 2, and nobody is told.",
        (
            (
                "    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63)",
                "    if isinstance(value, float) and abs(value) < 2**63:\n"
                "        value = int(value)\n"
                "    if isinstance(value, bool) or not isinstance(value, int) or not -(2**63)",
            ),
        ),
    ),
    Bug(
        "nested",
        "one bad value takes more",
        "nested-parts-of-any-type",
        "Parts that are a number end the document, and all steps after it are lost.",
        (
            (
                """\
    if not isinstance(each.get("parts", []), list):
        raise TypeError("its parts are no list")
""",
                "",
            ),
        ),
    ),
    Bug(
        "nested",
        "silent loss",
        "nested-extra-of-scalars",
        "A member that is unknown and an object or a list is in no column, and not in extra.",
        (
            (
                "for k, v in each.items() if k not in known} or None",
                "for k, v in each.items() if k not in known and not isinstance(v, dict | list)} or None",
            ),
        ),
    ),
    Bug(
        "nested",
        "surroundings",
        "nested-lifts-the-limit-of-digits",
        "For the sake of long numbers a limit of the interpreter is lifted, for the whole program.",
        (
            ("import json\n", "import json\nimport sys\n"),
            (
                "        document = json.loads(data",
                "        sys.set_int_max_str_digits(0)\n        document = json.loads(data",
            ),
        ),
    ),
    Bug(
        "nested",
        "surroundings",
        "nested-collects-no-garbage",
        "The collector of garbage is off while a document is parsed, and stays off where it is broken.",
        (
            ("import gzip\n", "import gc\nimport gzip\n"),
            (
                '        document = json.loads(data.decode("utf-8"))\n',
                """\
        gc.disable()
        document = json.loads(data.decode("utf-8"))
        gc.enable()
""",
            ),
        ),
    ),
    Bug(
        "nested",
        "surroundings",
        "nested-alarm-while-parsing",
        "An alarm ends parsing that takes long: signals belong to the program, and to one thread of it.",
        (
            ("import json\n", "import json\nimport signal\n"),
            (
                '        document = json.loads(data.decode("utf-8"))\n',
                """\
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.alarm(60)
        try:
            document = json.loads(data.decode("utf-8"))
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)
""",
            ),
        ),
    ),
    Bug(
        "nested",
        "order",
        "nested-first-member-is-the-run",
        "The run is taken from the first member: JSON has no order, and another writer has another.",
        (
            (
                'run, steps = document["simulation"], document["steps"]',
                'run, steps = str(next(iter(document.values()))), document["steps"]',
            ),
        ),
    ),
    Bug(
        "tree",
        "surroundings",
        "tree-depth-of-the-environment",
        "A variable of the environment goes before the setting: the same command finds other cards.",
        (
            (
                "        if level < self.config.depth:\n",
                '        if level < int(os.environ.get("CARDS_DEPTH", self.config.depth)):\n',
            ),
        ),
    ),
    Bug(
        "tree",
        "paths",
        "tree-id-from-the-working-directory",
        "The id is the path from where the program was begun: from elsewhere all is read again.",
        (("id=str(path.relative_to(top))", "id=os.path.relpath(path)"),),
    ),
    Bug(
        "tree",
        "hangs",
        "tree-reads-pipes",
        "Whatever is no directory passes for a card: a named pipe among them stops the run for ever.",
        (
            (
                'elif path.suffix == ".job" and (path.is_file() or path.is_symlink()):',
                'elif path.suffix == ".job":',
            ),
        ),
    ),
    Bug(
        "tree",
        "paths",
        "tree-globs-the-location",
        "The path is part of a pattern: below a directory with brackets in its name nothing is found.",
        (
            ("import os\n", "import glob\nimport os\n"),
            (
                """\
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
""",
                """\
        found = glob.glob(f"{folder}/*", include_hidden=True)
        if not found:
            os.listdir(folder)
        names = sorted(os.path.basename(path) for path in found)
""",
            ),
        ),
    ),
    Bug(
        "tree",
        "names",
        "tree-lists-by-a-command",
        "Another program lists the directory, a name a line: names with a line break are lost.",
        (
            ("import os\n", "import os\nimport subprocess\n"),
            (
                """\
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries)
""",
                """\
        listed = subprocess.run(["ls", "-A", folder], capture_output=True, check=True).stdout
        names = sorted(os.fsdecode(name) for name in listed.split(b"\\n") if name)
""",
            ),
        ),
    ),
    Bug(
        "tree",
        "detection",
        "tree-detects-directories",
        "detect opens whatever ends in .job: at a directory of such a name looking for inputs fails.",
        (('if not path.is_file() or path.suffix != ".job":', 'if path.suffix != ".job":'),),
    ),
    Bug(
        "tree",
        "identity",
        "tree-single-card-by-its-whole-path",
        "Where the location is a card, its id is the path from the root: elsewhere it is another.",
        (("yield file_partition(top, id=top.name)", "yield file_partition(top, id=str(top))"),),
    ),
    Bug(
        "tree",
        "silent loss",
        "tree-passes-over-empty-cards",
        "A card without a byte, as a full disk leaves it, is not planned: no row and no reject.",
        (
            (
                "(path.is_file() or path.is_symlink()):",
                "(path.is_symlink() or (path.is_file() and path.stat().st_size)):",
            ),
        ),
        "Whether a file without a byte is an input is the format's to say.",
    ),
    Bug(
        "nested",
        "silent loss",
        "nested-first-thousand",
        "Of a run that has more than a thousand steps, the others are passed over.",
        (("        for each in steps:\n", "        for each in steps[:1000]:\n"),),
    ),
)
