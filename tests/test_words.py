"""The words that users meet: those that CONTRIBUTING.md replaces, and the length of sentences."""

import ast
import re
from pathlib import Path

import pytest

from harvest.plugins import manager
from harvest.plugins.registered import resolve

ROOT = Path(__file__).parents[1]
MOST = 25  # words of a sentence
PAGES = sorted(
    path
    for path in (*ROOT.glob("*.md"), *ROOT.glob("[cdef]*/**/*.md"), *ROOT.glob("plugins/*/*.md"))
    if not {"reference", "decisions"} & set(path.parts)  # generated; records of their day
)
PARTS = ["docs_reference", *(f"src/{path.name}" for path in sorted(ROOT.glob("src/*")))]
PARTS += [f"{path.relative_to(ROOT)}/src" for path in sorted(ROOT.glob("plugins/*"))]
TABLE = (ROOT / "CONTRIBUTING.md").read_text().partition("| instead of ")[2].partition("\n\n")[0]
REPLACED = [row.split("|")[1].strip() for row in TABLE.splitlines()[2:]]
# before a colon stands a name, for example of a field
WORDS = re.compile(rf"\b({'|'.join(map(re.escape, REPLACED))})\b(?!:)", re.IGNORECASE)


def paragraphs(page):
    """Its paragraphs, items and cells of tables, each in one line; no blocks and addresses."""
    text = page.read_text().replace(TABLE, "")
    text = re.sub(r"^( *)```.*?^\1```$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    text = re.sub(r"^\|.*", lambda row: row[0].replace("|", "\n\n"), text, flags=re.MULTILINE)
    for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )", re.sub(r"\n    .*", "", text)):
        yield " ".join(part.split())


def sayings(part):
    """The texts of modules: strings of several words, docstrings among them; and of dashboards."""
    for path in (ROOT / part).rglob("dashboards/*.json"):
        yield from re.findall(r'"(?:title|description)": "([^"]*)', path.read_text())
    for path in (ROOT / part).rglob("*.py"):
        text = path.read_text()
        # the trees of all modules would take seconds; a text may be in several pieces
        plain = re.sub(r"""["'] [rf]*["']""", "", " ".join(text.split()))
        for node in ast.walk(ast.parse(text)) if WORDS.search(plain) else ():
            if isinstance(node, ast.Constant) and " " in str(node.value):
                yield " ".join(str(node.value).split())


def declared(part):
    """What a plugin says of what it declares: sources, views, columns, settings, rules."""
    plugins = manager()
    kinds = (plugins.sources, plugins.sinks, plugins.views, plugins.reports, plugins.rules)
    for spec in (spec for kind in kinds for spec in kind.values()):
        if plugins.owner(spec).distribution == f"hpc-harvest-{Path(part).parent.name}":
            yield from (getattr(spec, word, "") for word in ("doc", "advice", "judged", "unable"))
            given = getattr(spec, "columns", ())
            columns = resolve(given) if isinstance(given, str) and given else given
            both = (*getattr(spec, "settings", {}).values(), *columns)
            yield from (str(getattr(each, "doc", each) or "") for each in both)


def faults(texts, *, long=False):
    """Words that are replaced, outside of code; long: and sentences that are too long."""
    for text in (re.sub(r"``.*?``|`[^`]*`", "code", text).replace("code, ", "") for text in texts):
        for found in WORDS.finditer(text):
            yield f"{found[0]!r} in: {text[max(found.start() - 40, 0) : found.end() + 40]}"
        sentences = re.split(r"(?<=[.!?:;]) +", text)
        yield from (each for each in sentences if long and len(each.split()) > MOST)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_is_written_in_plain_words_and_short_sentences(page):
    assert list(faults(paragraphs(page), long=True)) == []


@pytest.mark.parametrize("part", PARTS)
def test_modules_speak_in_plain_words_and_declare_in_short_sentences(part):
    assert [*faults(sayings(part)), *faults(declared(part), long=True)] == []
