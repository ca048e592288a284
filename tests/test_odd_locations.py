"""Datasets in directories whose names are no UTF-8, or say something to other programs."""

import os
from pathlib import Path

import pytest
from datasets import SETTINGS, dump

import harvest
from harvest.dataset.repair import repair


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A directory named in Latin-1, as an old archive may have it."""
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/M\xfcnchen"))
    folder.mkdir()
    return folder


@pytest.mark.parametrize("name", ["out", "out.jsonl", "out.jsonl.gz"])
def test_jsonl_writes_reads_and_mends_a_dataset_there(tmp_path: Path, odd: Path, name: str) -> None:
    # given inputs with rejects, and the dataset below a directory that is no UTF-8
    (tmp_path / "a.txt").write_text(dump(1, 2, damaged=1))
    out = odd / name

    result = harvest.run(f"slurm:{tmp_path}/a.txt", f"jsonl:{out}", settings=SETTINGS, workers=1)

    # then rows, rejects, verify, records of runs and repair work as everywhere
    assert (result.account.written, result.account.rejected) == (2, 1)
    dataset = harvest.open(out)
    assert dataset["slurm.job"].collect()["job_id"].to_list() == ["1", "2"]
    (reject,) = dataset.rejects()
    assert reject["raw"].startswith(b"odd0|")
    assert dataset.verify() == []
    assert dataset.runs()[0]["problem"] is None
    (rejects,) = (dataset.sink.state / "rejects").iterdir()
    rejects.write_bytes(b"damaged")
    assert repair(out).left == []
    assert len(list(harvest.open(out).rejects())) == 1


def test_a_consolidated_file_s_own_name_must_be_utf_8(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(dump(1))
    out = os.fsdecode(os.fsencode(tmp_path) + b"/M\xfcnchen.jsonl")
    with pytest.raises(harvest.UsageError, match="not UTF-8") as caught:
        harvest.run(f"slurm:{tmp_path}/a.txt", f"jsonl:{out}", settings=SETTINGS)
    assert caught.value.where == "M\\xfcnchen.jsonl"


def test_inputs_there_are_read_by_both_sinks(tmp_path: Path, odd: Path) -> None:
    (odd / "a.txt").write_text(dump(1, damaged=1))
    for sink in ("parquet", "jsonl"):
        out = tmp_path / sink
        harvest.run(f"slurm:{odd}/a.txt", f"{sink}:{out}", settings=SETTINGS, workers=1)
        row = harvest.open(out)["slurm.job"].collect().to_dicts()[0]
        assert row["origin"].endswith("/M\\xfcnchen/a.txt")
        (reject,) = harvest.open(out).rejects()
        assert reject["origin"] == row["origin"]


def test_parquet_refuses_such_a_directory_before_it_reads_anything(
    tmp_path: Path, odd: Path
) -> None:
    (tmp_path / "a.txt").write_text(dump(1))
    with pytest.raises(harvest.UsageError, match="no path that is not UTF-8") as caught:
        harvest.run(f"slurm:{tmp_path}/a.txt", f"parquet:{odd}/out", settings=SETTINGS)
    assert "M\\xfcnchen" in str(caught.value.where)
    assert list(odd.iterdir()) == []


@pytest.mark.parametrize("sink", ["parquet", "jsonl"])
@pytest.mark.parametrize("name", ["run [1]*?", "job_id=7"])
def test_a_directory_named_like_a_pattern_or_a_column_is_no_other(
    tmp_path: Path, sink: str, name: str
) -> None:
    (tmp_path / "a.txt").write_text(dump(1, 2))
    out = tmp_path / name / "out"

    harvest.run(f"slurm:{tmp_path}/a.txt", f"{sink}:{out}", settings=SETTINGS, workers=1)

    assert harvest.open(out)["slurm.job"].collect()["job_id"].to_list() == ["1", "2"]


def test_an_input_named_by_a_parent_directory_is_the_same_input(tmp_path, monkeypatch) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text(dump(1, 2))
    out = f"parquet:{tmp_path / 'out'}"
    harvest.run(f"slurm:{tmp_path / 'in'}", out, settings=SETTINGS, workers=1)
    monkeypatch.chdir(tmp_path / "in")

    harvest.run("slurm:../in/a.txt", out, settings=SETTINGS, workers=1)
    harvest.run("slurm:../in", out, settings=SETTINGS, workers=1, deleted="drop")

    rows = harvest.open(tmp_path / "out")["slurm.job"].collect()
    assert rows["job_id"].to_list() == ["1", "2"]
    assert set(rows["origin"]) == {str(tmp_path / "in" / "a.txt")}


def test_a_list_of_changed_files_fits_a_location_by_a_parent_directory(
    tmp_path, monkeypatch
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text(dump(1, 2))
    (tmp_path / "changed").write_text(f"{tmp_path / 'in' / 'a.txt'}\n")
    monkeypatch.chdir(tmp_path / "in")

    done = harvest.run(
        "slurm:../in", f"parquet:{tmp_path / 'out'}", settings=SETTINGS, workers=1,
        changed=str(tmp_path / "changed"),
    )  # fmt: skip

    assert done.account.written == 2


def test_a_parent_directory_behind_a_link_is_that_of_the_links_target(tmp_path) -> None:
    for folder, numbers in (("far", (1,)), ("in", (1, 2, 3))):
        (tmp_path / folder / "below").mkdir(parents=True)
        (tmp_path / folder / "a.txt").write_text(dump(*numbers))
    (tmp_path / "in" / "link").symlink_to(tmp_path / "far" / "below")

    done = harvest.run(
        f"slurm:{tmp_path / 'in' / 'link' / '..' / 'a.txt'}", f"parquet:{tmp_path / 'out'}",
        settings=SETTINGS, workers=1,
    )  # fmt: skip

    assert done.account.written == 1
