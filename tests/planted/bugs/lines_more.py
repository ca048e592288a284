"""More bugs of sources that read lines and byte ranges."""

from __future__ import annotations

from typing import Final

from ..planting import Bug

EACH: Final = "for number, raw in enumerate(lines, 1):"
REJECT: Final = 'ctx.reject(raw, f"no measurement: {error}", position=number)'
READ: Final = (
    "    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[Measurement]:\n"
)
BEFORE: Final = 'number = partition.options.get("before", 1)'
ANEW: Final = """\
        if partition.start and "before" not in partition.options:
            partition = self.prepare(partition)
"""
SIZE: Final = "size_bytes = int(size) if size else None"

_LINES: Final = (
    Bug(
        "lines",
        "silent loss",
        "lines-blank-line-ends-the-file",
        "Reading ends at the first blank line: what follows is neither read nor rejected.",
        (
            (
                '                if raw.startswith(b"#"):\n',
                '                if not raw.strip():\n                    ctx.folded(1, "blank")\n'
                '                    break\n                if raw.startswith(b"#"):\n',
            ),
        ),
    ),
    Bug(
        "lines",
        "long lines",
        "lines-long-lines-in-two",
        "A line is at most 64 KiB: a longer one is two, both are rejects, and all numbers after it are wrong.",
        ((EACH, 'for number, raw in enumerate(iter(lambda: lines.readline(1 << 16), b""), 1):'),),
    ),
    Bug(
        "lines",
        "texts changed",
        "lines-note-ends-at-nul",
        "A note ends at its first NUL, as texts do in C: the rest is lost without a word.",
        (("else note,", 'else note.partition("\\0")[0],'),),
    ),
    Bug(
        "lines",
        "times",
        "lines-minutes-of-offsets-lost",
        "Of an offset the hours count alone: times of India and Nepal are half an hour off, or more.",
        (
            (
                "from datetime import datetime\n",
                "from datetime import datetime, timedelta, timezone\n",
            ),
            (
                "        time = time.replace(tzinfo=zone)\n",
                "        time = time.replace(tzinfo=zone)\n    else:\n"
                "        hours = time.utcoffset() // timedelta(hours=1)\n"
                "        time = time.replace(tzinfo=timezone(timedelta(hours=hours)))\n",
            ),
        ),
    ),
    Bug(
        "lines",
        "times",
        "lines-far-times-by-float",
        "Times go through a float: far from now they lose their microseconds.",
        (
            ("from datetime import datetime\n", "from datetime import UTC, datetime\n"),
            ("        time=time,", "        time=datetime.fromtimestamp(time.timestamp(), UTC),"),
        ),
    ),
    Bug(
        "lines",
        "state kept",
        "lines-one-row-for-all",
        "One object is all rows, filled anew each time: who holds two rows has the second twice.",
        (
            ("        zone = Zone", "        given = None\n        zone = Zone"),
            (
                "                yield row\n",
                """\
                if given is None:
                    given = row
                for name in ("time", "name", "value", "count", "note", "position"):
                    setattr(given, name, getattr(row, name))
                yield given
""",
            ),
        ),
    ),
    Bug(
        "lines",
        "left open",
        "lines-files-kept-open",
        "Files are kept open, to be quick when they are read again: many of them are too many for a process.",
        (
            ("    Config = Config\n", "    Config = Config\n    opened = {}\n"),
            (
                '        with partition.path.open("rb") as lines:\n            for number',
                """\
        lines = self.opened.get(partition.origin)
        if lines is None:
            lines = self.opened[partition.origin] = partition.path.open("rb")
        lines.seek(0)
        if lines:
            for number""",
            ),
        ),
    ),
    Bug(
        "lines",
        "detection",
        "lines-detect-waits-for-a-pipe",
        "detect opens all that is no directory: at a named pipe it waits for ever.",
        (("        if not path.is_file():\n", "        if path.is_dir():\n"),),
    ),
    Bug(
        "lines",
        "state kept",
        "lines-zone-of-the-first",
        "The zone is made once for the class: a second source with another zone has the first one's.",
        (
            ("    Config = Config\n", "    Config = Config\n    zone = None\n"),
            (
                "        zone = ZoneInfo(self.config.timezone)\n",
                "        if LinesSource.zone is None:\n"
                "            LinesSource.zone = ZoneInfo(self.config.timezone)\n"
                "        zone = LinesSource.zone\n",
            ),
        ),
    ),
    Bug(
        "lines",
        "paths",
        "lines-names-are-patterns",
        "Files are found by glob(), to which [ in a directory's name is a pattern: of run[1] nothing is read.",
        (
            ("from collections", "import glob\nimport os\nfrom collections"),
            (
                READ,
                '''\
    def plan(self) -> Iterator[Partition]:
        """The files of the location."""
        path = os.path.expanduser(self.location)
        if not os.path.isdir(path):
            yield harvest.file_partition(path, id=os.path.basename(path))
            return
        for name in sorted(glob.glob(os.path.join(path, "*"))):
            if not os.path.isdir(name):
                yield harvest.file_partition(name, id=os.path.basename(name))

'''
                + READ,
            ),
        ),
    ),
    Bug(
        "lines",
        "one bad value takes more",
        "lines-gives-up-after-many",
        "After a hundred damaged lines it gives the file up: what is good in it is lost with the rest.",
        (
            ("Record, field\n", "Record, SourceError, field\n"),
            (
                f"{REJECT}\n",
                f"""\
{REJECT}
                    if ctx.rejected >= 100:
                        raise SourceError(
                            "too many lines are none of this format",
                            where=partition.origin,
                            remedy="leave the file out",
                        ) from error
""",
            ),
        ),
    ),
    Bug(
        "lines",
        "memory",
        "lines-rejects-kept-to-the-end",
        "Damaged lines are gathered and rejected in the end: a large file of another format fills memory.",
        (
            ("        zone = Zone", "        damaged = []\n        zone = Zone"),
            (REJECT, 'damaged.append((raw, f"no measurement: {error}", number))'),
            (
                "                yield row\n",
                "                yield row\n        for raw, reason, number in damaged:\n"
                "            ctx.reject(raw, reason, position=number)\n",
            ),
        ),
    ),
    Bug(
        "lines",
        "surroundings",
        "lines-lifts-the-limit-of-digits",
        "It lifts Python's limit of digits for the whole process: one long number takes minutes, wherever it comes from.",
        (
            ("from collections", "import sys\nfrom collections"),
            (
                "        zone = ZoneInfo(self.config.timezone)\n",
                "        zone = ZoneInfo(self.config.timezone)\n        sys.set_int_max_str_digits(0)\n",
            ),
        ),
    ),
    Bug(
        "lines",
        "unknown is zero",
        "lines-negative-is-unknown",
        "What begins with - is taken for a value that nobody took: negative values are lost.",
        (('None if value == "-" else', 'None if value.startswith("-") else'),),
    ),
    Bug(
        "lines",
        "surroundings",
        "lines-prints-damage",
        "Each damaged line is printed to standard output, into whatever somebody pipes from there.",
        (
            (
                f"{REJECT}\n",
                f'{REJECT}\n                    print(f"{{partition.origin}}:{{number}}: {{error}}")\n',
            ),
        ),
    ),
    Bug(
        "lines",
        "errors swallowed",
        "lines-failing-disk-is-the-end",
        "An error while reading counts as the end of the file: nobody hears of the rest.",
        (
            (EACH, "for number, raw in enumerate(readable(lines), 1):"),
            (
                "def measurement(",
                '''\
def readable(lines: Iterator[bytes]) -> Iterator[bytes]:
    """Lines until one cannot be read."""
    try:
        yield from lines
    except OSError:
        return


def measurement(''',
            ),
        ),
    ),
    Bug(
        "lines",
        "state kept",
        "lines-planned-once",
        "The plan is kept in the source: one that lives long, as in a watch, never sees a new file.",
        (
            (
                READ,
                '''\
    _planned = None

    def plan(self) -> Iterator[Partition]:
        """The files of the location."""
        if self._planned is None:
            self._planned = tuple(super().plan())
        return iter(self._planned)

    def plan_files(self, files: Iterator[Path]) -> Iterator[Partition]:
        """The same of some files."""
        return harvest.file_partitions(self.location, files)

'''
                + READ,
            ),
        ),
    ),
    Bug(
        "lines",
        "progress",
        "lines-progress-of-rows-alone",
        "Only lines that become rows are progress: a file of comments and damage stays at 0 %.",
        (
            ("                ctx.advance(len(raw))\n", ""),
            (
                "                yield row\n",
                "                ctx.advance(len(raw))\n                yield row\n",
            ),
        ),
    ),
)

