"""Whether a percent sign in a list is itself or begins an escape.

The clause ESCAPE encodes SHOW and path alike, so SHOW shows it; where SHOW proves nothing, all
paths together decide, and what they leave open is said in a note.
"""

from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_lists import ESCAPES, STYLES, escaped, files, harvest, layout_of, listing, row
from test_parse_rows import rows

from harvest_gpfs.parse.layout import Escaping

PLAIN = "{n} 7 0  |size=1|access=2026-01-10 08:15:00|misc=FA| -- {path}\n"
ENCODED = "{n} 7 0  %7Csize%3D1%7Caccess%3D2026-01-10%2008%3A15%3A00%7Cmisc%3DFA%7C -- {path}\n"
NUMBERS = "{n} 7 0  935 -- {path}\n"
DOUBT = "nothing in the list proves"


def written(folder: Path, *lines: tuple[str, list[str]]) -> Path:
    """A list of lines: forms, each with the paths that follow in it."""
    every = [(form, path) for form, paths in lines for path in paths]
    path = folder / "scan.list"
    path.write_text("".join(form.format(n=n, path=path) for n, (form, path) in enumerate(every, 1)))
    return path


def read(path: Path, **more: Any) -> tuple[list[str], list[str]]:
    """Paths of a list, and the notes on it; nothing may be rejected."""
    found = harvest(path, **more)
    assert not found.rejects
    return [one["path"] for one in files(found)], list(found.notes)


def test_percent_signs_of_a_plain_list_are_themselves(tmp_path: Path) -> None:
    # given a list without ESCAPE, as blanks and colons in SHOW prove
    names = ["/gpfs/run/a%2Fb", "/gpfs/run/100% done", "/gpfs/run/pct%41", "/gpfs/run/a%20b"]
    for paths in ([names[0]] * 3, names):
        # when it is read, then names are as they stand, and there is no doubt
        assert read(written(tmp_path, (PLAIN, paths))) == (paths, [])


def test_escapes_of_an_encoded_list_are_undone(tmp_path: Path) -> None:
    path = written(tmp_path, (ENCODED, ["/gpfs/a%20b", "/gpfs/100%25%20done", "/gpfs/pct%2541"]))
    assert read(path) == (["/gpfs/a b", "/gpfs/100% done", "/gpfs/pct%41"], [])


def test_damaged_lines_do_not_decide(tmp_path: Path) -> None:
    # given an encoded list, in whose first line a blank stands in SHOW
    damaged = ENCODED.replace("%20", " ")
    path = written(tmp_path, (damaged, ["/gpfs/x"]), (ENCODED, ["/gpfs/a%20b"] * 5))
    # when it is read, then the other lines decide
    assert {one["path"] for one in files(harvest(path))} >= {"/gpfs/a b"}


def test_a_path_without_slash_is_encoded_whatever_show_is(tmp_path: Path) -> None:
    path = written(tmp_path, (PLAIN, ["%2Fgpfs%2Fa%20b", "%2Fgpfs%2Fc"]))
    assert read(path) == (["/gpfs/a b", "/gpfs/c"], [])


@pytest.mark.parametrize(
    ("names", "wanted", "doubt"),
    [
        # ESCAPE would have encoded the blank
        (["/gpfs/a b", "/gpfs/c"], None, False),
        # nor is a percent sign, a letter or an unencoded slash written so
        (["/gpfs/100%"], None, False),
        (["/gpfs/pct%41"], None, False),
        (["/gpfs/a%2Fb"], None, False),
        # all percent signs begin escapes: names may do so by chance
        (["/gpfs/a%20b", "/gpfs/c%25"], ["/gpfs/a b", "/gpfs/c%"], True),
        # a blank that ESCAPE would have encoded, and what looks like an encoded blank
        (["/gpfs/a b", "/gpfs/a%20b"], None, True),
        # no percent sign, no question
        (["/gpfs/a", "/gpfs/b"], None, False),
    ],
)
def test_where_show_proves_nothing_all_paths_decide(
    tmp_path: Path, names: list[str], wanted: list[str] | None, doubt: bool
) -> None:
    # given a list whose SHOW is a number
    path = written(tmp_path, (NUMBERS, names))
    # when it is read, then its paths decide, and a note says what they leave open
    paths, notes = read(path, show="FILE_SIZE")
    assert paths == (wanted or names)
    assert [note.startswith(DOUBT) for note in notes] == [True] * doubt
    # and the setting is above all doubt
    assert read(path, show="FILE_SIZE", escape="none") == (names, [])


def test_the_setting_is_above_what_show_proves(tmp_path: Path) -> None:
    path = written(tmp_path, (PLAIN, ["/gpfs/a%20b"]))
    assert read(path, escape="percent") == (["/gpfs/a b"], [])


def test_lines_behind_the_first_ones_decide_for_all_ranges(tmp_path: Path) -> None:
    # given a list that is read in many ranges, where one name in the midst proves it plain
    doubtful = [f"/gpfs/some/directory/a%20b{n}" for n in range(600)]
    names = [*doubtful, "/gpfs/100%!", *doubtful]
    path = written(tmp_path, (NUMBERS, names))
    found = harvest(path, show="FILE_SIZE", partition_bytes=4096)
    assert len(found.partitions) > 10
    # when it is read, then all ranges are taken alike
    assert [one["path"] for one in files(found)] == names
    # because that was decided once, when reading was planned
    assert len({tuple(part.options["escaping"]) for part in found.partitions}) == 1


@pytest.mark.slow
@pytest.mark.parametrize(("style", "escape"), [*product(STYLES, ESCAPES)])
@given(names=st.lists(st.text("a%20F ", min_size=1), min_size=1, max_size=4))
def test_show_decides_whatever_names_look_like(style: str, escape: str, names: list[str]) -> None:
    # given names that look like escapes, or nearly
    made = [row(path=b"/data/" + name.encode()) for name in ("data", *names)]
    # when the list's layout is found, then it is how the list was written
    escaping = layout_of(listing(made, style, escape)).escaping
    percent = escape != "none"
    assert escaping == Escaping(show=percent, path=percent)


@pytest.mark.slow
@pytest.mark.parametrize("escape", ESCAPES)
@given(made=st.lists(rows.map(lambda one: one["path"]), min_size=1, max_size=8))
def test_a_list_that_proves_nothing_is_never_wrong_in_silence(
    tmp_path_factory: pytest.TempPathFactory, escape: str, made: list[bytes]
) -> None:
    # given paths of any names behind a number, which proves nothing
    path = tmp_path_factory.mktemp("lists") / "scan.list"
    lines = [b"%d 7 0  935 -- %s\n" % (n, escaped(name, escape)) for n, name in enumerate(made)]
    path.write_bytes(b"".join(lines))
    # when it is read, then names are what was written, or a note says what is in doubt
    found = harvest(path, show="FILE_SIZE")
    exact = [one["path_raw"] or one["path"].encode() for one in files(found)] == made
    assert exact or any(note.startswith(DOUBT) for note in found.notes)
    # and with the setting they are what was written
    told = harvest(path, show="FILE_SIZE", escape="none" if escape == "none" else "percent")
    assert not told.notes
    assert [one["path_raw"] or one["path"].encode() for one in files(told)] == made
