"""Configuration files of a run, flattened: one row per setting."""

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

import yaml

from harvest import Partition, ReadContext
from harvest_dask.records.types import RunConfig
from harvest_toolkit.lines import numbered

from .jobfiles import BLANK, LINE_LIMIT

LARGEST: Final = 16 * 1024 * 1024
"""Maximum bytes of a configuration file; larger files are rejected."""
MOST: Final = 200_000
"""Maximum settings of a file: with YAML's aliases, a small file can have billions."""
DEEPEST: Final = 100

_TAG: Final = "tag:yaml.org,2002:"
_DARSHAN: Final = re.compile(r"([A-Z][A-Z0-9_]*)(?:\s+(.*))?")


class _Fault(ValueError):
    """The reason why a configuration file cannot be read."""


def darshan_settings(partition: Partition, ctx: ReadContext, _: Any) -> Iterator[RunConfig]:
    """Read Darshan's ``config.txt``: a directive with values per line; ``position``: the line."""
    name = _file_name(partition)
    for number, raw, size, ended in numbered(partition.path, LINE_LIMIT):
        ctx.advance(size + ended)
        ctx.read(1)
        line = raw.decode("utf-8", "backslashreplace").strip()
        match = _DARSHAN.fullmatch(line)
        if not line or line.startswith("#"):
            ctx.filtered(1, BLANK)
        elif match is None:
            reason = "is not a directive of Darshan"
            ctx.reject(raw.rstrip(b"\r"), reason, position=number, record_type="run.config")
        else:
            value = " ".join(match[2].split()) if match[2] else None
            yield RunConfig(file=name, key=match[1], value=value, position=number)


def settings(partition: Partition, ctx: ReadContext, _: Any) -> Iterator[RunConfig]:
    """Read ``config.json``, or YAML, which may have several documents: one row per setting.

    ``position`` numbers the settings.  A damaged file is one reject.
    """
    path = partition.path
    parse = _parse_json if partition.options["kind"] == "json_config" else _parse_yaml
    with path.open("rb") as file:
        data = file.read(LARGEST + 1)
    ctx.advance(len(data))
    try:
        if len(data) > LARGEST:
            raise _Fault(f"larger than {LARGEST} bytes")
        found = _flatten(parse(data), "", 0) if data.strip() else ()
        pairs = list(islice(found, MOST + 1))
        if len(pairs) > MOST:
            raise _Fault(f"more than {MOST} settings")
    except (_Fault, RecursionError) as fault:
        ctx.read(1)
        ctx.reject(data, f"is not a configuration: {fault}", record_type="run.config")
        return
    ctx.read(len(pairs))
    if not pairs:
        ctx.note(f"{path.name} holds no setting")
    for number, (key, value) in enumerate(pairs, 1):
        yield RunConfig(file=_file_name(partition), key=key, value=value, position=number)


def _file_name(partition: Partition) -> str:
    """Return the file's name; bytes that are not UTF-8 become escapes."""
    name = partition.path.name.encode("utf-8", "surrogateescape")
    return name.decode("utf-8", "backslashreplace")


def _parse_json(data: bytes) -> Any:
    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=_Pairs)
    except ValueError as error:
        raise _Fault(str(error)) from error


def _parse_yaml(data: bytes) -> Any:
    try:
        documents = list(yaml.load_all(data, _Loader))  # nosec B506 - a SafeLoader
    except (yaml.YAMLError, ValueError) as error:
        raise _Fault(" ".join(str(error).split())) from error
    except (AttributeError, IndexError, KeyError) as error:
        # PyYAML's errors for a value that does not fit its tag, for example ``!!bool x``
        raise _Fault(f"a value does not fit its tag: {error!r}") from error
    return documents[0] if len(documents) == 1 else documents


def _flatten(value: Any, key: str, depth: int) -> Iterator[tuple[str, str | None]]:
    """Yield settings in the order of the file; dots join nested keys and numbers of list items."""
    if depth > DEEPEST:
        raise _Fault(f"nested deeper than {DEEPEST} levels")
    if not isinstance(value, list | tuple) or not value:
        yield key, _text(value)
        return
    for name, child in value if isinstance(value, _Pairs) else enumerate(value):
        word = _spelling(name)
        yield from _flatten(child, f"{key}.{word}" if key else word, depth + 1)


def _text(value: Any) -> str | None:
    """Spell a value as in its file; an empty object or list stays visible."""
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return "{}" if isinstance(value, _Pairs) else _spelling(value)


def _spelling(value: Any) -> str:
    """Convert a value to text without surrogates."""
    try:
        text = str(value)
    except ValueError:  # Python prints a number of thousands of digits only in hexadecimal
        text = f"{value:#x}"
    return text.encode("utf-8", "backslashreplace").decode()


class _Pairs(list[tuple[Any, Any]]):
    """The pairs of a mapping in the order of the file; other parsers keep one pair of a key."""


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # it has no types
    """A loader of plain values only: tags never call code.

    left: how many pairs merge keys (``<<``) may still bring; they multiply, so that a few lines
        can have billions.
    """

    left = MOST

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Put merged pairs before a mapping's own pairs, which override them."""
        own: list[tuple[Any, Any]] = []
        merged: dict[tuple[str, str], tuple[Any, Any]] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise _fault("a key is not a scalar", key)
            if key.tag != f"{_TAG}merge":
                own.append((key, value))
                continue
            for pair in self._pairs_to_merge(value):
                merged.setdefault((pair[0].tag, pair[0].value), pair)
        for key, _ in own:
            merged.pop((key.tag, key.value), None)
        node.value = [*merged.values(), *own]

    def _pairs_to_merge(self, node: yaml.Node) -> Iterator[tuple[Any, Any]]:
        for source in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            if not isinstance(source, yaml.MappingNode):
                raise _fault("what is merged in is not a mapping", source)
            self.flatten_mapping(source)
            self.left -= len(source.value)
            if self.left < 0:
                raise _fault(f"merge keys bring more than {MOST} settings", source)
            yield from source.value

    def pairs(self, node: yaml.MappingNode) -> Iterator[_Pairs]:
        """Construct a mapping; it is empty at first, so that it can contain itself."""
        found = _Pairs()
        yield found
        if not isinstance(node, yaml.MappingNode):
            raise _fault("this is not a mapping", node)
        self.flatten_mapping(node)
        for key, value in node.value:
            name = self.construct_object(key, deep=True)
            found.append((name, self.construct_object(value, deep=True)))


for _kind in ("map", "set"):
    _Loader.add_constructor(f"{_TAG}{_kind}", _Loader.pairs)


def _fault(text: str, node: yaml.Node) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, text, node.start_mark)
