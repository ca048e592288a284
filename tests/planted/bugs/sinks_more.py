"""More bugs of sinks: nulls within values, names, paths, writers side by side, what stays open."""

from __future__ import annotations

from typing import Final

from ..planting import Bug

SINKS_MORE: Final = [
    Bug(
        "csvsink",
        "nulls",
        "csvsink-nulls-in-lists-are-lost",
        "Nulls in a list are left out: it comes back shorter, and places are others.",
        (
            (
                "[simple(each, kind.value_type) for each in value]",
                "[simple(each, kind.value_type) for each in value if each is not None]",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "nulls",
        "csvsink-a-struct-of-nulls-is-null",
        "A struct that is there, and of which nothing is known, comes back as null.",
        (
            (
                "        return {f.name: simple(value[f.name], f.type) for f in kind}\n",
                "        fields = {f.name: simple(value[f.name], f.type) for f in kind}\n"
                "        return fields if any(v is not None for v in fields.values()) else None\n",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "memory",
        "csvsink-rows-until-it-closes",
        "Rows are kept until the file is closed: a large partition does not fit into memory.",
        (
            (
                "        self.rows: dict[str, int] = {}\n",
                "        self.rows: dict[str, int] = {}\n"
                "        self.kept: dict[str, list[Any]] = {}\n",
            ),
            (
                "            lines.writerows(zip(*columns, strict=True))\n",
                "            self.kept.setdefault(name, []).extend(zip(*columns, strict=True))\n",
            ),
            ("        lines = csv.writer(self.open[name])\n", ""),
            (
                '        """Finish all files."""\n',
                '        """Finish all files."""\n'
                "        for name, rows in self.kept.items():\n"
                "            csv.writer(self.open[name]).writerows(rows)\n",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "texts changed",
        "csvsink-one-form-of-letters",
        "Texts are brought to one form of Unicode: two names that differ in it become one.",
        (
            ("import math\n", "import math\nimport unicodedata\n"),
            (
                "    return value\n\n\ndef understood",
                '    return unicodedata.normalize("NFC", value) if isinstance(value, str) else value'
                "\n\n\ndef understood",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "state kept",
        "csvsink-writers-share-files",
        "Open files are those of the class: of two writers at a time one writes into the other's.",
        (
            (
                '    """Writes the rows of one partition."""\n',
                '    """Writes the rows of one partition."""\n\n'
                "    open: dict[str, IO[str]] = {}\n"
                "    rows: dict[str, int] = {}\n",
            ),
            (
                "        self.open: dict[str, IO[str]] = {}\n        self.rows: dict[str, int] = {}\n",
                "",
            ),
            (
                '        """Finish all files."""\n'
                "        for file in self.open.values():\n"
                "            file.close()\n"
                "        return [(self.sink.place(n, self.part), n, rows) "
                "for n, rows in self.rows.items()]\n",
                '        """Finish all files."""\n'
                "        for file in self.open.values():\n"
                "            file.close()\n"
                "        done = [(self.sink.place(n, self.part), n, rows) "
                "for n, rows in self.rows.items()]\n"
                "        self.open.clear()\n"
                "        self.rows.clear()\n"
                "        return done\n",
            ),
            (
                '        """Let go of open files."""\n'
                "        for file in self.open.values():\n"
                "            file.close()\n",
                '        """Let go of open files."""\n'
                "        for file in self.open.values():\n"
                "            file.close()\n"
                "        self.open.clear()\n"
                "        self.rows.clear()\n",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "left behind",
        "csvsink-abort-lets-files-open",
        "A writer that is given up keeps its files open: after many bad inputs no file can be.",
        (
            (
                '        """Let go of open files."""\n'
                "        for file in self.open.values():\n"
                "            file.close()\n",
                '        """Let go of open files."""\n        KEPT.extend(self.open.values())\n',
            ),
            ("EPOCH = ", "KEPT: list[IO[str]] = []\nEPOCH = "),
        ),
    ),
    Bug(
        "sqlitesink",
        "columns",
        "sqlitesink-names-without-quotes",
        "Names of columns stand in SQL as they are: one that is called order or group ends the run.",
        (
            (
                "    return '\"' + name.replace('\"', '\"\"') + '\"'\n",
                "    return name\n",
            ),
        ),
    ),
    Bug(
        "sqlitesink",
        "paths",
        "sqlitesink-addresses-by-hand",
        "The address of a database is its path as it is: below a folder with % or ? none is found.",
        (('f"{path.as_uri()}?mode=ro"', 'f"file:{path}?mode=ro"'),),
    ),
    Bug(
        "sqlitesink",
        "left behind",
        "sqlitesink-opens-to-write",
        "Databases are opened as if to be written: where one is missing, reading makes an empty one.",
        (('sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)', "sqlite3.connect(path)"),),
    ),
    Bug(
        "sqlitesink",
        "errors changed",
        "sqlitesink-errors-of-its-own",
        "A full disk is an error of SQLite, which nobody above knows: a traceback ends the run.",
        (
            (
                "        with told_as_errors_of_the_disk():\n"
                "            self._append(record_type, table)\n",
                "        self._append(record_type, table)\n",
            ),
        ),
    ),
]
