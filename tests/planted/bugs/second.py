"""The second set: bugs planted after the kit was strengthened, by one who had not seen how."""

from __future__ import annotations

from typing import Final

from ..planting import Bug
from .later import LATER

REJECT: Final = 'ctx.reject(raw, f"no measurement: {error}", position=number)'
DECODED: Final = 'raw.decode("utf-8")'
EACH: Final = "for number, raw in enumerate(lines, 1):"

RANGED: Final = "            yield from self._ranges(whole)\n\n    def _ranges"
SIZE: Final = "size_bytes = int(size) if size else None"
TIME: Final = "time=EPOCH + timedelta(microseconds=int(Decimal(time) * 1_000_000)),"
FILTER: Final = "if flow.size_bytes is not None and flow.size_bytes < self.config.least_bytes:"

INPUTS: Final = 'if file.suffix == ".csv" or file.name == SITE]'
REJECTED: Final = "ctx.reject(raw, row["
UNREADABLE: Final = (
    "                ctx.read(1)\n"
    '                ctx.reject(b"", f"cannot be read: {error}", origin=printable(name))\n'
)

PART: Final = 'ctx.reject(packed(part), f"no part: {error!r}", position=number)'
LOADED: Final = "document = load(partition, self.config.max_bytes)"

ENTERED: Final = (
    "        if (status.st_dev, status.st_ino) in entered:\n            return\n"
    "        entered.add((status.st_dev, status.st_ino))\n"
)
IDENTIFIED: Final = (
    "        for path in self._cards(top, 0, set()):\n            found = True\n"
    "            yield file_partition(path, id=str(path.relative_to(top)))\n"
)

