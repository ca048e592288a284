"""Promises about input that is damaged, empty, foreign, or long."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from harvest import Detection, Reject, SourceError
from harvest.toolkit.texts import printable
from harvest_testing.lab.damage import UNEVEN, damaged, mended
from harvest_testing.promise import BrokenPromise, does_not_apply, promise, raises_nothing, require

from .kit import SourceKit, copy_of, files_of, is_input
from .reading import REJECTS, Piece, all_lines, planned, read_all, require_same, rows_as_lines

REPLACED = "\ufffd"
"""The character that lenient decoders put instead of bytes that are not text."""
ROUNDED = str(int(float(UNEVEN)))
PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")
"""First bytes of gzip, bzip2, xz and zstd files."""

LOST = (
    "count every unit with ctx.read(), and reject what is none; or raise harvest.SourceError where "
    "the file as a whole is not yours"
)
ALONE = (
    "let a unit that cannot be read cost no other, those of its block neither: reject it alone, "
    "with its own bytes and its number, counted from 1 in the file"
)
WHOLE = "give ctx.reject the line's own bytes, neither cut nor stripped, and its number"

FOREIGN = {
    "empty": b"",
    "a line": b"hello, world\n",
    "zero bytes": bytes(5000),
    "bytes": bytes(range(256)) * 20,
    "a picture": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "packed": b"\x1f\x8b\x08\0\0\0\0\0\0\3",
    "JSON": b'{"what": ["is", {"this": null}]}\n',
    "a table": b"a,b,c\n1,2,3\n",
}
NOISE = (
    b"  \x01 no line of yours \x7f  ",
    b"\t" + b"no line of yours, and a long one; " * 200 + b"\t",
    b"no line of yours, but a longer one than any" * 2_500,
    b"\x00",
    b'"',
    b"no line\r of \x0b\x0c\x1c\x1d\x1e yours \xc2\x85\xe2\x80\xa8\xe2\x80\xa9 at all",
)
"""Lines of no format: with blanks at both ends, longer than common limits, with a quote, with
all characters that other systems take as a line's end."""

RAW_LIMIT = 64 * 1024
"""Maximum bytes of a rejected unit that the core keeps."""


