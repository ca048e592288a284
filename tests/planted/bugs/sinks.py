"""Bugs of sinks."""

from __future__ import annotations

from typing import Final

from ..planting import Bug

CSV_COUNT: Final = "            self.rows[name] += batch.num_rows\n"
INSERTED: Final = "self.rows[name] = self.rows.get(name, 0) + done.rowcount"
READ_SQL: Final = '"SELECT * FROM rows ORDER BY rowid"'

SINKS: Final = (
    Bug(
        "csvsink",
        "rows lost",
        "beyond-fifty-thousand",
        "Of a table only the first 50,000 rows are written.",
        (
            (
                "for batch in table.to_batches():",
                "for batch in table.slice(0, 50_000).to_batches():",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "counts",
        "counts-what-was-given",
        "The rows that it says it wrote are those that it was given: what is lost is never seen.",
        (
            (CSV_COUNT, ""),
            (
                "        lines = csv.writer(self.open[name])\n",
                "        self.rows[name] += table.num_rows\n        lines = csv.writer(self.open[name])\n",
            ),
            (
                "for batch in table.to_batches():",
                "for batch in table.slice(0, 60_000).to_batches():",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "columns",
        "columns-lower-cased",
        "Names of columns are lower-cased: other tools do not find them.",
        (
            ("writerow(table.column_names)", "writerow([n.lower() for n in table.column_names])"),
            (
                "        if name in schema.names:\n            kind = schema.field(name).type\n            cells",
                "        name = next((n for n in schema.names if n.lower() == name), name)\n        if name in schema.names:\n            kind = schema.field(name).type\n            cells",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "columns",
        "columns-by-place",
        "Columns are read by their place: with another order, values are in the wrong column.",
        (
            (
                "    for place, name in enumerate(names):",
                "    for place, name in enumerate(schema.names[: len(names)]):",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "nulls",
        "empty-is-null",
        "An empty text comes back as null.",
        (
            (
                "    if value is None:\n        return None\n    if pa.types.is_timestamp(kind):\n        return (value",
                '    if value is None or value == "":\n        return None\n    if pa.types.is_timestamp(kind):\n        return (value',
            ),
        ),
    ),
    Bug(
        "csvsink",
        "numbers",
        "nan-is-null",
        "NaN and infinity come back as null.",
        (("else repr(value)", "else None"),),
    ),
    Bug(
        "csvsink",
        "numbers",
        "floats-of-six-digits",
        "Floats are written with six digits.",
        (
            (
                "return value if math.isfinite(value)",
                'return float(f"{value:.6g}") if math.isfinite(value)',
            ),
        ),
    ),
    Bug(
        "csvsink",
        "times",
        "times-by-float",
        "Times go through a float of seconds, and microseconds are lost.",
        (
            (
                "return (value - EPOCH) // timedelta(microseconds=1)",
                "return int((value - EPOCH).total_seconds()) * 1_000_000",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "times",
        "no-times-before-1970",
        "A time before 1970 comes back as 1970.",
        (
            (
                "return EPOCH + timedelta(microseconds=value)",
                "return EPOCH + timedelta(microseconds=max(value, 0))",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "types",
        "maps-lose-repeats",
        "A map is written as an object: of keys that are there twice one is lost, and order may be.",
        (
            (
                "return [[simple(k, kind.key_type), simple(v, kind.item_type)] for k, v in value]",
                "return [list(p) for p in {simple(k, kind.key_type): simple(v, kind.item_type) for k, v in value}.items()]",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "rights",
        "written-by-anybody",
        "Files are given mode 0777: everybody may change the dataset.",
        (
            (
                "        for file in self.open.values():\n            file.close()\n        return",
                "        for file in self.open.values():\n            Path(file.name).chmod(0o777)\n            file.close()\n        return",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "left behind",
        "copy-in-tmp",
        "Each file is written to the machine's own temporary directory, too, and stays there.",
        (
            ("import math\n", "import math\nimport tempfile\n"),
            (
                "            path.parent.mkdir(parents=True)\n",
                "            tempfile.mkstemp()\n            path.parent.mkdir(parents=True)\n",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "texts changed",
        "surrounding-blanks",
        "Blanks at the ends of texts are lost.",
        (
            (
                "    return value\n\n\ndef understood",
                "    return value.strip() if isinstance(value, str) else value\n\n\ndef understood",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "commits",
        "parts-of-the-same-name",
        "Files are called by the first 20 letters of the part's name, which two parts may share.",
        (
            (
                "        self.sink, self.staging, self.part = sink, staging, part\n",
                "        self.sink, self.staging, self.part = sink, staging, part[:20]\n",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "commits",
        "finish-removes-all-others",
        "finish removes each file that this commit did not write: earlier rows are gone.",
        (
            (
                "    def scan(self",
                "    def finish(self, publication):\n        super().finish(publication)\n"
                "        new = publication.parts.pick(publication.staged)\n"
                "        named = {f.path for files in new.values() for f in files}\n"
                '        for path in self.root.glob("*/*.csv"):\n'
                "            if str(path.relative_to(self.root)) not in named:\n                path.unlink()\n\n    def scan(self",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "commits",
        "finish-removes-nothing",
        "finish leaves replaced files beside the new ones: other readers see rows twice.",
        (
            (
                "    def scan(self",
                "    def finish(self, publication):\n        pass\n\n    def scan(self",
            ),
        ),
    ),
    Bug(
        "csvsink",
        "errors swallowed",
        "full-disk-is-nothing",
        "An error while writing is passed over, and rows are missing.",
        (
            (
                "            lines.writerows(zip(*columns, strict=True))\n",
                "            try:\n                lines.writerows(zip(*columns, strict=True))\n            except OSError:\n                pass\n",
            ),
        ),
    ),
    Bug(
        "sqlitesink",
        "order",
        "rows-in-any-order",
        "Rows come back sorted by the first column, and not as they were written.",
        ((READ_SQL, '"SELECT * FROM rows ORDER BY 1"'),),
    ),
    Bug(
        "sqlitesink",
        "rows lost",
        "repeats-are-one",
        "Rows that are equal are stored once.",
        ((READ_SQL, '"SELECT DISTINCT * FROM rows ORDER BY rowid"'),),
    ),
    Bug(
        "sqlitesink",
        "types",
        "large-numbers-overflow",
        "Whole numbers beyond 2^63, which a column of uint64 has, end the run.",
        (
            (
                "(pa.types.is_integer(kind) and not pa.types.is_uint64(kind))",
                "pa.types.is_integer(kind)",
            ),
        ),
    ),
    Bug(
        "sqlitesink",
        "types",
        "true-is-one",
        "Truth values are written as texts: other tools take 'False' for true.",
        (
            (
                "        return column.to_pylist()\n    values",
                "        return [str(v) if isinstance(v, bool) else v for v in column.to_pylist()]\n    values",
            ),
            (
                "[None if v is None else bool(v) for v in values]",
                '[None if v is None else v == "True" for v in values]',
            ),
        ),
        "how a format writes true is its own; the kit can read names and texts natively, no more",
    ),
    Bug(
        "sqlitesink",
        "durability",
        "uncommitted",
        "The last rows are not committed when the file is closed.",
        (
            (
                "            for database in self.open.values():\n                database.commit()\n",
                "            for database in self.open.values():\n",
            ),
            ("        database.commit()\n\n    def close", "\n    def close"),
        ),
    ),
    Bug(
        "sqlitesink",
        "left behind",
        "connections-left-open",
        "Databases are never closed: a large run ends with 'too many open files'.",
        (
            (
                "                database.commit()\n                database.close()\n",
                "                database.commit()\n                KEPT.append(database)\n",
            ),
            ("class SqliteSink(", "KEPT = []\n\n\nclass SqliteSink("),
        ),
    ),
)
