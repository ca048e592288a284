"""Runs that look at some inputs only: since a day, or those that a list names."""

import os
from datetime import date, datetime, timedelta
from pathlib import Path

import attrs
import orjson
import pytest
from archives import BY_FILE, PLANS, Archive
from hypothesis import given
from hypothesis import strategies as st

from harvest.errors import ConfigError, UsageError
from harvest.pipeline.record import last_day
from harvest.pipeline.rollback import roll_back
from harvest.recipes.recipe import Recipe, day_of
from harvest.recipes.selection import Named, Since
from harvest.storage.manifest import Manifest
from harvest_parquet.sink import ParquetSink


@pytest.fixture
def archive(tmp_path):
    days = {f"_2026__11__{day}__a": f"of day {day}" for day in (1, 2, 3)}
    return Archive(tmp_path).write(**days, notes="no day")


def names_read(result):
    return sorted(part.partition for part in result.parts)


NAMES = ["a", "u/b", "u/c", "u/v/c", "d"]

# --- since a day ----------------------------------------------------------------------------------


def test_directories_named_for_an_earlier_day_are_not_listed(tmp_path):
    listed = ["2026/11/3/a", "2026/11/04/u/b", "2026-11-03/c", "20261201/d"]
    # names that are no day, or not a whole one, do not say how old what is in them is
    listed += ["2026/11/e", "2025/f", "2026/13/1/g", "2048/h", "20260230/i", "run/j", "k"]
    left = ["2026/11/2/l", "2026/9/30/m", "2025/12/31/u/n", "2026-11-02/o", "u/20261101/p"]
    for name in (*listed, *left):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    since = Since(date(2026, 11, 3))

    found = sorted(str(path.relative_to(tmp_path)) for path in since.files(tmp_path))

    assert found == sorted(listed)
    assert since.remarks() == [
        "since 2026-11-03: 4 directories named for a day read, 5 of earlier days skipped"
    ]


def test_a_day_is_a_date_or_so_many_days_ago():
    today = datetime.now().astimezone().date()
    assert day_of("2026-11-03") == day_of("20261103") == date(2026, 11, 3)
    assert day_of("7d") in (today - timedelta(7), today - timedelta(6))  # at midnight
    assert day_of("99999d") is not None
    assert [day_of(text) for text in ("2026-13-01", "yesterday", "-3d", "", "7 d")] == [None] * 5


@pytest.mark.parametrize("plan", BY_FILE)
def test_since_reads_late_days_alone_and_keeps_the_others(tmp_path, plan):
    archive = Archive(tmp_path, plan)
    archive.write(_2026__11__1__a="old", _2026__11__3__a="new", notes="no day").run()
    archive.write(_2026__11__1__a="old, changed", _2026__11__3__a="new, changed")
    (archive.logs / "notes").unlink()

    result = archive.run(since="2026-11-03")

    assert names_read(result) == ["2026/11/3/a"]
    assert archive.texts() == {
        ("2026/11/1/a", "old"), ("2026/11/3/a", "new, changed"), ("notes", "no day"),
    }  # fmt: skip
    assert any("1 of earlier days skipped" in remark for remark in result.choices)