class HostilePromises(SourceKit):
    """Tests that give the source invalid input."""

    @promise("damaged input becomes rows and rejects; nothing is lost, nothing breaks", quick=True)
    def test_corrupt_input_becomes_rejects(self, tmp_path: Path, corruption: str) -> None:
        location = self.make_files(tmp_path)
        replaced = any(REPLACED in line for line in all_lines(self.read(location)))
        for path in files_of(location):
            with mended(path) as data:
                for done, content in self.corruptions[corruption](data):
                    path.write_bytes(content)
                    try:
                        pieces = self._require_told(location, path, content)
                        if corruption == "truncated":
                            _require_cut_seen(path, pieces)
                        if not replaced:
                            _require_values_kept(content, pieces)
                        _require_raw_kept(path, content, pieces)
                    except BrokenPromise as error:
                        error.seen = f"{path.name}, {done}:\n{error.seen}"
                        raise

    def _require_told(self, location: Path, path: Path, data: bytes) -> list[Piece]:
        source = self.open(location)
        try:
            partitions = planned(source)
        except SourceError as error:
            self._require_alone(location, path, error)
            return []
        mine = [p for p in partitions if is_input(path, p)]
        pieces = self.checked(read_all(source, mine or partitions))
        require(
            not mine
            or any(p.found is None or p.found.accounted or p.found.notes for p in pieces)
            or self.holds_nothing(path, data),
            f"its {len(data)} bytes give no row, no reject, no note and no error",
            LOST + ". Where such content holds nothing, say so in holds_nothing()",
        )
        return pieces

    def _require_alone(self, location: Path, path: Path, error: SourceError) -> None:
        """Require that a directory with a damaged file is refused only if no other is readable."""
        if not location.is_dir():
            return
        away = path.rename(location.parent / "out of the way")
        try:
            others = planned(self.open(location))
        except SourceError:
            return
        finally:
            away.rename(path)
        require(
            not others,
            f"plan() refuses the directory, and with it {len(others)} sound partitions: {error}",
            "list the damaged file as a partition, and refuse it in read()",
        )

    @promise("detect() answers for any path, with a reason, and raises nothing", quick=True)
    def test_detection_is_harmless(self, tmp_path: Path) -> None:
        (tmp_path / "folder").mkdir()
        self._require_answer(tmp_path / "folder")
        os.mkfifo(tmp_path / "pipe")
        with os.fdopen(os.open(tmp_path / "pipe", os.O_RDWR | os.O_NONBLOCK), "r+b", 0) as pipe:
            size = pipe.write(bytes(1 << 16))
            self._require_answer(tmp_path / "pipe")
            require(
                len(pipe.read(size)) == size,
                "detect() reads a named pipe: it waits for who writes, and takes what comes",
                "give None for what is not a regular file (Path.is_file)",
            )
        answers = []
        for name, content in FOREIGN.items():
            path = tmp_path / f"{name}.dat"
            path.write_bytes(content)
            answers.append(self._require_answer(path))
        require(
            None in answers,
            f"detect() recognises {', '.join(FOREIGN)}, whatever a file is",
            "give None for what is not recognised, so that other sources get it",
        )
        for path, _ in damaged(files_of(self.make_files(tmp_path))):
            self._require_answer(path)

    def _require_answer(self, path: Path) -> Detection | None:
        with raises_nothing(
            f"detect({path.name!r}) raised ",
            "look at the first bytes only, and give None for what is not recognised",
        ):
            answer = self.open(path).detect(path)
        require(
            answer is None
            or (isinstance(answer, Detection) and 0 <= answer.confidence <= 1 and answer.reason),
            f"detect({path.name!r}) gives {answer!r}",
            "give None, or harvest.Detection(confidence from 0 to 1, reason)",
        )
        return answer

    # --- formats of lines (header_lines) ----------------------------------------------------------

    @promise("a line that is not a unit costs itself alone, and is kept whole as a reject",
             quick=True)  # fmt: skip
    def test_a_damaged_line_costs_itself_alone(self, tmp_path: Path) -> None:
        header = self.header_lines
        if header is None:
            does_not_apply("units are lines where the class says so (header_lines = 0, or more)")
        location = self.make_files(tmp_path)
        for path in self._files(location):
            lines = path.read_bytes().removesuffix(b"\n").split(b"\n")
            path.write_bytes(b"\n".join([*lines, b""]))  # as below: the last line ends, too
            before = _by_number(self._pieces(location, path))
            for number in {header, (header + len(lines)) // 2, len(lines)}:
                for noise in (*NOISE, b""):
                    more = [*lines[:number], noise, *lines[number:]]
                    path.write_bytes(b"\n".join([*more, b""]))
                    pieces = self._pieces(location, path)
                    if any(piece.found is None for piece in pieces):
                        continue
                    for reject in _rejects(pieces):
                        _require_raw(path.name, more, reject)
                    about = f"{path.name} with {noise[:40]!r} ({len(noise)} bytes) below {number}"
                    found = [(at, text) for at, text in _by_number(pieces) if at != number + 1]
                    expected = [(at + (at > number), text) for at, text in before]
                    about = f"{about}: others come otherwise"
                    require_same(_as_lines(found), _as_lines(expected), ALONE, about=about)
            path.write_bytes(b"\n".join([*lines, b""]))

    def _files(self, location: Path) -> list[Path]:
        """Return the files of the sample that are read line by line: the partitions' origins."""
        origins = dict.fromkeys(p.origin for p in self.partitions(self.open(location)))
        files = (path for path in map(Path, origins) if path.is_file())
        return [path for path in files if not path.read_bytes().startswith(PACKED)]

    def _pieces(self, location: Path, path: Path) -> list[Piece]:
        origin, source = printable(str(path)), self.open(location)
        mine = [p for p in planned(source) if printable(p.origin) == origin]
        return self.checked(read_all(source, mine))


def _rejects(pieces: Sequence[Piece]) -> list[Reject]:
    return [reject for piece in pieces if piece.found for reject in piece.found.rejects]


def _by_number(pieces: Sequence[Piece]) -> list[tuple[int, str]]:
    """Return rows and rejects as text, each with its line number."""
    found = []
    for piece in pieces:
        for name, table in piece.found.tables.items() if piece.found else ():
            rows = rows_as_lines(name, table.drop_columns(["origin", "position"]))
            found += [*zip(table["position"].to_pylist(), rows, strict=True)]
    for reject in _rejects(pieces):
        require(reject.position, f"a reject without position: {reject}", ALONE)
        found.append((reject.position, f"{REJECTS[0]}{reject.raw.rstrip()!r}"))
    return found


def _as_lines(numbered: Sequence[tuple[int, str]]) -> list[str]:
    return sorted(f"{number}: {text}" for number, text in numbered)


def _require_raw(about: str, lines: Sequence[bytes], reject: Reject) -> None:
    """Require that a reject holds its whole line, except for the line end."""
    raw, line = reject.raw.rstrip(b"\r\n"), lines[(reject.position or 1) - 1].rstrip(b"\r\n")
    require(
        raw in (line[:RAW_LIMIT], line.removeprefix(b"\xef\xbb\xbf")),
        f"{about}: the reject at position {reject.position} has raw {raw[:80]!r}; the line is "
        f"{line[:80]!r}",
        WHOLE,
    )


def _require_raw_kept(path: Path, data: bytes, pieces: list[Piece]) -> None:
    """Require that a reject with the letters of its line holds exactly that line."""
    lines = data.split(b"\n")
    for reject in _rejects(pieces):
        number = reject.position if reject.origin == printable(str(path)) else None
        line = lines[number - 1] if number is not None and number <= len(lines) else b""
        letters = re.sub(rb"\W", b"", line)
        if letters and letters == re.sub(rb"\W", b"", reject.raw) and line.strip() == line:
            _require_raw(path.name, lines, reject)


def _require_cut_seen(path: Path, pieces: list[Piece]) -> None:
    """Require that a truncated compressed file gives an error, a reject or a note."""
    with path.open("rb") as file:
        packed = file.read(6).startswith(PACKED)
    require(
        not packed or any(p.found is None or p.found.rejects or p.found.notes for p in pieces),
        "it was compressed, its end is missing, and nobody says so",
        "let EOFError and similar errors become a SourceError, or a reject of what is missing",
    )


def _require_values_kept(data: bytes, pieces: list[Piece]) -> None:
    """Require that no value was altered: no replacement characters, no rounded numbers."""
    wrong = set()
    if REPLACED.encode() not in data and b"ufffd" not in data.lower():
        wrong.add(REPLACED)
    if UNEVEN in data and ROUNDED.encode() not in data:
        wrong.add(ROUNDED)
    for table in (t for p in pieces if p.found for t in p.found.tables.values() if wrong):
        for name, column in zip(table.column_names, table.columns, strict=True):
            if name not in ("origin", "position") and not pa.types.is_floating(column.type):
                odd = [v for v in map(str, column.to_pylist()) if any(text in v for text in wrong)]
                require(
                    not odd,
                    f"{odd[:1]} is not what the input has: a character or digits are others",
                    'decode with errors="strict", and reject what fails; read numbers as int, '
                    "never through float",
                )


def damaged_copies(location: Path | str, directory: Path) -> Iterator[Path]:
    """Yield copies of a sample below a directory, each with different damage to one file."""
    top = Path(location)
    for number, _ in enumerate(damaged(files_of(top), every=7)):
        yield copy_of(top, directory / f"damaged {number}" / top.name)