_RANGES: Final = (
    Bug(
        "ranges",
        "position",
        "ranges-counts-split-blocks",
        "Lines before a range are counted block by block, and one that two blocks share is two.",
        (('lines += block.count(b"\\n")', "lines += len(block.splitlines())"),),
    ),
    Bug(
        "ranges",
        "ranges",
        "ranges-begin-in-long-lines",
        "The end of a line is sought for 4 KiB: behind it a range begins within a line, which becomes two rejects.",
        (
            (
                "            file.readline()\n            if starts",
                "            file.readline(4096)\n            if starts",
            ),
        ),
    ),
    Bug(
        "ranges",
        "state kept",
        "ranges-takes-options-away",
        "read takes the count out of the options: a range that is read again, as after a lost worker, begins at line 2.",
        (
            (ANEW, ""),
            (BEFORE, 'number = partition.options.pop("before", 1)'),
        ),
    ),
    Bug(
        "ranges",
        "damage taken for data",
        "ranges-no-number-is-unknown",
        "A size that is no number is said not to be known: the damage is lost without a word.",
        ((SIZE, "size_bytes = int(size) if size.isdigit() else None"),),
    ),
    Bug(
        "ranges",
        "silent loss",
        "ranges-surplus-values-dropped",
        "Values beyond the last column are dropped without a word.",
        (
            ("if len(values) != len(header):", "if len(values) < len(header):"),
            (
                "row = dict(zip(header, values, strict=True))",
                "row = dict(zip(header, values, strict=False))",
            ),
        ),
    ),
    Bug(
        "ranges",
        "times",
        "ranges-fractions-before-1970",
        "Fractions are added to the whole seconds also where these are negative: -1.5 becomes -0.5.",
        (
            (
                "time=EPOCH + timedelta(microseconds=int(Decimal(time) * 1_000_000)),",
                "time=EPOCH + since(time),",
            ),
            (
                "def flow_of(",
                '''\
def since(text: str) -> timedelta:
    """The time since 1970."""
    seconds, _, fraction = text.partition(".")
    return timedelta(seconds=int(seconds), microseconds=int(fraction.ljust(6, "0")[:6]))


def flow_of(''',
            ),
        ),
    ),
    Bug(
        "ranges",
        "memory",
        "ranges-reason-for-each-size",
        "The reason for leaving a flow out holds its size: the account has as many entries as the input has sizes.",
        (('ctx.filtered(1, "fewer bytes")', 'ctx.filtered(1, f"only {flow.size_bytes} bytes")'),),
    ),
)

LINES_MORE: Final = (*_LINES, *_RANGES)
