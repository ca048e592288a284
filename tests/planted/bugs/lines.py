"""Bugs of a source of lines."""

from __future__ import annotations

from typing import Final

from ..planting import Bug

REJECT: Final = 'ctx.reject(raw, f"no measurement: {error}", position=number)'
DECODED: Final = 'raw.decode("utf-8")'
EACH: Final = "for number, raw in enumerate(lines, 1):"

LINES: Final = (
    Bug(
        "lines",
        "account",
        "comment-takes-rows",
        "Rows without a value are counted as comments, and nobody misses them.",
        (('raw.startswith(b"#"):', 'raw.startswith(b"#") or b"\\t-\\t" in raw:'),),
    ),
    Bug(
        "lines",
        "account",
        "comments-uncounted",
        "Comments are neither read nor folded: the account adds up to fewer lines than there are.",
        (
            ("                ctx.read(1)\n", ""),
            ('ctx.folded(1, "comment")\n                    continue', "continue"),
            ("                try:\n", "                ctx.read(1)\n                try:\n"),
        ),
    ),
    Bug(
        "lines",
        "position",
        "from-zero",
        "Lines are numbered from 0, so that every position names the line before.",
        ((EACH, "for number, raw in enumerate(lines):"),),
    ),
    Bug(
        "lines",
        "position",
        "rejects-not-numbered",
        "After a damaged line all positions are one too small: people look at the wrong line.",
        (
            (
                "                yield row\n",
                "                row.position -= ctx.rejected\n                yield row\n",
            ),
        ),
    ),
    Bug(
        "lines",
        "position",
        "reject-without-position",
        "A reject does not say which line it was, and nobody finds it in a large file.",
        ((REJECT, 'ctx.reject(raw, f"no measurement: {error}")'),),
    ),
    Bug(
        "lines",
        "last line",
        "last-line-lost",
        "A last line without a newline is neither read nor rejected.",
        ((EACH, 'for number, raw in enumerate((r for r in lines if r[-1:] == b"\\n"), 1):'),),
    ),
    Bug(
        "lines",
        "reject's text",
        "raw-stripped",
        "The text of a reject has lost the blanks at its ends: replaying it reads another line.",
        ((REJECT, REJECT.replace("raw,", "raw.strip(),")),),
    ),
    Bug(
        "lines",
        "reject's text",
        "raw-cut",
        "Only the first 60 bytes of a reject are kept, and the rest of the line is lost.",
        ((REJECT, REJECT.replace("raw,", "raw[:60],")),),
    ),
    Bug(
        "lines",
        "damage taken for data",
        "bytes-replaced",
        "Bytes that are not UTF-8 become question marks in names, instead of a reject.",
        ((DECODED, 'raw.decode("utf-8", "replace")'),),
    ),
    Bug(
        "lines",
        "texts changed",
        "latin-1",
        "Texts are read as Latin-1: every name with an umlaut is garbled.",
        ((DECODED, 'raw.decode("latin-1")'),),
    ),
    Bug(
        "lines",
        "texts changed",
        "name-lower",
        "Names are lower-cased, so that two things that differ by case become one.",
        (("        name=name,", "        name=name.lower(),"),),
    ),
    Bug(
        "lines",
        "texts changed",
        "note-stripped",
        "Blanks at the ends of a note are lost.",
        (('None if note == "-" else note,', 'None if note == "-" else note.strip(),'),),
    ),
    Bug(
        "lines",
        "texts changed",
        "note-normalised",
        "Notes are normalised to NFC, so that what is searched for byte by byte is not found.",
        (
            ("import attrs\n", "import unicodedata\n\nimport attrs\n"),
            ("else note,", 'else unicodedata.normalize("NFC", note),'),
        ),
    ),
    Bug(
        "lines",
        "numbers",
        "count-by-float",
        "Counts go through a float: those beyond 2^53 are another number.",
        (("else int(count)", "else int(float(count))"),),
    ),
    Bug(
        "lines",
        "numbers",
        "value-rounded",
        "Values are rounded to six digits: small ones become 0.",
        (("else float(value)", "else round(float(value), 6)"),),
    ),
    Bug(
        "lines",
        "numbers",
        "count-unbounded",
        "A count beyond 64 bits is passed on and ends the user's whole run.",
        (
            (
                "if samples is not None and not -(2**63) <= samples < 2**63:",
                "if samples is None and count != '-':",
            ),
        ),
    ),
    Bug(
        "lines",
        "times",
        "microseconds-lost",
        "Times lose their fractions of a second: what happened within one has no order.",
        (("        time=time,", "        time=time.replace(microsecond=0),"),),
    ),
    Bug(
        "lines",
        "times",
        "local-time",
        "Times without a zone are those of the machine that harvests, and not of the declared zone.",
        (("time = time.replace(tzinfo=zone)", "time = time.astimezone()"),),
    ),
    Bug(
        "lines",
        "times",
        "offset-ignored",
        "The offset in a time is ignored: all times of other zones are hours off.",
        (("    if time.tzinfo is None:\n        time = ", "    time = "),),
    ),
    Bug(
        "lines",
        "one bad value takes more",
        "stops-at-damage",
        "Reading ends at the first damaged line; the rest of the file is neither read nor rejected.",
        ((f"{REJECT}\n                    continue", f"{REJECT}\n                    return"),),
    ),
    Bug(
        "lines",
        "settings",
        "name-ignored",
        "The setting 'name' is accepted and changes nothing.",
        (
            (
                "self.config.name is not None and row",
                "self.config.name is None and row.name is None and row",
            ),
        ),
    ),
    Bug(
        "lines",
        "detect",
        "detects-everything",
        "It is sure of every file, so that 'harvest detect' and 'look' give it what is others'.",
        (
            (
                "        return None\n\n    def read",
                '        return Detection(0.5, "a file")\n\n    def read',
            ),
        ),
    ),
    Bug(
        "lines",
        "detect",
        "detect-reads-all",
        "It reads the whole file to look at its beginning: minutes for a directory of large files.",
        (("file.read(9) == b", "file.read()[:9] == b"),),
    ),
    Bug(
        "lines",
        "detect",
        "detect-leaves-open",
        "Each file that it looks at stays open: a large directory ends with 'too many open files'.",
        (
            ("    Config = Config\n", "    Config = Config\n    looked_at = []\n"),
            (
                "        with path.open",
                "        cls.looked_at.append(path.open())\n        with path.open",
            ),
        ),
    ),
    Bug(
        "lines",
        "detect",
        "detect-of-directories",
        "A directory named like a file is opened, and the error ends the user's command.",
        (
            ("        if not path.is_file():\n            return None\n", ""),
            ("        if path.suffix == ", "        if path.is_file() and path.suffix == "),
        ),
    ),
    Bug(
        "lines",
        "memory",
        "all-lines-at-once",
        "The whole file is held in memory: a large one cannot be read.",
        (("enumerate(lines, 1)", "enumerate(lines.readlines(), 1)"),),
    ),
    Bug(
        "lines",
        "state kept",
        "seen-by-all",
        "What was seen in one file is left out of the next, and of a second run in one process.",
        (
            ("    Config = Config\n", "    Config = Config\n    seen = set()\n"),
            (
                "                yield row\n",
                '                if raw in self.seen:\n                    ctx.folded(1, "repeat")\n'
                "                    continue\n                self.seen.add(raw)\n                yield row\n",
            ),
        ),
    ),
    Bug(
        "lines",
        "account",
        "repeats-folded",
        "A line that is there twice is taken for a mistake: two equal measurements become one.",
        (
            ("        zone = Zone", "        seen = set()\n        zone = Zone"),
            (
                "                yield row\n",
                '                if raw in seen:\n                    ctx.folded(1, "repeat")\n'
                "                    continue\n                seen.add(raw)\n                yield row\n",
            ),
        ),
        "some formats do repeat lines, and the account says that it folded them",
    ),
    Bug(
        "lines",
        "order",
        "order-by-hash",
        "Rows come in the order of a hash, which is another one in each process.",
        (
            ("        zone = Zone", "        rows = []\n        zone = Zone"),
            (
                "                yield row\n",
                "                rows.append(row)\n"
                "        yield from sorted(rows, key=lambda row: hash(row.name))\n",
            ),
        ),
    ),
    Bug(
        "lines",
        "errors swallowed",
        "unreadable-is-empty",
        "A file that cannot be opened counts as empty: nobody hears that its rows are missing.",
        (
            (
                '        with partition.path.open("rb") as lines:',
                "        if not os.access(partition.path, os.R_OK):\n            return\n"
                '        with partition.path.open("rb") as lines:',
            ),
            ("import attrs\n", "import os\n\nimport attrs\n"),
        ),
    ),
    Bug(
        "lines",
        "unknown is zero",
        "no-value-is-zero",
        "A value that nobody took is 0: means and sums are wrong.",
        (("value=None if", "value=0.0 if"),),
        "that '-' means no value is known by the format alone",
    ),
    Bug(
        "lines",
        "unknown is zero",
        "empty-note-is-null",
        "A note that is there and empty is said not to be known.",
        (("else note,", "else note or None,"),),
        "whether an empty text is a value is the format's to say",
    ),
    Bug(
        "lines",
        "surroundings",
        "writes-beside-input",
        "It leaves an index beside the input, in a directory that may be somebody else's.",
        (
            (
                '        with partition.path.open("rb") as lines:',
                '        Path(f"{partition.origin}.index").write_text("")\n'
                '        with partition.path.open("rb") as lines:',
            ),
        ),
    ),
    Bug(
        "lines",
        "surroundings",
        "name-of-the-host",
        "The host that harvests stands in the rows: another machine gives others.",
        (
            ('None if note == "-" else note,', "socket.gethostname() if note == '-' else note,"),
            ("import attrs\n", "import socket\n\nimport attrs\n"),
        ),
    ),
    Bug(
        "lines",
        "progress",
        "progress-missing",
        "Nothing is said of the bytes that were read: the time left is never shown.",
        (("                ctx.advance(len(raw))\n", ""),),
    ),
)
