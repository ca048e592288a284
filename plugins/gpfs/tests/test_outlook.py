"""Forecasts and quotas over scans whose files the tests know."""

from datetime import datetime, timedelta
from pathlib import Path

import pytest
from raw_lists import NOW, row, write

import harvest

WEEK = timedelta(days=7)
GIB = 2**30
SIZES = [{7: 10, 8: 5}, {7: 14, 8: 5}, {7: 18, 8: 5, 9: 1}]
"""GiB of users 7, 8 and 9 in three scans, a week apart: one grows steadily, one came last."""


def dataset_of(folder: Path, scans: list[dict[int, int]]) -> harvest.Dataset:
    (folder / "lists").mkdir()
    for n, sizes in enumerate(scans):
        rows = [
            row(f"/fs/{uid}".encode(), uid, uid=uid, size=size * GIB, kib=size * 2**20)
            for uid, size in sizes.items()
        ]
        write(folder / "lists" / f"{NOW + n * WEEK:%Y%m%d}.list", rows)
    harvest.run(f"gpfs:{folder / 'lists'}", f"parquet:{folder / 'out'}")
    return harvest.open(folder / "out")


@pytest.fixture(scope="module")
def three(tmp_path_factory) -> harvest.Dataset:
    return dataset_of(tmp_path_factory.mktemp("three"), SIZES)


def rows(dataset: harvest.Dataset, view: str, *key: str, **given) -> dict:
    found = dataset.view(view, **given).collect().to_dicts()
    return {tuple(r[name] for name in key): r for r in found}


def at(days: float) -> datetime:
    return NOW + timedelta(days=days)


def close(time: datetime, to: datetime) -> bool:
    return abs((time - to).total_seconds()) < 1


def test_a_steady_growth_reaches_the_capacity_on_its_day(three):
    """Given 10, 14, 18 GiB, a week apart: 26 GiB are reached two weeks later, surely."""
    found = rows(three, "gpfs.forecast", "uid", by=("uid",), capacity="26G")

    seven = found[7,]
    assert (seven["used_bytes"], seven["scans"]) == (18 * GIB, 3)
    assert seven["bytes_per_day"] == pytest.approx(4 * GIB / 7)
    assert seven["used_share"] == pytest.approx(18 / 26)
    for name in ("full_time", "earliest_time", "latest_time"):
        assert close(seven[name], at(14 + 14)), name
    assert seven["outlook"] == "full in about 14 days (14 days to 14 days)"
    assert found[8,]["full_time"] is None
    assert found[8,]["outlook"] == "does not change"
    # what came last was 0 before, and not unknown
    assert found[9,]["scans"] == 3
    assert found[9,]["bytes_per_day"] == pytest.approx(GIB / 14)
    assert found[9,]["earliest_time"] < found[9,]["full_time"]
    assert found[9,]["latest_time"] is None


def test_the_whole_is_the_sum_of_its_groups(three):
    (whole,) = rows(three, "gpfs.forecast", "scans").values()
    groups = rows(three, "gpfs.forecast", "uid", by=("uid",))

    assert whole["used_bytes"] == sum(g["used_bytes"] for g in groups.values()) == 24 * GIB
    assert whole["bytes_per_day"] == pytest.approx(sum(g["bytes_per_day"] for g in groups.values()))
    assert whole["capacity_bytes"] is None
    assert whole["outlook"].startswith("grows by 658 MiB a day (")


def test_what_may_be_full_at_the_next_scan_is_said_to_be(tmp_path):
    """Given 10, 18 and 10 GiB, nothing grows for sure, and 18 of 19 GiB were there before."""
    data = dataset_of(tmp_path, [{7: 10}, {7: 18}, {7: 10}])

    (whole,) = rows(data, "gpfs.forecast", "scans", capacity="19G").values()

    assert whole["earliest_time"] == at(14)
    assert whole["outlook"] == "does not change; may be full any day"


