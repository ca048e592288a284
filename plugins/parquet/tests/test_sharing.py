"""Small partitions share files, and nobody who reads the dataset can tell."""

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest import DatasetError, Record, field, record, record_type
from harvest.model.arrow import table_of
from harvest.storage.staging import SMALL_BYTES
from harvest_parquet.sink import ParquetSink
from harvest_testing import SinkDriver


@record("demo.step", layer="workflow", level="worker")
class Step(Record):
    """One step of a small log."""

    name: str = field(role="subject")
    size_bytes: int | None = field(unit="bytes")


@record("demo.remark", layer="job", level="job")
class Remark(Record):
    text: str


STEP, REMARK = record_type(Step), record_type(Remark)


def steps(origin: str, *names: str) -> pa.Table:
    rows = [Step(name=n, size_bytes=len(n), origin=origin, position=i) for i, n in enumerate(names)]
    return table_of(STEP, rows)


def remarks(origin: str, *texts: str) -> pa.Table:
    return table_of(REMARK, [Remark(text=t, origin=origin, position=1) for t in texts])


@pytest.fixture
def driver(tmp_path: Path) -> SinkDriver:
    return SinkDriver(ParquetSink(str(tmp_path / "out")))


def files(driver: SinkDriver, kind: str = "demo.step") -> list[Path]:
    return sorted(driver.sink.root.glob(f"{kind}/*"))


def by_glob(driver: SinkDriver) -> list[str]:
    return sorted(
        name
        for path in files(driver)
        for name in pq.read_table(path, partitioning=None)["name"].to_pylist()
    )


def scanned(driver: SinkDriver) -> list[str]:
    return driver.scan(STEP).collect()["name"].to_list()


def test_small_partitions_of_one_commit_share_a_file_per_record_type(driver: SinkDriver) -> None:
    driver.commit(
        {
            "a": [(STEP, steps("/a", "x", "y")), (REMARK, remarks("/a", "hm"))],
            "b": [(STEP, steps("/b", "z"))],
            "c": [(REMARK, remarks("/c", "aha"))],
        }
    )
    assert [len(files(driver, kind)) for kind in ("demo.step", "demo.remark")] == [1, 1]
    entry = {key: found[0] for key, found in driver.files.items()}
    assert (entry["a"].first_row, entry["a"].rows, entry["a"].file_rows) == (0, 2, 3)
    assert (entry["b"].first_row, entry["b"].rows, entry["b"].file_rows) == (2, 1, 3)
    assert scanned(driver) == by_glob(driver) == ["x", "y", "z"]
    assert driver.scan(REMARK).collect()["text"].to_list() == ["hm", "aha"]


def test_a_partition_alone_keeps_a_file_of_its_own_name(driver: SinkDriver) -> None:
    driver.commit({"a": [(STEP, steps("/a", "x"))]})
    [path] = files(driver)
    assert path.name.startswith("a-")
    assert driver.files["a"][0].file_rows is None


def test_a_large_partition_shares_nothing(driver: SinkDriver) -> None:
    long = "n" * (SMALL_BYTES + 1)
    driver.commit({"a": [(STEP, steps("/a", long))], "b": [(STEP, steps("/b", "z"))]})
    assert len(files(driver)) == 2
    assert {found[0].file_rows for found in driver.files.values()} == {None}


def test_rows_of_the_others_are_carried_over_when_one_is_read_again(driver: SinkDriver) -> None:
    driver.commit({key: [(STEP, steps(f"/{key}", key, key + key))] for key in "abc"})
    [before] = files(driver)
    driver.commit({"b": [(STEP, steps("/b", "new"))]})
    assert before not in files(driver)
    assert scanned(driver) == ["a", "aa", "new", "c", "cc"]
    assert by_glob(driver) == sorted(scanned(driver))
    # what the file says of itself is carried over too
    [after] = files(driver)
    assert pq.read_schema(after).metadata[b"harvest.record_type"] == b"demo.step"
    assert pq.read_schema(after).field("size_bytes").metadata[b"harvest.unit"] == b"bytes"
    driver.commit({"a": None, "c": None})
    assert scanned(driver) == by_glob(driver) == ["new"]
    driver.commit({"b": None})
    assert files(driver) == []


