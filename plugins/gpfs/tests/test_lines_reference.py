"""What one line means, and why a damaged one has no row, by example."""

import pytest
from policy_lists import layout_of, line, listing, row

from harvest_gpfs.parse.layout import LONGEST_LINE, Layout
from harvest_gpfs.parse.reference import Damaged, parse

UAB = line(row(), "uab", "pct")
RAW = line(row(), "uab", "none")
NCAR = line(row(), "ncar", "none")
CDM = line(row(), "cdm", "slash")
RECORD = line(row(), "record", "none")


def layout(style: str, escape: str) -> Layout:
    return layout_of(listing([row()] * 3, style, escape))


def reason(style: str, escape: str, text: bytes) -> str:
    with pytest.raises(Damaged) as caught:
        parse(layout(style, escape), text)
    return str(caught.value)


def test_what_a_record_says_beside_its_columns_is_kept() -> None:
    record = parse(layout("record", "none"), RECORD)
    assert "snapshot_id" not in record
    assert record["extra"] == {
        "aggregate": "5001",
        "weight": "000fffffffffffff",
        "record_size": "0",
        "rule": "2c172b",
        "resource": "10002",
        "attr_flags": "0",
    }


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (b"size%3D935", b"size%3D-935", "size: '-935' is negative"),
        (b"size%3D935", b"size%3D9e3", "size: '9e3' is not a whole number"),
        (b"size%3D935", b"size%3D", "size is missing"),
        (b"size%3D935", b"size%3D9223372036854775808", "does not fit 63 bits"),
        (b"kballoc%3D16", b"kballoc%3D9007199254740992", "does not fit 63 bits"),
        (b"40961 ", b"18446744073709551616 ", "inode: 18446744073709551616 does not fit 64 bits"),
        (b"%7Ckballoc%3D16", b"", "'%7Ckballoc%3D' is missing after size"),
        (b"kballoc", b"kbalolc", "'%7Ckballoc%3D' is missing after size"),
        (b"access%3D2026-01-11", b"access%3D2026-02-30", "day"),
        (b"access%3D2026-01-11", b"access%3D0000-01-11", "year 0 is out of range"),
        (b"12%3A30%3A45", b"12%3A30%3A60", "second must be in 0..59"),
        (b"12%3A30%3A45", b"12%3A30", "is not a time such as"),
        (b"heat%3D%2B0.0", b"heat%3D%2B9E9E", "heat: '%2B9E9E000000000000"),
        (b"%2B000%7Cpool", b"%2B999%7Cpool", ""),
        (b"misc%3DFAu", b"misc%3DFDu", "'FDu' means more than one kind of file"),
        (b"misc%3DFAu", b"misc%3DF%20u", "'F u' is not a row of flags"),
        (b"pool%3Ddata", b"pool%3Dda%GGta", "pool: '%GG' is not an escape"),
        (b"pool%3Ddata", b"pool%3Dda%FFta", "is not UTF-8 text"),
        (b"pool%3Ddata", b"pool%3Dda%00ta", "pool holds a NUL byte"),
        (b" -- ", b" - ", "'%7C -- ' is missing after misc"),
        (b"%2Fdata%2Fproject", b"%2Fdata%2project", "path: '%2p' is not an escape"),
        (b"%2Fdata%2Fproject", b"%2Fdata%00project", "path holds a NUL byte"),
        (b" -- %2Fdata", b" -- data", "does not begin with /"),
    ],
)
def test_damage_has_a_reason(old: bytes, new: bytes, why: str) -> None:
    assert old in UAB
    text = UAB.replace(old, new, 1)
    if not why:  # a zero stays a zero, whatever its exponent is
        assert parse(layout("uab", "pct"), text)["heat"] == 0.0
    else:
        assert why in reason("uab", "pct", text)


def test_a_line_without_its_path() -> None:
    cut = UAB[: UAB.index(b" -- ") + 4]
    assert reason("uab", "pct", cut) == "the path is missing"
    assert "' -- ' is missing after nlink" in reason("cdm", "slash", CDM[: CDM.index(b" -- ")])
    assert "'|' is missing after pool" not in reason("uab", "none", RAW[:60])


def test_a_line_that_no_path_makes_so_long() -> None:
    text = UAB + b"x" * 1_000_000
    assert reason("uab", "pct", text).startswith(f"a line of {len(text)} bytes, longer than any")
    assert parse(layout("uab", "pct"), UAB + b"x" * (LONGEST_LINE - len(UAB)))["inode"] == 40961


def test_numbers_at_their_limits() -> None:
    most = row(inode=2**64 - 1, generation=2**63 - 1, size=2**63 - 1, kib=2**53 - 1, uid=-2)
    one = parse(layout("uab", "pct"), line(most, "uab", "pct"))
    assert (one["inode"], one["generation"]) == (2**64 - 1, 2**63 - 1)
    assert (one["size_bytes"], one["allocated_bytes"]) == (2**63 - 1, (2**53 - 1) * 1024)
    assert one["uid"] == -2


def test_text_and_heat_may_be_missing() -> None:
    text = line(row(pool=""), "uab", "none").replace(b"heat=+0.00000000000000E+000", b"heat=")
    one = parse(layout("uab", "none"), text)
    assert (one["pool"], one["heat"]) == (None, None)


def test_escapes_in_text() -> None:
    one = parse(layout("uab", "pct"), UAB.replace(b"pool%3Ddata", b"pool%3Dcaf%C3%A9%7Ctwo"))
    assert one["pool"] == "caf\u00e9|two"
    one = parse(layout("ncar", "none"), NCAR.replace(b"-rw-r--r--", b"-rw-r--r--+"))
    assert one["mode"] == "-rw-r--r--+"


def test_backslashes_without_escape_clause() -> None:
    def path(written: bytes) -> bytes:
        return RAW.replace(b"file_1.txt", written)

    one = parse(layout("uab", "none"), path(rb"a\\nb\nc%41"))
    assert one["path"] == "/data/project/a\\nb\nc%41"
    assert reason("uab", "none", path(rb"a\b")) == "path: '\\\\b' is not an escape"


def test_flags_and_mode_must_agree() -> None:
    text = NCAR.replace(b"p=-rw", b"p=drw")
    assert reason("ncar", "none", text) == (
        "flags 'FAu' mean a file, mode 'drw-r--r--' a directory"
    )
    assert "is not a mode such as" in reason("ncar", "none", NCAR.replace(b"p=-rw", b"p=zrw"))


def test_records_are_held_to_their_lengths() -> None:
    assert "bytes are missing" in reason("record", "none", RECORD[:80])
    cut = RECORD.replace(b"|kballoc=16", b"|kballoc=1")
    assert "1 of 220 bytes are missing" in reason("record", "none", cut)
    assert "where its length says" in reason("record", "none", RECORD.replace(b"220!", b"219!"))
    other = RECORD.replace(b":4!data;", b":4!date;")
    assert reason("record", "none", other) == "pool: 'data' in SHOW is another than in the record"
    moved = RECORD.replace(b"path=/data/project", b"path=/data/projecx")
    assert "does not end with the record's" in reason("record", "none", moved)


def test_a_record_whose_string_is_marked_as_escaped() -> None:
    # the policy engine writes a minus sign before the length of a string with escapes
    name = row(path=b"/data/new\nline\\")
    text = line(name, "record", "none")
    assert b":-11!new\\nline\\\\:" in text
    assert parse(layout("record", "none"), text)["path"] == "/data/new\nline\\"
