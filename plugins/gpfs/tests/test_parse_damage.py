"""On damaged lines both parsers give the same rows and the same reasons."""

import random
from itertools import product

import pytest
from policy_lists import ESCAPES, STYLES, by_columns, by_reference, layout_of, line, listing, row
from test_parse_rows import awkward_rows

pytestmark = pytest.mark.slow

LINES = 1500
PIECES = (
    *(b"%", b"|", b"=", b" ", b"-", b" -- ", b"\\", b"\\n", b"0", b"9", b"\0", b"\xff", b"\xc3"),
    *b"%00 %FF %2 %2F %2%2F %7C %3A %3a %20 %2f E E-300 E+400 . + F D ! : / ~ x".split(),
    *(b"\xe9\x80", b"\t", b"\x7f", b"x" * 20, b"123456789012345678", b"1234567890123456789"),
    *(b"99999999999999999999", b"18446744073709551615"),
)


def damaged(chance: random.Random, one: bytes) -> bytes:
    """The line with some bytes changed, lost, put in, repeated, or all after a place lost."""
    for _ in range(chance.choice([1, 1, 2])):
        way, at = chance.randrange(6), chance.randrange(len(one) + 1)
        piece = chance.choice(PIECES)
        if way == 0:
            one = one[:at] + bytes([chance.randrange(256)]) + one[at + 1 :]
        elif way == 1:
            one = one[:at] + one[at + chance.randrange(1, 6) :]
        elif way == 2:
            one = one[:at] + piece + one[at:]
        elif way == 3:
            one = one[:at] + piece + one[at + len(piece) :]
        elif way == 4:
            one = one[:at] + one[at - 12 : at] + one[at:]
        else:
            one = one[: max(at, 1)]
    return one.replace(b"\n", b"") or b"x"


@pytest.mark.parametrize(("style", "escape"), [*product(STYLES, ESCAPES)])
def test_damage_is_the_same_damage_to_all(style: str, escape: str) -> None:
    # given lines of a list, most of them damaged somewhere
    made = awkward_rows()
    layout = layout_of(listing(made, style, escape))
    chance = random.Random(f"{style} {escape}")
    good = [line(one, style, escape) for one in made]
    lines = [damaged(chance, chance.choice(good)) for _ in range(LINES)]
    # when they are parsed by the definition, then some are rows and some are rejects
    table, rejects, _ = by_reference(layout, lines)
    assert table.num_rows > LINES / 40
    assert len(rejects) > LINES / 40
    assert table.num_rows + len(rejects) == LINES
    # and read by columns they give the same rows and the same reasons
    columnar_table, columnar_rejects, _ = by_columns(layout, lines)
    assert columnar_rejects == rejects
    assert columnar_table.equals(table)


@pytest.mark.parametrize("escape", ESCAPES)
def test_what_the_record_format_says_twice_is_compared_by_both(escape: str) -> None:
    # given lines whose SHOW has another pool, path or length than the record
    good = line(row(), "record", escape)
    equals = b"=" if escape == "none" else b"%3D"
    pool, path = b"pool" + equals + b"data", b"path" + equals
    lines = [
        *(good, good.replace(pool, pool[:-1] + b"b"), good.replace(path, path + b"x")),
        *(good.replace(pool, pool[:-1]), good[:-1] + b"x" + good[-1:]),
    ]
    layout = layout_of(listing([row()], "record", escape))
    # when they are parsed, then the first alone is a row, and both parsers say why
    table, rejects, _ = by_reference(layout, lines)
    assert table.num_rows == 1
    columnar_table, columnar_rejects, odd = by_columns(layout, lines)
    assert columnar_rejects == rejects
    assert columnar_table.equals(table)
    assert odd == len(lines) - 1
