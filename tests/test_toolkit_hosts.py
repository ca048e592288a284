"""Which names are of one host."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest_toolkit.hosts import expand, host_name, same_host, short, short_name


def told(one: str | None, other: str | None) -> bool | None:
    frame = pl.DataFrame({"a": [one], "b": [other]}, schema={"a": pl.String, "b": pl.String})
    return frame.select(same_host(pl.col("a"), pl.col("b"))).item()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        # an address is compared as a whole: what two have in common is a network
        ("10.201.4.43", "10.201.4.44", False),
        ("10.201.4.43", "10", False),
        ("fe80::1", "fe80::2", False),
        ("fe80::1", "FE80:0:0:0:0:0:0:1", True),
        ("[fe80::1]:8786", "fe80::1", True),
        # a domain may be left out, but two full names that differ are two hosts
        ("node7", "node7.cluster.org", True),
        ("node7.cluster.org", "node7.other.org", False),
        ("node7", "node8", False),
        ("node7", "node71.cluster.org", False),
        ("node7.hsn", "node7.hsn.cluster.org", True),
        # neither case, nor a port, nor the dot of the root makes another host
        ("Node7.Cluster.org.", "node7.cluster.org", True),
        ("node7:8786", "node7", True),
        ("10.0.0.1:8786", "10.0.0.1", True),
        # what is not known is not the same, and not another
        (None, "node7", None),
    ],
)
def test_names_of_one_host(one, other, same):
    assert told(one, other) is same
    assert told(other, one) is same


def test_all_names_of_a_host_have_one_short_name_to_join_by():
    names = ["nid001.cray.org", "NID001", "nid001.:22", "10.201.4.43", "[::1]:1", "", None]

    found = pl.DataFrame({"host": names}).select(short(pl.col("host")))["host"].to_list()

    assert found == ["nid001", "nid001", "nid001", "10.201.4.43", "::1", None, None]
    assert [short_name(name) for name in names if name is not None] == found[:-1]
    assert host_name("nid001.Cray.org.") == "nid001.cray.org"


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("login1", ["login1"]),
        ("nid[001-003,007]", ["nid001", "nid002", "nid003", "nid007"]),
        ("a[9-10],b", ["a9", "a10", "b"]),
        ("r[1-2]n[1-2]x", ["r1n1x", "r1n2x", "r2n1x", "r2n2x"]),
        ("None assigned", ["None assigned"]),
        ("n[1-", []),
        ("n[1],n[a-b]", []),
        ("n[1],n[2,5-3]", []),
        ("n[1-999999999]", []),
        ("", []),
    ],
)
def test_slurm_s_lists_of_hosts_are_expanded(text, hosts):
    assert expand(text) == hosts


@given(st.lists(st.integers(0, 999), min_size=1, unique=True), st.sampled_from(["n", "nid-0x"]))
def test_a_list_of_numbers_gives_each_of_them(numbers, prefix):
    text = f"{prefix}[{','.join(f'{number:03d}' for number in numbers)}]"

    assert expand(text) == [f"{prefix}{number:03d}" for number in numbers]