def test_a_day_that_is_left_out_is_not_even_listed(archive, monkeypatch):
    archive.run()
    scanned = []
    scandir = os.scandir
    monkeypatch.setattr(os, "scandir", lambda path: (scanned.append(str(path)), scandir(path))[1])

    archive.run(since="2026-11-03")

    seen = {path for path in scanned if path.startswith(str(archive.logs))}
    assert seen == {str(archive.logs / name) for name in ("", "2026", "2026/11", "2026/11/3")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("later", "expected"),
    [
        pytest.param([], 1, id="a run of all"),
        pytest.param([{}, {}], 3, id="the last of them"),
        pytest.param([{"limit": 1}, {"changed": "changed"}, {"since": "9d"}], 1, id="of some"),
        pytest.param([{"since": "last"}, {"since": "last-3d"}], 3, id="of all since the last"),
        pytest.param([{}, "back to 1"], 1, id="a state that was gone back to"),
        pytest.param([{}, "back to 1", {}], 4, id="a run after that"),
    ],
)
def test_the_last_run_is_that_which_looked_at_all(tmp_path, monkeypatch, later, expected):
    monkeypatch.chdir(tmp_path)
    archive = Archive(tmp_path).write(a="0")
    (tmp_path / "changed").write_text("logs/a")
    sink = ParquetSink(str(archive.out))
    for number, options in enumerate([{"keep_runs": 9}, *later], start=1):
        archive.write(a=str(number))
        if isinstance(options, str):
            run = roll_back(sink, Manifest.load(sink.state).runs[0])
        else:
            run = archive.run(**options).run
        record = sink.state / "runs" / f"{run}.json"
        started = {"started": datetime(2026, 5, number, 12).astimezone().isoformat()}
        record.write_bytes(orjson.dumps(orjson.loads(record.read_bytes()) | started))
        # as of a harvest that kept no checksums of records
        attrs.evolve(Manifest.load(sink.state), records={}).save(sink.state)
    (use,) = archive.uses()

    assert last_day([use], [sink]) == date(2026, 5, expected)

    (tmp_path / "elsewhere").mkdir()
    assert last_day([*archive.uses(tmp_path / "elsewhere"), use], [sink]) is None


def test_since_the_last_run_starts_with_its_day_and_says_when_there_was_none(archive):
    today = datetime.now().astimezone().date()
    archive.put(f"{today - timedelta(2):%Y%m%d}/b", "before")
    first = archive.run(since="last")
    assert "all inputs are read" in first.choices[-1]
    assert len(first.parts) == 5
    archive.put(f"{today - timedelta(2):%Y%m%d}/b", "before, changed")
    archive.put(f"{today + timedelta(1):%Y%m%d}/b", "after")

    assert names_read(archive.run(since="last")) == [f"{today + timedelta(1):%Y%m%d}/b"]
    assert names_read(archive.run(since="last-7d")) == [f"{today - timedelta(2):%Y%m%d}/b"]


# --- what a list names ----------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\n", "\0"], ids=["lines", "NUL"])
@pytest.mark.parametrize("plan", BY_FILE)
def test_only_files_of_the_list_are_read(tmp_path, plan, end):
    archive = Archive(tmp_path, plan).write(a="1", b="2", c="3")
    archive.run()
    archive.write(a="4", b="5", new__d="6")

    result = archive.run(changed=archive.list("a", "new/d", end=end))

    assert names_read(result) == ["a", "new/d"]
    assert archive.texts() == {("a", "4"), ("b", "2"), ("c", "3"), ("new/d", "6")}


def test_a_named_directory_stands_for_the_files_directly_in_it(archive):
    result = archive.run(changed=archive.list("2026/11/2", "2026"))
    assert names_read(result) == ["2026/11/2/a"]


def test_names_that_are_gone_or_lie_elsewhere_are_counted_and_nothing_is_dropped(archive):
    archive.run()
    (archive.logs / "notes").unlink()

    result = archive.run(changed=archive.list("notes", "../elsewhere"))

    assert result.parts == ()
    assert len(archive.texts()) == 4
    assert list(result.choices) == [
        "0 files of the list looked at",
        f"1 name of the list gone: {archive.logs / 'notes'}",
        f"1 name of the list in no location: {archive.folder / 'elsewhere'}",
    ]


@pytest.mark.parametrize("plan", PLANS)
def test_every_name_of_the_list_is_counted_however_a_source_plans(tmp_path, plan):
    archive = Archive(tmp_path, plan).write(u__a="1", u__b="2", v__c="3")
    (archive.logs / "link").symlink_to(archive.logs / "v")

    result = archive.run(changed=archive.list("u/a", "v", "link/c", "d", "u/e", "../f", "../g"))

    assert list(result.choices) == [
        "2 files of the list looked at",  # u/a, and v/c by its directory
        f"2 names of the list gone: {archive.logs / 'd'}, {archive.logs / 'u' / 'e'}",
        f"1 name of the list behind a link, or not a file: {archive.logs / 'link' / 'c'}",
        f"2 names of the list in no location: {tmp_path / 'f'}, {tmp_path / 'g'}",
    ]


