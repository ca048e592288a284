"""Promises of formats whose inputs are JSON documents: an element of a list is a unit by itself.

What a source makes of a document with an element that is damaged, or there twice, is compared with
what it makes of the document without it.  Nothing of that needs to know what the elements mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from harvest import SourceError
from harvest_testing.promise import does_not_apply, promise, require

from .kit import SourceKit, files_of, is_input
from .reading import require_places

TRIED = 12
"""Elements of a document that are taken out, damaged and doubled, one after the other."""

DAMAGED: tuple[Any, ...] = ("no element of yours", {}, None)
ALONE = "let an element that cannot be read cost no other: reject it alone, and go on"


class DocumentPromises(SourceKit):
    """The tests of JSON documents, which the kit recognises."""

    @promise("an element of a document costs itself alone, damaged or there twice", quick=True)
    def test_elements_stand_for_themselves(self, tmp_path: Path) -> None:
        location = self.make_files(tmp_path)
        tried = False
        for path in files_of(location):
            data = path.read_bytes()
            try:
                document = json.loads(data)
            except ValueError:  # another format
                continue
            for found, at in list(islice(_elements(document), TRIED)):
                tried = self._try_element(location, path, document, found, at) or tried
            path.write_bytes(data)
        if not tried:
            does_not_apply("no element of a list in a JSON document is a unit")

    def _try_element(
        self, location: Path, path: Path, document: Any, found: list[Any], at: int
    ) -> bool:
        """Whether an element of a document, which is given back as it was, is a unit."""
        whole = self._came(location, path, document)
        element = found.pop(at)
        without = self._came(location, path, document)
        found.insert(at, element)
        if whole is None or without is None or whole == without:
            return False
        for damage in DAMAGED:
            found[at] = damage
            came = self._came(location, path, document)
            require(
                came is None or came[0] >= without[0],
                f"{path.name}: with {json.dumps(damage)} for an element {came and came[0]} rows "
                f"come, and {without[0]} without it: {json.dumps(element)[:200]}",
                ALONE,
            )
        found[at] = element
        found.insert(at, element)
        came = self._came(location, path, document)
        del found[at]
        require(
            came is None or came[1] > whole[1],
            f"{path.name}: with an element twice {came and came[1]} units are accounted for, and "
            f"{whole[1]} with it once: {json.dumps(element)[:200]}",
            "count every element with ctx.read(1)",
        )
        return True

    def _came(self, location: Path, path: Path, document: Any) -> tuple[int, int] | None:
        """How many rows and units come of a file with a document; None where it is refused."""
        path.write_text(json.dumps(document, ensure_ascii=False), "utf-8")
        try:
            pieces = [p for p in self.read(location) if is_input(path, p.partition)]
        except SourceError:
            return None
        require_places(pieces)
        all_found = [piece.found for piece in pieces if piece.found is not None]
        if len(all_found) < len(pieces):
            return None
        return sum(f.written for f in all_found), sum(f.accounted for f in all_found)


def _elements(document: Any) -> Iterator[tuple[list[Any], int]]:
    """Lists in a document, each with the place of its first element and of one in its middle."""
    if isinstance(document, list):
        for at in sorted({0, len(document) // 2} if document else ()):
            yield document, at
    if isinstance(document, (list, dict)):
        for inner in document.values() if isinstance(document, dict) else list(document):
            yield from _elements(inner)
