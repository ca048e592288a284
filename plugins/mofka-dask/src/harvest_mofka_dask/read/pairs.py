"""Mappings of JSON and YAML with all their pairs; the usual readers keep the last of a key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import yaml

_TAG: Final = "tag:yaml.org,2002:"


class Pairs(list[tuple[Any, Any]]):
    """A mapping as its pairs, repeated keys too, in the order of the file."""


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # it has no types
    """Only plain values: no tag makes it call anything."""

    most: int
    left: int
    """Pairs that all merge keys may bring, and those that they may still bring."""

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Put the pairs that a mapping merges in before its own, which stand above them."""
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
        """A mapping; first empty, so that it may refer to itself."""
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
    """PyYAML's safe loader, which gives mappings and sets as :class:`Pairs`.

    most: pairs that all merge keys (``<<``) together may bring; they multiply, so that some lines
        can stand for billions.  Beyond it, and for a key that is not a scalar, it raises
        ``yaml.YAMLError``.
    """

    class Loader(_Loader):
        """With its limit."""

    Loader.most = Loader.left = most
    return Loader


def _fault(text: str, node: yaml.Node) -> yaml.YAMLError:
    return yaml.constructor.ConstructorError(None, None, text, node.start_mark)
