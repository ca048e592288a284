"""The words that users meet: those that CONTRIBUTING.md replaces, and the length of sentences."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from harvest.plugins import manager
from harvest.plugins.registered import resolve

ROOT = Path(__file__).parents[1]
MOST = 25
"""Words of a sentence."""

EXCEPTIONS: dict[str, str] = {
    "judged: what the rule checks": "a field of harvest.Rule",
}
"""A part of a text that may stay as it is, and why; at most 20."""

PAGES = sorted(
    path
    for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("plugins/*/*.md"))
    if not {"reference", "decisions"} & set(path.parts)  # generated; records of their day
)
PARTS = [str(path.relative_to(ROOT)) for path in sorted(ROOT.glob("src/*"))]
PARTS += [f"{path.relative_to(ROOT)}/src" for path in sorted(ROOT.glob("plugins/*"))]


def replaced() -> list[str]:
    """The words of the table in CONTRIBUTING.md, on its left."""
    table = (ROOT / "CONTRIBUTING.md").read_text().partition("| instead of | write |")[2]
    return [row.split("|")[1].strip() for row in table.partition("\n\n")[0].splitlines()[2:]]


WORDS = re.compile(rf"\b({'|'.join(map(re.escape, replaced()))})\b", re.IGNORECASE)


def prose(page: Path) -> str:
    """A page without code, links' addresses and the table of words."""
    text = page.read_text()
    if page.name == "CONTRIBUTING.md":
        text = text.partition("| instead of | write |")[0]
    text = re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`]*`", "code", re.sub(r"\]\([^)]*\)", "]", text))


def paragraphs(text: str) -> Iterator[str]:
    """Its paragraphs and items, each in one line; no tables, headings and indented code."""
    lines = [line for line in text.splitlines() if not line.startswith(("|", "#", "    "))]
    for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", "\n".join(lines)):
        yield " ".join(part.split())


def sayings(path: Path) -> Iterator[str]:
    """The texts of a module: strings of several words, docstrings among them, without code."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield re.sub(r"``.*?``|`[^`]*`", "code", " ".join(node.value.split()))


def faults(texts: Iterator[str]) -> list[str]:
    return [
        f"{found[0]!r} in: {text[max(found.start() - 40, 0) : found.end() + 40]}"
        for text in texts
        for found in WORDS.finditer(text)
        if not any(part in text for part in EXCEPTIONS)
    ]


def long_sentences(text: str) -> list[str]:
    sentences = re.split(r"(?<=[.!?:;]) +", text)
    return [
        sentence
        for sentence in sentences
        if len(sentence.split()) > MOST and not any(part in sentence for part in EXCEPTIONS)
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_is_written_in_plain_words_and_short_sentences(page):
    texts = list(paragraphs(prose(page)))
    assert (faults(iter(texts)), [s for text in texts for s in long_sentences(text)]) == ([], [])


@pytest.mark.parametrize("part", PARTS)
def test_modules_speak_in_plain_words(part):
    said = {str(path): faults(sayings(path)) for path in (ROOT / part).rglob("*.py")}
    assert {path: found for path, found in said.items() if found} == {}


def declared(part: str) -> Iterator[str]:
    """What plugins say of what they declare: sources, views, their columns and settings, rules."""
    plugins = manager()
    kinds = (plugins.sources, plugins.sinks, plugins.views, plugins.reports, plugins.rules)
    for spec in (spec for kind in kinds for spec in kind.values()):
        if plugins.owner(spec).distribution != f"hpc-harvest-{Path(part).parts[1]}":
            continue
        yield from (getattr(spec, word, "") for word in ("doc", "advice", "judged", "unable"))
        yield from (
            str(getattr(each, "doc", each)) for each in getattr(spec, "settings", {}).values()
        )
        columns = getattr(spec, "columns", ())
        columns = resolve(columns) if isinstance(columns, str) and columns else columns
        yield from (getattr(column, "doc", None) or "" for column in columns)


@pytest.mark.parametrize("part", [part for part in PARTS if part.startswith("plugins/")])
def test_what_is_declared_is_said_in_short_sentences(part):
    assert [s for text in declared(part) for s in long_sentences(text)] == []


def test_few_texts_are_excepted():
    assert len(EXCEPTIONS) <= 20
