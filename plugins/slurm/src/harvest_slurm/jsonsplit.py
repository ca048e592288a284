"""The jobs of ``sacct --json``, one at a time, however large the file is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO, Final

import attrs

__all__ = ["Broken", "split_jobs"]

BLOCK_BYTES: Final = 4 * 1024 * 1024

_SHOWN: Final = 64 * 1024

LONGEST: Final = 64 * 1024 * 1024
"""Bytes of a job with its steps, at most."""

_TOKEN: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"|[{}\[\]]|[^"{}\[\]]+', re.DOTALL)


NO_OBJECT: Final = "an element of 'jobs' that is not an object"


@attrs.frozen
class Broken:
    """What the file ends with where it ends too early, or what is wrong with it."""

    raw: bytes
    reason: str


def split_jobs(stream: IO[bytes]) -> Iterator[bytes | Broken]:
    """The elements of the top-level array ``jobs``, as bytes; of type Broken if not objects.

    A file that ends inside of the array, or that has none, gives a last item of type Broken.
    """
    buffer = b""
    place = 0  # up to here the buffer is read
    start = -1  # where the current job begins
    depth = 0
    inside = False  # of the array
    found = False
    key = b""
    at_end = False
    while True:
        more = stream.read(BLOCK_BYTES)
        at_end = not more
        keep = start if start >= 0 else place
        buffer, place = buffer[keep:] + more, place - keep
        start = 0 if start >= 0 else -1
        for token in _TOKEN.finditer(buffer, place):
            text = token[0]
            if token.start() != place:
                break  # a text that is not closed yet
            if token.end() == len(buffer) and not at_end and text[:1] != b"}":
                break  # it may go on in the next block
            place = token.end()
            if inside and depth == 2 and text not in (b"{", b"[", b"]", b"}"):
                yield from _no_objects(text)
            if text[:1] == b'"':
                if depth == 1:
                    key = text
            elif text in (b"{", b"["):
                if inside and depth == 2:
                    start = token.start()
                elif depth == 1 and text == b"[" and key == b'"jobs"':
                    inside = found = True
                depth += 1
            elif text in (b"}", b"]"):
                depth -= 1
                if inside and depth == 2 and start >= 0:
                    element = buffer[start:place]
                    yield element if element[:1] == b"{" else Broken(element, NO_OBJECT)
                    start = -1
                elif depth == 1:
                    inside = False
                elif depth == 0:
                    rest = buffer[place:] + stream.read(64)
                    if rest.strip():
                        yield Broken(rest, "text after the end of the JSON document")
                    if not found:
                        yield Broken(buffer[:200], "no array 'jobs' in this JSON")
                    return
        keep = start if start >= 0 else place
        if len(buffer) - keep > LONGEST:
            reason = f"longer than {LONGEST} bytes; what follows in the file is not read"
            yield Broken(buffer[keep : keep + _SHOWN], reason)
            return
        if at_end:
            if start >= 0:
                yield Broken(buffer[start:], "the file ends inside this job")
            else:
                tail = buffer[max(0, place - 200) :]
                yield Broken(tail, "the file ends before its JSON does")
            return


def _no_objects(text: bytes) -> Iterator[Broken]:
    """The elements in a piece of the array that is a string, or all else but brackets."""
    pieces = [text] if text[:1] == b'"' else text.split(b",")
    for piece in pieces:
        if piece.strip():
            yield Broken(piece.strip(), NO_OBJECT)
