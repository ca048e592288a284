"""Rows of any values, written in every style and escape, are read back exactly by both parsers."""

from datetime import UTC, datetime
from itertools import cycle, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from policy_lists import (
    ESCAPES,
    STYLES,
    Row,
    by_columns,
    by_reference,
    expected,
    files,
    harvest,
    layout_of,
    line,
    listing,
    row,
)

AWKWARD = (
    *(b"with space", b"pipe|name", "caf\u00e9".encode(), "\u6570\u636e".encode(), b"100%done"),
    *(b"a -- b", b"new\nline", b"bad\xff\xfebyte", b"plus+and&", b"quote's", b"tab\tname"),
    *(b"back\\slash", b"pct%41", b"eq=uid=5", b"semi;#", b"cr\rname", b"\\n", b"\\\\n\\", b"%2F"),
    *(
        b"|misc=FAu|",
        b"\xed\xa0\x80",
        b"\xf0\x9f\x98\x80",
        b"\xc3",
        b"x" * 255,
        b"-- ",
        b"\x01\x7f",
    ),
)
names = st.one_of(
    st.sampled_from(AWKWARD),
    st.binary(min_size=1, max_size=40).map(
        lambda raw: raw.replace(b"\0", b"0").replace(b"/", b"_")
    ),
)
paths = st.lists(names, min_size=1, max_size=4).map(lambda parts: b"/data/" + b"/".join(parts))
times = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)).map(lambda m: m.replace(tzinfo=UTC))
rows = st.fixed_dictionaries(
    {
        "inode": st.integers(0, 2**64 - 1),
        "generation": st.integers(0, 2**63 - 1),
        "size": st.integers(0, 2**63 - 1),
        "kib": st.integers(0, 2**53 - 1),
        "access": times,
        "create": times,
        "modify": times,
        "uid": st.integers(-2, 2**32),
        "gid": st.integers(-2, 2**32),
        "heat": st.floats(0, 1e300) | st.just(0.0),
        "pool": st.sampled_from(["data", "system", "", "a b", "p|q", "caf\u00e9", "50%"]),
        "flags": st.sampled_from(["FAu", "F", "DA+", "L", "O2", "Au"]),
        "nlink": st.integers(0, 10**6),
        "path": paths,
    }
).map(lambda made: row(**made) | {"mode": mode_of(made["flags"])})


def awkward_rows() -> list[Row]:
    """A file and a directory of each awkward name, with values as file systems have them."""
    return [
        row(inode=40961 + number, path=b"/data/u/" + name, heat=number * 1.7e-5, flags=flags)
        | {"mode": mode_of(flags)}
        for number, name in enumerate(AWKWARD)
        for flags in ("FAu", "DAu")
    ]


def mode_of(flags: str) -> str:
    """A mode that tells the kind that the flags tell."""
    return {"F": "-", "D": "d", "L": "l", "O": "p"}.get(flags[0], "-") + "rwxr-s--T"


@pytest.mark.slow
@pytest.mark.parametrize(("style", "escape"), [*product(STYLES, ESCAPES)])
@given(made=st.lists(rows, min_size=1, max_size=8))
def test_every_row_comes_back(style: str, escape: str, made: list[Row]) -> None:
    # given rows of any values, in a list whose layout its own first lines tell
    if style == "cdm" or (style != "ncar" and escape == "none"):  # which | would end
        made = [one | {"pool": one["pool"].replace("|", "_")} for one in made]
    lines = [line(one, style, escape) for one in made]
    layout = layout_of(listing([row()] * 5, style, escape))
    # when they are parsed by the reference and by columns, then every value is what was written
    for table, rejects, _ in (by_reference(layout, lines), by_columns(layout, lines)):
        assert not rejects
        for number, (one, got) in enumerate(zip(made, table.to_pylist(), strict=True), 1):
            wanted = expected(one, style) | {"position": number}
            assert {name: got.get(name) for name in wanted} == wanted


MARKED = ("record", "none")
"""The style and escape that mark names with newlines."""


@pytest.mark.parametrize("escape", ESCAPES)
@pytest.mark.parametrize("style", STYLES)
def test_realistic_rows_are_read_by_columns(style: str, escape: str) -> None:
    # given names that are awkward, and values as file systems have them
    made = awkward_rows()
    layout = layout_of(listing(made, style, escape))
    lines = [line(one, style, escape) for one in made]
    # when the list is read by columns
    _, rejects, odd = by_columns(layout, lines)
    # then none of its lines needs the reference parser, but records that a minus sign marks
    assert not rejects
    marked = [one for one in made if b"\n" in one["path"]] if (style, escape) == MARKED else []
    assert odd == len(marked)


@pytest.mark.parametrize(("style", "escape"), [*zip(STYLES, cycle(ESCAPES))])
def test_a_list_in_ranges_has_the_rows_of_the_whole(tmp_path, style: str, escape: str) -> None:
    path = tmp_path / "scan.list"
    made = [row(inode=n, size=n * 7, path=b"/data/u/%d" % n) for n in range(1, 150)]
    path.write_bytes(listing(made, style, escape))

    whole, ranged = harvest(path), harvest(path, partition_bytes=8192)

    assert len(ranged.partitions) > 2
    assert not whole.rejects + ranged.rejects
    assert [one["size_bytes"] for one in files(whole)] == [one["size"] for one in made]
    assert files(ranged) == files(whole)
