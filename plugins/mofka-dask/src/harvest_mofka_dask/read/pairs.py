"""Mappings of JSON and YAML with all pairs; other parsers keep only the last value of a key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import yaml

_TAG: Final = "tag:yaml.org,2002:"


class Pairs(list[tuple[Any, Any]]):
    """The pairs of a mapping in the order of the file, also of repeated keys."""


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # it has no types
    """A loader of plain values only: tags never call code."""

    most: int
    left: int
    """Maximum pairs from merge keys, and how many of them are left."""

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
                raise _fault(f"merge keys bring more than {self.most} settings", source)
            yield from source.value

    def pairs(self, node: yaml.MappingNode) -> Iterator[Pairs]:
        """Construct a mapping; it is empty at first, so that it can contain itself."""
        found = Pairs()
        yield found
        if not isinstance(node, yaml.MappingNode):
            raise _fault("this is not a mapping", node)
        self.flatten_mapping(node)
        for key, value in node.value:
            name = self.construct_object(key, deep=True)
            found.append((name, self.construct_object(value, deep=True)))


for _kind in ("map", "set"):
    _Loader.add_constructor(f"{_TAG}{_kind}", _Loader.pairs)


def pairs_loader(most: int) -> type[yaml.SafeLoader]:
    """Create a safe loader of PyYAML that constructs mappings and sets as :class:`Pairs`.

    most: maximum pairs from all merge keys (``<<``) together; they multiply, so that a few lines
        can have billions.  Beyond it, and for a key that is not a scalar, the loader raises
        ``yaml.YAMLError``.
    """

    class Loader(_Loader):
        """A loader with its own limit."""

    Loader.most = Loader.left = most
    return Loader


def _fault(text: str, node: yaml.Node) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, text, node.start_mark)