def test_names_behind_a_linked_location_are_found(tmp_path):
    archive = Archive(tmp_path).write(a="1", b="2")
    archive.run()
    archive.write(a="3")
    names = archive.list("a")
    archive.logs.rename(tmp_path / "real")
    archive.logs.symlink_to(tmp_path / "real")
    Path(names).write_text(f"{tmp_path / 'real' / 'a'}\n")
    assert names_read(archive.run(changed=names)) == ["a"]


def test_a_file_that_is_cut_into_fewer_ranges_loses_the_rows_of_the_others(tmp_path):
    archive = Archive(tmp_path, "by ranges").write(a="1\n2\n3\n4\n5", b="6\n7\n8\n9")
    options = {"settings": {"tree": {"partition-bytes": 4}}}
    archive.run(**options)
    archive.write(a="1\n2", b="9")

    archive.run(changed=archive.list("a"), **options)

    assert archive.texts() == {("a", "1"), ("a", "2"), *(("b", text) for text in "6789")}


@pytest.mark.parametrize("plan", ["by directory", "by directory of files"])
def test_files_that_are_read_together_are_read_without_one_that_is_gone(tmp_path, plan):
    archive = Archive(tmp_path, plan).write(u__a="1", u__b="2", v__c="3")
    archive.run()
    (archive.logs / "u" / "a").unlink()

    result = archive.run(changed=archive.list("u/a"))

    assert names_read(result) == [str(archive.logs / "u")]
    assert {text for _, text in archive.texts()} == {"2", "3"}


def test_what_shares_an_origin_with_a_changed_file_stays(tmp_path):
    archive = Archive(tmp_path, "by files of one origin").write(u__a="1", u__b="2", v__c="3")
    archive.run()
    archive.write(u__a="4")

    result = archive.run(changed=archive.list("u/a"))

    assert names_read(result) == ["u/a"]
    assert {text for _, text in archive.texts()} == {"4", "2", "3"}


@pytest.mark.slow
@pytest.mark.parametrize("plan", PLANS)
@given(
    steps=st.lists(
        st.dictionaries(st.sampled_from(NAMES), st.integers(0, 9)), min_size=1, max_size=2
    )
)
def test_with_all_that_changed_on_the_list_the_dataset_is_that_of_a_fresh_harvest(
    tmp_path_factory, plan, steps
):
    archive = Archive(tmp_path_factory.mktemp("archive"), plan).write(a="0", b="1", u__b="2")
    archive.run()
    for step in steps:
        for name, number in step.items():
            archive.put(name, str(number))
        result = archive.run(changed=archive.list(*step))
        assert plan not in BY_FILE or set(names_read(result)) <= set(step)
    archive.run("fresh")

    assert archive.texts() == archive.texts("fresh")


# --- wrong usage ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"since": "yesterday"}, "'yesterday' is not a day"),
        ({"since": "7d", "changed": "list"}, "exclude each other"),
        ({"since": "7d", "deleted": "drop"}, "needs a list of all inputs"),
        ({"changed": "list", "deleted": "drop"}, "needs a list of all inputs"),
    ],
)
def test_what_does_not_fit_is_refused(options, words):
    with pytest.raises(ConfigError, match=words):
        Recipe(**options)


def test_a_list_that_is_not_there_is_refused(archive):
    with pytest.raises(UsageError, match="list of changed files cannot be read: No such file"):
        archive.run(changed=str(archive.folder / "missing"))


def test_a_location_within_a_month_knows_its_days(tmp_path):
    month = tmp_path / "2026" / "11"
    for day in ("2", "3"):
        (month / day).mkdir(parents=True)
        (month / day / "log").touch()
    assert list(Since(date(2026, 11, 3)).files(month)) == [month / "3" / "log"]


def test_a_file_that_is_gone_behind_a_linked_directory_was_no_input_by_that_name(tmp_path):
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "link").symlink_to(tmp_path / "logs")
    here, linked = tmp_path / "logs" / "gone", tmp_path / "logs" / "link" / "gone"
    assert Named([str(here), str(linked)]).gone(tmp_path / "logs") == [here]