SECOND: Final = (
    Bug(
        "lines",
        "account",
        "unknown-filtered",
        "A measurement without a value is left out as filtered, though no setting says so.",
        (
            (
                "                yield row\n",
                '                if row.value is None:\n                    ctx.filtered(1, "no value")'
                "\n                    continue\n                yield row\n",
            ),
        ),
    ),
    Bug(
        "lines",
        "reject's text",
        "raw-replaced",
        "Bytes that are not UTF-8 are replaced in the text of a reject, where they are the evidence.",
        ((REJECT, REJECT.replace("raw,", 'raw.decode("utf-8", "replace"),')),),
    ),
    Bug(
        "lines",
        "texts changed",
        "note-cut",
        "Notes are cut at 255 characters without a word.",
        (("else note,", "else note[:255],"),),
    ),
    Bug(
        "lines",
        "texts changed",
        "splits-at-odd-ends",
        "splitlines() ends a line at U+2028, form feeds and others, too: one line becomes two rejects.",
        (
            (
                "enumerate(lines, 1)",
                'enumerate(lines.read().decode("utf-8", "surrogateescape").splitlines(True), 1)',
            ),
            (
                "                ctx.read(1)\n",
                '                raw = raw.encode("utf-8", "surrogateescape")\n                ctx.read(1)\n',
            ),
        ),
    ),
    Bug(
        "lines",
        "errors end the run",
        "overflow-ends-the-run",
        "A time that an offset moves out of the calendar ends the user's whole run.",
        (
            ("(ValueError, OverflowError)", "ValueError"),
            ("    samples = None", "    time.astimezone(ZoneInfo('UTC'))\n    samples = None"),
        ),
    ),
    Bug(
        "lines",
        "surroundings",
        "sets-the-zone",
        "It sets TZ for the whole process: other plugins of the same run read other times.",
        (
            (
                "        zone = Zone",
                '        os.environ["TZ"] = self.config.timezone\n        zone = Zone',
            ),
            ("import attrs\n", "import os\n\nimport attrs\n"),
        ),
    ),
    Bug(
        "ranges",
        "ranges",
        "first-line-of-range-lost",
        "Each range skips its first line, as if it had a header: rows are missing.",
        (
            (
                "file.seek(partition.start)\n            while",
                "file.seek(partition.start)\n                file.readline()\n            while",
            ),
        ),
    ),
    Bug(
        "ranges",
        "state kept",
        "counted-in-another-file",
        "What was counted in one file is taken for the next file's lines.",
        (
            (
                "if path != partition.origin or place > partition.start:",
                "if place > partition.start:",
            ),
        ),
    ),
    Bug(
        "ranges",
        "identity",
        "fingerprint-of-size",
        "The fingerprint is the size: a value that was corrected in place is never read again.",
        (
            (
                "            yield whole\n            return",
                "            yield attrs.evolve(whole, fingerprint=str(whole.size_bytes))\n            return",
            ),
        ),
    ),
    Bug(
        "ranges",
        "plan_files",
        "one-file-when-asked",
        "plan_files gives the partitions of the first file alone; other changes wait for ever.",
        (
            (
                RANGED,
                "            yield from self._ranges(whole)\n            return\n\n    def _ranges",
            ),
        ),
    ),
    Bug(
        "ranges",
        "times",
        "epoch-in-local-time",
        "Seconds since 1970 are turned into the clock of the machine, and that is called UTC.",
        ((TIME, "time=datetime.fromtimestamp(float(time)).replace(tzinfo=UTC),"),),
    ),
    Bug(
        "stations",
        "plan_files",
        "depth-when-asked",
        "The setting 'folders' counts in plan, and plan_files looks one level deep whatever it says.",
        (
            (
                "folders_of(path, files, depth=self.config.folders)",
                "folders_of(path, files, depth=1)",
            ),
        ),
    ),
    Bug(
        "stations",
        "one bad value takes more",
        "value-fails-the-file",
        "A value that is no number makes one reject of the whole file.",
        (
            (".cast(pl.Float64, strict=False)", ".cast(pl.Float64)"),
            (
                "except (OSError, SourceError) as error:",
                "except (OSError, SourceError, pl.exceptions.PolarsError) as error:",
            ),
        ),
    ),
    Bug(
        "stations",
        "origin",
        "reject-of-the-directory",
        "Rejects name the directory, and nobody knows in which of its files they are.",
        (('position=row["position"], origin=origin)', 'position=row["position"])'),),
    ),
    Bug(
        "stations",
        "state kept",
        "site-of-the-last-one",
        "A station without station.json gets the site of the one that was read before.",
        (
            (
                "        site = site_of(partition, ctx)\n",
                "        site = self.site = site_of(partition, ctx) or self.site\n",
            ),
            ("    Config = Config\n", "    Config = Config\n    site = None\n"),
        ),
    ),
    Bug(
        "nested",
        "settings",
        "limit-in-one-path",
        "max_bytes counts for plain documents, and not for packed ones, which it is for.",
        (
            (
                "data = stream.read(most + 1)",
                "data = stream.read() if stream is not file else file.read(most + 1)",
            ),
            ("if len(data) > most:", "if len(data) > most and stream is file:"),
        ),
    ),
    Bug(
        "nested",
        "state kept",
        "document-by-path",
        "Documents are remembered by their paths: a watch never sees that one has changed.",
        (
            (
                LOADED,
                "document = self.known.get(partition.origin) or load(partition, self.config.max_bytes)\n        self.known[partition.origin] = document",
            ),
            ("    Config = Config\n", "    Config = Config\n    known = {}\n"),
        ),
    ),
    Bug(
        "nested",
        "reject's text",
        "raw-empty",
        "A reject has no text: what could not be read is lost.",
        (("packed(each)", 'b""'),),
    ),
    Bug(
        "nested",
        "surroundings",
        "left-in-tmp",
        "Packed documents are unpacked to a directory that stays when the run has ended.",
        (
            (
                "    if len(data) > most:",
                '    Path(tempfile.mkdtemp(), "document").write_bytes(data)\n    if len(data) > most:',
            ),
            ("import attrs\n", "import tempfile\n\nimport attrs\n"),
        ),
    ),
    Bug(
        "tree",
        "identity",
        "id-counts-up",
        "Partitions are numbered: with one more card at the front all others are read again.",
        (
            (
                IDENTIFIED,
                IDENTIFIED.replace(
                    "for path in self._cards(top, 0, set()):",
                    "for number, path in enumerate(self._cards(top, 0, set())):",
                ).replace("id=str(path.relative_to(top))", 'id=f"card-{number}"'),
            ),
        ),
    ),
    Bug(
        "tree",
        "plan_files",
        "every-card-when-asked",
        "plan_files takes cards that plan leaves out: those in hidden and too deep directories.",
        (
            (
                "    def _cards(",
                "    def plan_files(self, files):\n        top = input_path(self.location)\n"
                '        for path in (file for file in files if file.suffix == ".job"):\n'
                "            yield file_partition(path, id=str(path.relative_to(top)))\n\n    def _cards(",
            ),
        ),
    ),
    *LATER,
)