def test_part_of_a_shared_file_can_be_asked_for(driver: SinkDriver) -> None:
    driver.commit({key: [(STEP, steps(f"/{key}", key, key + key))] for key in "abc"})
    driver.commit({"d": [(STEP, steps("/d", "d"))]})
    some = [*driver.files["b"], *driver.files["d"]]
    found = driver.sink.scan(some, STEP).collect()["name"].to_list()
    assert sorted(found) == ["b", "bb", "d"]


def test_until_the_commit_the_old_rows_stay_in_force(driver: SinkDriver) -> None:
    driver.commit({key: [(STEP, steps(f"/{key}", key))] for key in "ab"})
    publication = driver.stage({"a": [(STEP, steps("/a", "new"))]})
    staged = publication.staged["a"] / "rows"
    staged.touch()  # as those of a run, which wait there
    # killed after the files were put in place, before the manifest was renamed
    driver.sink.publish(publication)
    assert scanned(driver) == ["a", "b"]
    # the next run tidies up, and finds its staged work
    driver.recover()
    assert staged.exists()
    assert by_glob(driver) == ["a", "b"]
    driver.publish(publication)
    driver.finish(publication)
    assert scanned(driver) == ["new", "b"]
    assert by_glob(driver) == ["b", "new"]


def test_rows_are_never_carried_over_from_a_damaged_file(driver: SinkDriver) -> None:
    driver.commit({key: [(STEP, steps(f"/{key}", key))] for key in "ab"})
    [path] = files(driver)
    data = bytearray(path.read_bytes())
    data[10] ^= 1
    path.write_bytes(data)
    with pytest.raises(DatasetError, match="damaged"):
        driver.commit({"a": [(STEP, steps("/a", "new"))]})


def test_rows_of_two_versions_of_a_type_do_not_share_a_file(driver: SinkDriver) -> None:
    older = steps("/a", "x").drop_columns(["size_bytes"])
    driver.commit({"a": [(STEP, older)], "b": [(STEP, steps("/b", "z"))]})
    assert len(files(driver)) == 2
    found = driver.scan(STEP).collect()
    assert found.sort("name")["size_bytes"].to_list() == [None, 1]


@pytest.mark.slow
@given(
    changes=st.lists(
        st.dictionaries(
            st.sampled_from("abcde"),
            st.none() | st.lists(st.sampled_from(["p", "q", "r" * 300]), max_size=3),
            min_size=1,
        ),
        min_size=1,
        max_size=5,
    )
)
def test_any_history_of_commits_leaves_the_rows_of_the_last_state(
    tmp_path_factory: pytest.TempPathFactory, changes: list[dict[str, list[str] | None]]
) -> None:
    driver = SinkDriver(ParquetSink(str(tmp_path_factory.mktemp("any") / "out")))
    state: dict[str, list[str]] = {}
    for change in changes:
        wanted = {key: names for key, names in change.items() if names is not None or key in state}
        driver.commit(
            {
                key: None if names is None else [(STEP, steps(f"/{key}", *names))]
                for key, names in wanted.items()
            }
        )
        for key, names in wanted.items():
            if names is None:
                del state[key]
            else:
                state[key] = names
        rows = driver.scan(STEP).select("origin", "name").collect()
        for key, names in state.items():
            mine = rows.filter(pl.col("origin") == f"/{key}")["name"].to_list()
            assert mine == names
        assert len(rows) == sum(map(len, state.values()))
        assert by_glob(driver) == sorted(name for names in state.values() for name in names)
        named = {file.path for found in driver.files.values() for file in found}
        assert {str(path.relative_to(driver.sink.root)) for path in files(driver)} == named
