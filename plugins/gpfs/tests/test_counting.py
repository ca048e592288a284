"""Lines before a range are counted as they are when looked at one by one."""

from pathlib import Path

import attrs
from hypothesis import given
from hypothesis import strategies as st

from harvest import file_partition
from harvest_gpfs.parse.counting import Before, after
from harvest_gpfs.source import GpfsSource

SKIPPED = b"\t12 'skipped' files and/or errors."

REMARKS = (b"", b"#", b"[I] done", b"# end rows=3", b"# end rows=", b" # end rows=3", SKIPPED)
LINES = st.sampled_from([*REMARKS, b"1" + SKIPPED, b"1 2 3 -- /a"])
lines = st.lists(
    LINES | st.binary(max_size=300).map(lambda raw: raw.replace(b"\n", b" ")), max_size=40
)


def told(parts: list[bytes]) -> Before:
    """What whole lines are, looked at one by one."""
    remarks = [not part or part[:1] in (b"#", b"[") or part == SKIPPED for part in parts]
    at_trailer = 0
    for number, part in enumerate(parts):
        if part == b"# end rows=3":
            at_trailer = number - sum(remarks[:number])
    return Before(len(parts), sum(remarks), at_trailer)


@given(parts=lines, rest=st.sampled_from([b"", b"#", b"[", b"1 2", b"# end rows=3", SKIPPED]))
def test_lines_that_end_are_counted_and_what_is_cut_off_is_not(
    parts: list[bytes], rest: bytes
) -> None:
    chunk = b"".join(part + b"\n" for part in parts) + rest

    assert after(Before(), chunk) == told(parts)


def test_each_place_of_a_list_has_the_lines_before_it(tmp_path: Path) -> None:
    # given a list with one line longer than what is counted at once, and places in any order
    parts = [b"x" * 700_000, b"# a header", *(b"%d" % number * 9 for number in range(60_000))]
    path = tmp_path / "scan.list"
    path.write_bytes(b"".join(part + b"\n" for part in parts))
    ends = [0]
    for part in parts:
        ends.append(ends[-1] + len(part) + 1)
    source, whole = GpfsSource(str(path)), file_partition(path, id=path.name)

    for number in (30_000, 0, 1, 2, 3, 60_002, 45_000):
        found = source.prepare(attrs.evolve(whole, start=ends[number]))
        assert found.options["before"] == [number, int(number >= 2), 0]
