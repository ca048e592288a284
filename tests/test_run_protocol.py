"""The run protocol: plan, read and stage, commit, account."""

import json
from pathlib import Path

import pytest

import harvest
from harvest.errors import ExitCode, HarvestError, TooManyRejects
from harvest.storage.manifest import Manifest


@pytest.fixture
def lines(tmp_path, monkeypatch):
    """A folder with two files of lines, and the log of what the source reads."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.demo").write_text("one\ntwo\n")
    (folder / "b.demo").write_text("three\n")
    log = tmp_path / "read.log"
    monkeypatch.setenv("DEMO_READ_LOG", str(log))
    return folder


@pytest.fixture
def reads(tmp_path):
    """A function that gives the names of the files read so far, sorted."""
    log = tmp_path / "read.log"
    return lambda: sorted(log.read_text().split()) if log.exists() else []


@pytest.fixture
def harvested(tmp_path, demo_plugins):
    """A function that harvests a folder into ``out`` with the demo plugin."""

    def go(folder, **options):
        return harvest.run(
            f"demo:{folder}",
            f"arrow-demo:{tmp_path / 'out'}",
            plugins=demo_plugins,
            **options,
        )

    return go


def rows_of(out: Path, plugins) -> list[str]:
    return harvest.open(out, plugins=plugins)["demo.line"].collect()["text"].to_list()


def test_a_first_run_commits_every_row(lines, harvested, tmp_path, demo_plugins):
    result = harvested(lines)

    assert result.exit_code == ExitCode.DONE
    assert rows_of(tmp_path / "out", demo_plugins) == ["one", "two", "three"]
    account = result.account.sources["demo"]
    assert (account.read, account.written, account.partitions) == (3, 3, 2)


def test_a_second_run_reads_nothing_and_changes_no_byte(reads, lines, harvested, tmp_path):
    harvested(lines)
    before = snapshot(tmp_path / "out")
    already = reads()

    result = harvested(lines)

    assert result.run is None
    assert result.account.sources["demo"].skipped == 2
    assert reads() == already
    assert snapshot(tmp_path / "out") == before


def test_a_changed_file_alone_is_read_again_and_replaces_its_old_rows(
    reads, lines, harvested, tmp_path, demo_plugins
):
    harvested(lines)
    (lines / "a.demo").write_text("uno\n")

    result = harvested(lines)

    assert reads() == ["a.demo", "a.demo", "b.demo"]
    assert rows_of(tmp_path / "out", demo_plugins) == ["uno", "three"]
    assert result.account.sources["demo"].skipped == 1
    assert len(list((tmp_path / "out" / "demo.line").glob("*.arrow"))) == 2


def test_other_settings_mean_reading_again(lines, harvested, tmp_path, demo_plugins):
    harvested(lines)

    harvested(lines, settings={"demo": {"upper": "yes"}})

    assert rows_of(tmp_path / "out", demo_plugins) == ["ONE", "TWO", "THREE"]


def test_force_reads_everything_again(reads, lines, harvested):
    harvested(lines)

    harvested(lines, force=True)

    assert reads() == ["a.demo", "a.demo", "b.demo", "b.demo"]


def test_rows_of_another_location_are_added_not_replaced(lines, harvested, tmp_path, demo_plugins):
    harvested(lines)
    other = tmp_path / "other"
    other.mkdir()
    (other / "c.demo").write_text("four\n")

    harvested(other)

    assert sorted(rows_of(tmp_path / "out", demo_plugins)) == ["four", "one", "three", "two"]


def test_a_deleted_input_keeps_its_rows(lines, harvested, tmp_path, demo_plugins):
    harvested(lines)
    (lines / "b.demo").unlink()

    harvested(lines)

    assert rows_of(tmp_path / "out", demo_plugins) == ["one", "two", "three"]


def test_every_unit_is_accounted_for(lines, harvested, tmp_path, demo_plugins):
    (lines / "a.demo").write_text("one\nbad\nskip\nagain\ntwo\n")

    result = harvested(lines)

    account = result.account.sources["demo"]
    assert (account.read, account.written) == (6, 3)
    assert (account.filtered, account.folded, account.rejected) == (1, 1, 1)
    assert account.balanced
    assert result.left_out == [("filtered: unwanted line", 1), ("merged: repeated line", 1)]
    assert result.exit_code == ExitCode.REJECTS
    document = result.document()
    assert (document["exit_code"], document["exports"]) == (3, {})
    (reject,) = harvest.open(tmp_path / "out", plugins=demo_plugins).rejects()
    assert reject["raw"] == b"bad"
    assert reject["position"] == 2
    assert reject["origin"] == str(lines / "a.demo")
    assert (reject["record_type"], reject["reason"]) == ("demo.line", "the line is bad")
    assert [part.rejects.rows for part in result.parts if part.rejects] == [1]


def test_the_manifest_is_one_json_document_that_people_can_read(lines, harvested, tmp_path):
    harvested(lines)
    path = tmp_path / "out" / "_harvest" / "manifest.json"

    text = path.read_text()
    document = json.loads(text)

    assert text == json.dumps(document, indent=2, ensure_ascii=False)
    assert document["parts"] == 2
    (segment,) = document["segments"]
    assert segment["parts"] == 2
    assert (path.parent / "segments" / segment["file"]).is_file()


@pytest.mark.parametrize(
    ("line", "options", "said"),
    [
        ("lost", {}, "read 2 units but accounts for 1"),
        ("bad", {"on_error": "fail"}, r"a\.demo, record 2: the line is bad"),
    ],
)
def test_a_unit_that_is_lost_or_may_not_be_bad_ends_the_run(
    lines, harvested, tmp_path, line, options, said
):
    (lines / "a.demo").write_text(f"one\n{line}\n")

    with pytest.raises(HarvestError, match=said):
        harvested(lines, **options)

    assert Manifest.load(tmp_path / "out" / "_harvest") is None


@pytest.mark.parametrize("workers", [1, 2])
def test_more_rejects_than_allowed_commit_nothing(lines, harvested, tmp_path, workers):
    (lines / "a.demo").write_text("bad\n")
    (lines / "b.demo").write_text("bad\nbad\n")

    with pytest.raises(TooManyRejects) as caught:
        harvested(lines, max_rejects=2, workers=workers)

    assert caught.value.exit_code == 4
    assert Manifest.load(tmp_path / "out" / "_harvest") is None
    assert harvested(lines, max_rejects=3).account.rejected == 3


def test_a_failing_run_leaves_the_earlier_dataset_as_it_was(
    lines, harvested, tmp_path, demo_plugins
):
    harvested(lines)
    (lines / "a.demo").write_text("uno\nboom\n")

    with pytest.raises(HarvestError, match="the parser met its end"):
        harvested(lines)

    assert rows_of(tmp_path / "out", demo_plugins) == ["one", "two", "three"]


@pytest.mark.parametrize("count", [1, 2])
def test_where_nothing_can_be_read_nothing_is_committed(count, tmp_path, harvested):
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(count):
        (folder / f"{number}.demo").symlink_to("nowhere")

    with pytest.raises(harvest.SourceError) as caught:
        harvested(folder)

    assert caught.value.where == str(folder / "0.demo")
    assert ("more)" in caught.value.message) == (count > 1)
    assert Manifest.load(tmp_path / "out" / "_harvest") is None


def test_an_unreadable_file_costs_that_file_alone(lines, harvested, tmp_path, demo_plugins):
    (lines / "c.demo").write_text("four\n")
    ordinary_open = Path.open

    def failing(self, *args, **kwargs):
        if self.name == "b.demo" and "b" not in (args[0] if args else ""):
            raise PermissionError(13, "Permission denied", str(self))
        return ordinary_open(self, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Path, "open", failing)
        result = harvested(lines)

    assert result.exit_code == ExitCode.REJECTS
    assert rows_of(tmp_path / "out", demo_plugins) == ["one", "two", "four"]
    (reject,) = harvest.open(tmp_path / "out", plugins=demo_plugins).rejects()
    assert "Permission denied" in reject["reason"]
    assert result.inputs(failed=True) == {str(lines / "b.demo")}
    assert result.inputs(changed=True) == set()

    # and it is tried again, although the file itself has not changed
    assert harvested(lines).exit_code == ExitCode.DONE
    assert rows_of(tmp_path / "out", demo_plugins) == ["one", "two", "three", "four"]


def test_the_limit_bounds_the_rows_and_a_run_without_it_completes_them(
    lines, harvested, tmp_path, demo_plugins
):
    assert harvested(lines, limit=2).account.written == 2
    assert rows_of(tmp_path / "out", demo_plugins) == ["one", "two"]

    harvested(lines)

    assert rows_of(tmp_path / "out", demo_plugins) == ["one", "two", "three"]


def test_a_dry_run_writes_nothing(reads, lines, harvested, tmp_path):
    result = harvested(lines, dry_run=True)

    assert len(result.plan.to_read) == 2
    assert reads() == []
    assert not (tmp_path / "out").exists()


def test_two_sinks_are_filled_by_one_reading(reads, lines, tmp_path, demo_plugins):
    sinks = [f"arrow-demo:{tmp_path / 'x'}", f"arrow-demo:{tmp_path / 'y'}"]

    harvest.run(f"demo:{lines}", sinks, plugins=demo_plugins)

    assert reads() == ["a.demo", "b.demo"]
    assert rows_of(tmp_path / "x", demo_plugins) == rows_of(tmp_path / "y", demo_plugins)


def snapshot(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
