"""Convert a stream of YAML documents to JSON as it arrives, one document per line.

    for piece in JsonPieces(YamlStream(stream, where="jobs.yaml"), "jobs", mark="id", noun="job"):
        ...

PyYAML's events become text: no value is built, no tag is executed, and aliases are refused.  A
plain value is null, true, false or a number where YAML 1.1 and 1.2 agree; else it is a string.
"""

import io
import json
import re
from collections.abc import Iterator
from typing import IO, Any, Final

from harvest import SourceError

from .json_pieces import Unreadable

__all__ = ["YamlStream"]

_PLAIN: Final = re.compile(
    r"~?|null|true|false|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][-+][0-9]+)?)?"
)
_TYPED: Final = tuple(f"tag:yaml.org,2002:{kind}" for kind in ("null", "bool", "int", "float"))


class YamlStream(io.RawIOBase):
    """A stream of YAML that is read as JSON.  Reading raises Unreadable when it is not YAML.

    Memory holds one scalar of the input, and the bytes read together.  where: named in errors.
    """

    def __init__(self, stream: IO[bytes], where: str):
        self._pieces = _json_of(stream, where)
        self._rest = b""
        self._trouble: Unreadable | None = None

    def read(self, size: int = -1) -> bytes:
        """Return up to ``size`` bytes; none at the end."""
        held, length = [self._rest], len(self._rest)
        try:
            while length < size and (piece := next(self._pieces, None)) is not None:
                held.append(piece)
                length += len(piece)
        except Unreadable as error:
            self._trouble = error  # raised once all data before it are returned
        data = b"".join(held)
        self._rest = data[size:]
        if not data and self._trouble:
            raise self._trouble
        return data[:size]


def _json_of(stream: IO[bytes], where: str) -> Iterator[bytes]:
    try:
        import yaml  # an optional library
    except ImportError as error:
        problem = "YAML is read with PyYAML, which is not installed"
        remedy = "pip install 'hpc-harvest[yaml]', or bring it as JSON"
        raise SourceError(problem, where=where, remedy=remedy) from error
    # of each open node: whether it is a mapping (None: the stream), and its keys and values so far
    opened: list[tuple[bool | None, int]] = [(None, 0)]
    try:
        for event in yaml.parse(stream, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                yield b"}" if opened.pop()[0] else b"]"
            if not isinstance(event, yaml.NodeEvent):
                continue
            mapping, count = opened[-1]
            opened[-1] = (mapping, count + 1)
            yield _separator(mapping, count)
            at_key = mapping and count % 2 == 0
            if isinstance(event, yaml.ScalarEvent):
                yield _quoted(event.value) if at_key else _scalar(event)
            elif isinstance(event, yaml.AliasEvent) or at_key:
                what = "key that is not a text" if at_key else "alias"
                raise Unreadable(f"YAML with an odd {what} in line {event.start_mark.line + 1}")
            else:
                opened.append((isinstance(event, yaml.MappingStartEvent), 0))
                yield b"{" if opened[-1][0] else b"["
    except (yaml.YAMLError, UnicodeError) as error:
        raise Unreadable(f"not YAML: {' '.join(str(error).split())}") from error


def _separator(mapping: bool | None, count: int) -> bytes:
    """Return the JSON text between ``count`` items of a node and the next item."""
    if mapping is None:
        return b"\n"
    if mapping and count % 2 == 1:
        return b":"
    return b"," if count else b""


def _quoted(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode()


def _scalar(event: Any) -> bytes:
    plain = event.implicit[0] or event.tag in _TYPED
    if not plain or not _PLAIN.fullmatch(event.value):
        return _quoted(event.value)
    return b"null" if event.value in ("", "~") else bytes(event.value, "ascii")
