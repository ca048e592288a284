"""Which files are read, under which names, and what is said where there are none."""

from pathlib import Path

import planning
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest import SourceError
from harvest_mofka_dask.source import MofkaDaskSource

CLIENT = ",client,action,time\n0,C,add,1713553301.5\n"


@pytest.fixture
def run(tmp_path: Path) -> Path:
    folder = tmp_path / "runs" / "D2024-04-19_19:01:00_R1_W8"
    folder.mkdir(parents=True)
    (folder / "client.csv").write_text(CLIENT)
    (folder / "SchedulerNode").write_text("n1\n")
    (folder / "config.json").write_text("{}")
    (folder / "polaris.sh").write_text("#!/bin/sh\n#PBS -q x\n")
    (folder / "launcher.sh").write_text("#!/bin/sh\necho\n")
    (folder / "PMDA.py").write_text("print()")
    (folder / "other.csv").write_text("a,b\n1,2\n")
    (folder / "x.darshan").write_bytes(b"\0")
    return folder


def ids(location: Path) -> list[str]:
    return [partition.id for partition in MofkaDaskSource(str(location)).plan()]


def test_a_run_directory_gives_a_partition_per_file_of_ours(run):
    name = run.name
    assert ids(run) == [
        f"{name}/SchedulerNode",
        f"{name}/client.csv",
        f"{name}/config.json",
        f"{name}/polaris.sh",
    ]
    for partition in MofkaDaskSource(str(run)).plan():
        assert partition.origin == str(run / Path(partition.id).name)
        assert partition.inputs == (partition.origin,)


def test_the_same_file_has_the_same_id_from_its_run_from_above_and_alone(run):
    assert ids(run) == ids(run.parent)
    assert ids(run / "client.csv") == [f"{run.name}/client.csv"]


def test_runs_are_found_below_and_beside_others(run):
    deeper = run.parent / "batch" / "two" / "R2"
    deeper.mkdir(parents=True)
    (deeper / "anything.csv").write_text(CLIENT)
    hidden = run.parent / ".snapshot"
    hidden.mkdir()
    (hidden / "client.csv").write_text(CLIENT)
    (run.parent / "loop").symlink_to(run.parent)
    assert "batch/two/R2/anything.csv" in ids(run.parent)
    assert len(ids(run.parent)) == len(set(ids(run.parent))) == 5


def test_scripts_alone_are_read_where_they_were_asked_for(tmp_path):
    (tmp_path / "job.sh").write_text("#PBS -q x\n")
    assert ids(tmp_path) == [f"{tmp_path.name}/job.sh"]


@pytest.mark.parametrize(
    ("header", "kind"),
    [
        ("time,size,key,start,finish,stimulus_id,prefix", "scheduler_transition"),
        (",key,start,finish,called_from,time,action", "worker_transition"),
        ("start,stop,keys,type,who", "worker_transfer"),
        ("client,keys,dependencies,time", "graph"),
        (",worker,stimulus_id,time", "worker"),
        ("client,time", "client"),
    ],
)
def test_a_csv_is_known_by_its_header_whatever_its_name(tmp_path, header, kind):
    path = tmp_path / "x_1000.csv"
    path.write_text(header + "\n")
    (partition,) = MofkaDaskSource(str(path)).plan()
    assert partition.options["kind"] == kind
    detection = MofkaDaskSource.detect(path)
    assert detection.confidence == 0.95
    assert kind in detection.reason


@pytest.mark.parametrize("header", ["a,b", "worker,time,salary", "key,start,finish,time", ""])
def test_another_csv_is_not_taken(tmp_path, header):
    path = tmp_path / "x.csv"
    path.write_text(header + "\n")
    assert MofkaDaskSource.detect(path) is None
    with pytest.raises(SourceError, match="is not a file of a Mofka-Dask run"):
        list(MofkaDaskSource(str(path)).plan())


@pytest.mark.parametrize("name", ["workers.csv", "scheduler_transition_1000.csv", "graph.csv"])
def test_a_damaged_csv_of_a_known_name_is_still_planned(tmp_path, name):
    (tmp_path / name).write_text("")
    assert ids(tmp_path) == [f"{tmp_path.name}/{name}"]


@pytest.mark.parametrize(
    ("name", "sure"), [("client.csv", 0.5), ("HeadNodes", 0.5), ("job.sh", 0.2), ("c.yaml", 0.2)]
)
def test_a_file_known_by_name_alone_is_less_sure_than_one_known_by_header(tmp_path, name, sure):
    (tmp_path / name).write_text("#PBS -q x\n")
    assert MofkaDaskSource.detect(tmp_path / name).confidence == sure


def test_a_log_of_dask_is_detected_by_what_it_says(tmp_path):
    path = tmp_path / "worker.e"
    path.write_text("2024-04-19 19:01:36,147 - distributed.core - INFO - x\n")
    assert MofkaDaskSource.detect(path).confidence == 0.8
    path.write_text("something else\n")
    assert MofkaDaskSource.detect(path) is None


def test_a_missing_location_and_one_without_runs_say_so(tmp_path):
    with pytest.raises(SourceError, match="no such file or directory; check the location"):
        list(MofkaDaskSource(str(tmp_path / "none")).plan())
    with pytest.raises(SourceError, match=r"holds no file .* looked 4 levels deep for a CSV"):
        list(MofkaDaskSource(str(tmp_path)).plan())


def test_files_of_one_run_are_planned_without_listing_others(run, monkeypatch):
    other = run.parent / "other"
    other.mkdir()
    (other / "client.csv").write_text(CLIENT)
    plan = list(MofkaDaskSource(str(run.parent)).plan())
    monkeypatch.setattr("harvest_dask.records.captures.source.walk_files", None)

    given = MofkaDaskSource(str(run.parent)).plan_files([run / "client.csv", run / "gone.csv"])

    assert given == [partition for partition in plan if partition.path.parent == run]


def test_with_a_file_directly_in_the_location_all_are_listed(run):
    assert MofkaDaskSource(str(run)).plan_files([run / "client.csv"]) is None
    assert MofkaDaskSource(str(run / "client.csv")).plan_files([run / "client.csv"]) is None


CHANGES = st.dictionaries(
    st.sampled_from(
        [f"{at}{name}" for at in ("", "a/", "a/b/", "a/.b/") for name in ("client.csv", "job.sh")]
        + ["a/b/c/d/e/client.csv", "a/notes"]
    ),
    st.sampled_from([CLIENT, "#PBS -q x\n", "", None]),
)


@given(first=CHANGES, second=CHANGES)
def test_partitions_of_changed_files_are_those_of_a_new_plan(tmp_path_factory, first, second):
    root = tmp_path_factory.mktemp("runs")
    planning.change(root, first)
    some = planning.require_changes_planned(MofkaDaskSource(str(root)), root, second)
    assert some == all("/" in name for name in second)  # else all runs may be called otherwise
