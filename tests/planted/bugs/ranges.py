"""Bugs of a source that reads byte ranges of CSV files."""

from __future__ import annotations

from typing import Final

from ..planting import Bug

RANGED: Final = "            yield from self._ranges(whole)\n\n    def _ranges"
SIZE: Final = "size_bytes = int(size) if size else None"
TIME: Final = "time=EPOCH + timedelta(microseconds=int(Decimal(time) * 1_000_000)),"
FILTER: Final = "if flow.size_bytes is not None and flow.size_bytes < self.config.least_bytes:"

RANGES: Final = (
    Bug(
        "ranges",
        "ranges",
        "boundary-read-twice",
        "A line that begins where a range ends is read by both: rows are doubled.",
        (("file.tell() < partition.stop:", "file.tell() <= partition.stop:"),),
    ),
    Bug(
        "ranges",
        "ranges",
        "ranges-not-at-lines",
        "Ranges are cut wherever they end, and lines with them.",
        (("            file.readline()\n            if starts", "            if starts"),),
    ),
    Bug(
        "ranges",
        "position",
        "positions-restart",
        "Lines are numbered anew in each range.",
        (('partition.options.get("before", 1)', "1 if not partition.start else 0"),),
    ),
    Bug(
        "ranges",
        "position",
        "counts-beyond-range",
        "The lines before a range are counted by whole blocks, beyond its beginning.",
        (("file.read(min(1 << 20, stop - start))", "file.read(1 << 20)"),),
    ),
    Bug(
        "ranges",
        "identity",
        "id-of-the-moment",
        "A partition's id holds the time of the plan: each run reads everything, and rows double.",
        (
            ('id=f"{whole.id}@{start}"', 'id=f"{whole.id}@{start}-{datetime.now(UTC):%f}"'),
            (
                "            yield whole\n            return",
                '            yield attrs.evolve(whole, id=f"{whole.id}-{datetime.now(UTC):%f}")\n            return',
            ),
        ),
    ),
    Bug(
        "ranges",
        "identity",
        "fingerprint-constant",
        "The fingerprint never changes, so that an edited file is never read again.",
        (
            (
                "            yield whole\n            return",
                '            yield attrs.evolve(whole, fingerprint="1")\n            return',
            ),
        ),
    ),
    Bug(
        "ranges",
        "identity",
        "no-inputs",
        "A partition names no inputs: it is read again in every run, and edits are not seen to be any.",
        (
            (
                "            yield whole\n            return",
                "            yield attrs.evolve(whole, inputs=())\n            return",
            ),
        ),
    ),
    Bug(
        "ranges",
        "plan_files",
        "whole-files-when-asked",
        "plan_files gives whole files where plan gives ranges: rows are in the dataset twice.",
        ((RANGED, "            yield whole\n\n    def _ranges"),),
    ),
    Bug(
        "ranges",
        "plan_files",
        "files-from-below",
        "plan_files takes files of deeper directories, which plan does not read.",
        (
            (
                "for whole in file_partitions(self.location, files):",
                "for whole in (harvest.file_partition(file, id=file.name) for file in files):",
            ),
        ),
    ),
    Bug(
        "ranges",
        "settings",
        "setting-in-one-path",
        "partition_bytes counts in plan alone, and not where a watch asks for some files.",
        (
            (RANGED, "            yield from self._ranges(whole, 1 << 27)\n\n    def _ranges"),
            (
                "def _ranges(self, whole: Partition)",
                "def _ranges(self, whole: Partition, step=None)",
            ),
            ("step = self.config.partition_bytes", "step = step or self.config.partition_bytes"),
        ),
    ),
    Bug(
        "ranges",
        "settings",
        "filtered-uncounted",
        "Flows that a setting leaves out are not counted: a run with that setting fails.",
        (('                    ctx.filtered(1, "fewer bytes")\n', ""),),
    ),
    Bug(
        "ranges",
        "settings",
        "unknown-filtered-out",
        "Flows whose size is not known are left out as if it were 0.",
        ((FILTER, "if (flow.size_bytes or 0) < self.config.least_bytes:"),),
        "what a setting means is written for people; the account names all that it left out",
    ),
    Bug(
        "ranges",
        "extra",
        "extra-lower-cased",
        "Names of columns that nobody knows are lower-cased in 'extra'.",
        (
            (
                "extra=row or None",
                "extra={name.lower(): text for name, text in row.items()} or None",
            ),
        ),
    ),
    Bug(
        "ranges",
        "extra",
        "extra-without-empty",
        "Columns that nobody knows are left out of 'extra' where they are empty.",
        (
            (
                "extra=row or None",
                "extra={name: text for name, text in row.items() if text} or None",
            ),
        ),
        "whether an empty text is a value is the format's to say",
    ),
    Bug(
        "ranges",
        "extra",
        "extra-lost",
        "Columns that nobody knows are dropped without a word.",
        (("        extra=row or None,\n", ""),),
    ),
    Bug(
        "ranges",
        "damage taken for data",
        "cut-line-taken",
        "A last line that is still being written is taken for a row.",
        (
            (
                '    if not raw.endswith(b"\\n"):\n        raise ValueError("the file ends within the line")\n',
                "",
            ),
        ),
        "in other formats a last line needs no newline",
    ),
    Bug(
        "ranges",
        "quotes",
        "quotes-ignored",
        "Lines are split at each comma, also within quotes: such rows are rejects.",
        (("next(csv.reader([text], strict=True), [])\n    if len", 'text.split(",")\n    if len'),),
        "that quotes mean something, the format says; rows that the author declares show it",
    ),
    Bug(
        "ranges",
        "one bad value takes more",
        "line-fails-file",
        "One damaged line ends the reading of its file with one reject.",
        (
            (
                'ctx.reject(raw, f"no flow: {error}", position=number)\n                    continue',
                'raise SourceError(f"no flow: {error}", where=partition.origin) from error',
            ),
        ),
    ),
    Bug(
        "ranges",
        "errors end the run",
        "foreign-file-ends-the-run",
        "A file with other columns ends the user's run with a KeyError.",
        (("    if not set(COLUMNS) <= set(names) or len", "    if len"),),
    ),
    Bug(
        "ranges",
        "errors swallowed",
        "foreign-file-is-empty",
        "A file with other columns counts as empty, and nobody hears of it.",
        (
            (
                "            header = columns_of(first, partition.origin)\n",
                "            try:\n                header = columns_of(first, partition.origin)\n"
                "            except SourceError:\n                return\n",
            ),
        ),
    ),
    Bug(
        "ranges",
        "memory",
        "range-at-once",
        "A range is read into memory before its first row is given.",
        (
            (
                "                raw = file.readline()\n",
                "                raw = pending.pop(0) if pending else file.readline()\n",
            ),
            (
                "            while partition.stop",
                "            rows = file.readlines() if partition.stop is None else []\n            pending = rows\n            while partition.stop",
            ),
        ),
    ),
    Bug(
        "ranges",
        "progress",
        "size-of-file-for-each-range",
        "Each range says that it is as large as the file: progress and shares of work are wrong.",
        ((", stop=stop, size_bytes=stop - start", ", stop=stop"),),
    ),
)