def test_fewer_scans_say_less(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    (single,) = rows(dataset_of(one, SIZES[:1]), "gpfs.forecast", "scans", capacity="30G").values()
    (pair,) = rows(dataset_of(two, SIZES[:2]), "gpfs.forecast", "scans", capacity="27G").values()

    assert single["bytes_per_day"] is None
    assert single["outlook"] == "no trend: harvest two scans with a time"
    assert close(pair["full_time"], at(7 + 14))
    assert (pair["earliest_time"], pair["latest_time"], pair["least_per_day"]) == (None,) * 3
    assert pair["outlook"] == "full in about 14 days; two scans give no interval"


def test_without_files_there_is_nothing_to_forecast(tmp_path):
    assert rows(dataset_of(tmp_path, [{}]), "gpfs.forecast", "scans") == {}


PRINTED = """\
*** Report for USR GRP FILESET quotas on fs1
mmrepquota::HEADER:version:reserved:reserved:filesystemName:quotaType:id:name:blockUsage:\
blockQuota:blockLimit:blockInDoubt:blockGrace:filesUsage:filesQuota:filesLimit:filesInDoubt:\
filesGrace:remarks:quota:defQuota:fid:filesetname:
mmrepquota::0:1:::fs1:USR:7:ada%3Ax:1:16777216:27262976:0:none:1:0:10:0:none:e:on:off:::
mmrepquota::0:1:::fs1:USR:8:bela:1:0:0:0:none:1:0:1:0:none:i:on:off:::
mmrepquota::0:1:::fs1:GRP:100:staff:1:0:41943040:0:none:1:0:0:0:none:e:on:off:::
mmrepquota::0:1:::fs1:FILESET:1:home:1:0:1048576:0:none:1:0:0:0:none:e:on:off:0:home:
"""


def test_quotas_as_the_file_system_prints_them(three, tmp_path):
    """Given limits of 16 and 26 GiB of ada, none of bela, 40 GiB of a group, 1 GiB of a fileset."""
    path = tmp_path / "quotas.txt"
    path.write_text(PRINTED)

    found = rows(three, "gpfs.quotas", "kind", "name", quotas=path)

    ada = found["user", "ada:x"]
    assert (ada["used_bytes"], ada["soft_bytes"], ada["hard_bytes"]) == (
        18 * GIB,
        16 * GIB,
        26 * GIB,
    )
    assert (ada["used_inodes"], ada["soft_inodes"], ada["hard_inodes"]) == (1, None, 10)
    assert ada["outlook"].startswith("over the soft limit; full in about 14 days")
    assert close(ada["full_time"], at(28))
    bela = found["user", "bela"]
    assert (bela["used_bytes"], bela["hard_bytes"], bela["used_share"]) == (5 * GIB, None, None)
    assert bela["outlook"] == "no file can be added; does not change (0 bytes to 0 bytes)"
    assert found["group", "staff"]["used_bytes"] == 24 * GIB
    # the list says no filesets: that is not 0
    home = found["fileset", "home"]
    assert (home["used_bytes"], home["used_share"]) == (None, None)
    assert home["outlook"] == "unknown: no scan records filesets and their bytes"


def test_quotas_of_a_table_are_of_the_names_in_the_passwd_file(three, tmp_path):
    # a spreadsheet writes a byte-order mark
    (tmp_path / "passwd").write_text("\ufeffada:x:7::::\n")
    path = tmp_path / "quotas.csv"
    lines = ["\ufeffkind,name,soft,hard", "user,ada,,20G", "user,8,1G,", "user,carl,,1T"]
    path.write_text("\n".join([*lines, "user,77,0,0"]))

    found = rows(three, "gpfs.quotas", "name", quotas=path, passwd=tmp_path / "passwd")

    assert found["ada",]["used_share"] == pytest.approx(0.9)
    assert found["8",]["outlook"] == "full"
    assert found["carl",]["used_bytes"] is None
    assert found["carl",]["outlook"] == "unknown: the number of the user is not given"
    assert found["77",]["outlook"] == "does not change (0 bytes to 0 bytes)"
    assert [*found] == [("8",), ("ada",), ("77",), ("carl",)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kind,name,soft,hard\nproject,x,1G,\n", "'project' is none of user, group, fileset"),
        ("kind,name,soft,hard\nuser,x,lots,\n", "'lots' is not a size"),
        # more than an int64 holds
        ("kind,name,soft,hard\nuser,x,8E,\n", "'8E' is not a size"),
        ("user,7,1G,2G\n", "it has no 'kind'"),
        (PRINTED.replace("fs1:GRP", "fs2:GRP"), "another file system"),
        (PRINTED.replace("USR:7", "XYZ:7"), "'XYZ' is none of USR, GRP, FILESET"),
    ],
)
def test_a_file_that_is_none_is_refused_with_its_line(three, tmp_path, text, words):
    path = tmp_path / "quotas.txt"
    path.write_text(text)
    with pytest.raises(harvest.UsageError) as caught:
        three.view("gpfs.quotas", quotas=path)
    assert words in str(caught.value)
    line = 3 if "XYZ" in text else 5 if "fs2" in text else 1 if "kind'" in words else 2
    assert f"{path}, line {line}: " in str(caught.value)


def test_a_file_that_is_not_there_or_not_given_is_said(three, tmp_path):
    with pytest.raises(harvest.UsageError, match="cannot be read"):
        three.view("gpfs.quotas", quotas=tmp_path / "none")
    with pytest.raises(harvest.UsageError, match="set quotas=FILE"):
        three.view("gpfs.quotas").collect()
