"""Every page of the documentation shows the truth: its blocks run, its links lead somewhere."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from pages import ROOT, PageError, broken_links, check_page

PAGES = sorted((ROOT / "docs").rglob("*.md"))
IN_FRESH_ENVIRONMENTS = {ROOT / "docs/tutorials/first-plugin.md"}
"""Pages that install and publish; tests/test_newcomer.py runs their blocks."""


RUN_HERE = [page for page in PAGES if page not in IN_FRESH_ENVIRONMENTS]
AROUND = sorted(
    path
    for pattern in ("*.md", "containers/*.md", "examples/**/*.md", "plugins/*/*.md", "fuzz/*.md")
    for path in ROOT.glob(pattern)
)


def name(page: Path) -> str:
    return page.relative_to(ROOT / "docs").as_posix()


def _marked(page: Path) -> object:
    if "<!-- needs: pandas -->" in page.read_text(encoding="utf-8"):
        return pytest.param(page, marks=pytest.mark.pandas)
    # whole studies, of whose commands other pages have most
    is_long = page.parent.name == "tutorials" and page.stem != "mofka-dask"
    return pytest.param(page, marks=pytest.mark.slow(night=True) if is_long else ())


@pytest.mark.slow
@pytest.mark.parametrize("page", [*map(_marked, RUN_HERE)], ids=[*map(name, RUN_HERE)])
def test_every_block_does_what_the_page_shows(page, tmp_path):
    outcome = check_page(page, tmp_path / "page")
    if outcome.skipped:
        pytest.skip(f"{outcome.checked} blocks are right, others cannot run: {outcome.skipped}")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_link_leads_somewhere_and_every_picture_is_described(page):
    assert broken_links(page) == []


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_no_word_is_taken_for_html(page):
    """A browser shows nothing of `map<string, string>` unless it is code or escaped."""
    prose = re.sub(r"^ *(`{3,}).*?^ *\1$", "", page.read_text("utf-8"), flags=re.M | re.S)
    prose = re.sub(r"<!--.*?-->|`[^`]*`|</?code>|<https?://[^>]*>", "", prose, flags=re.S)
    assert re.findall(r"<[\w/][^>\n]*>?", prose) == []


@pytest.mark.parametrize("page", AROUND, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_beside_the_site_lead_somewhere_too(page):
    assert broken_links(page) == []


# the checker itself


def checked(tmp_path: Path, text: str, **variables: str):
    page = tmp_path / "page.md"
    page.write_text(text)
    return check_page(page, tmp_path / "page", variables)


def fence(language: str, body: str) -> str:
    return f"```{language}\n{body}\n```\n"


def test_a_page_that_tells_the_truth_passes(tmp_path):
    text = "\n".join(
        [
            "# A page\n",
            "<!-- file: data/names.txt -->",
            fence("text", "beta\nalpha"),
            fence("console", "$ sort data/names.txt | tee \\\n    sorted.txt\nalpha\n...\nbeta"),
            fence("console", "$ echo 'one\n    two' | tr -d ' '\none\ntwo"),
            fence("console", "$ test -d examples\n$ python -c 'print(6 * 7)'\n42"),
            fence("python", "from pathlib import Path\nnames = Path('sorted.txt').read_text()"),
            fence("python", "print(names.split())"),
            "<!-- output -->",
            fence("text", "['alpha', 'beta']"),
            "<!-- exit: 3 -->",
            fence("console", "$ python -c 'raise SystemExit(3)'"),
            "<!-- not run: there is no such machine -->",
            fence("sh", "ssh nowhere.invalid true"),
            fence("toml", "a = 1"),
            "1. A list:\n",
            "    " + fence("json", "{}").replace("\n", "\n    "),
        ]
    )
    outcome = checked(tmp_path, text)
    assert outcome.checked == 11
    assert outcome.commands == 5
    assert outcome.skipped == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (fence("console", "$ echo one\ntwo"), "not printed: 'two'"),
        (fence("console", "$ printf 'a\\nb\\n'\nb\na"), "not in this order: 'a'"),
        (fence("console", "$ false | true"), "ended with 1, not 0"),
        ("<!-- exit: 3 -->\n" + fence("console", "$ true"), "ended with 0, not 3"),
        ("Text\n\n    pip install x\n", "says no language"),
        (fence("sh", "true"), "not run: REASON"),
        ("<!-- exit: 3 -->\n\nWords.\n" + fence("text", ""), "no block follows"),
        (fence("toml", "a ="), "no toml"),
        (fence("python", "\n1 / 0"), 'File "page", line 3'),
        (fence("python", "print(1)") + "<!-- output -->\n" + fence("text", "2"), "not printed"),
        ("<!-- needs: luck -->\n" + fence("text", ""), "which is none of"),
    ],
)
def test_a_page_that_does_not_is_told(tmp_path, text, told):
    with pytest.raises(PageError) as caught:
        checked(tmp_path, text)
    assert told in str(caught.value)


def test_wrong_links_and_pictures_are_told(tmp_path):
    (tmp_path / "there.md").write_text("# One `word`\n\n## Two words\n\n## Two words\n")
    (tmp_path / "small.png").write_bytes(b"")
    (tmp_path / "big.png").write_bytes(bytes(250_000))
    page = tmp_path / "page.md"
    page.write_text(
        "# Here\n[a](#here) [b](there.md#two-words_1) [c](there.md#one-word) [d](https://x.invalid)\n"
        "[e](gone.md) [f](there.md#three) `[g](nowhere)`\n"
        "![a picture](small.png) ![a picture of nothing at all](big.png)\n"
    )
    assert broken_links(page) == [
        "gone.md leads nowhere",
        "there.md#three: no such heading",
        "small.png: say in more than 'a picture' what the picture shows",
        "big.png: a picture of 250000 bytes",
    ]


# --- the README -----------------------------------------------------------------------------------

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_quick_start_is_one_block_of_two_commands():
    section = README.partition("\n## Quick start\n")[2].partition("\n## ")[0]
    (block,) = re.findall(r"^```sh\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    assert len(block.strip().splitlines()) == 2


@pytest.mark.slow
def test_its_blocks_do_what_they_show(tmp_path):
    assert check_page(ROOT / "README.md", tmp_path / "page").checked >= 10


def test_it_is_read_in_five_minutes():
    seen = re.sub("<!--.*?-->", "", README)
    assert len(seen.split()) <= 900


def test_the_ten_lines_make_a_source(tmp_path, monkeypatch):
    blocks = re.findall(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    (example,) = [block for block in blocks if "GreetingSource" in block]
    (tmp_path / "harvest_greeting.py").write_text(example)
    (tmp_path / "hello.txt").write_text("good\nmorning\n")
    code = (
        "from harvest_greeting import GreetingSource\n"
        "from harvest_testing import collect\n"
        "print([r['text'] for r in collect(GreetingSource('hello.txt')).rows('greeting.line')])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False,
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
    )  # fmt: skip
    assert done.stdout.strip() == "['good', 'morning']", done.stderr
