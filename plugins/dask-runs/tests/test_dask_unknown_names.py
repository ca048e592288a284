"""A setting that names what the dataset does not hold is refused with what it does hold."""

from importlib import import_module

import pytest
from dask_rows import A, at, dataset, scheduler, worker

from harvest import UsageError
from harvest_dask.records import types as r
from harvest_dask_runs.plugin import harvest_reports, harvest_views

DECLARED = {spec.name: spec for spec in (*harvest_views(), *harvest_reports())}
OTHER = "/runs/D2024-05-06_09:00:00_R2_W2"


@pytest.fixture
def two_runs():
    return dataset(
        scheduler("x", 0, "released>waiting"),
        worker("x", 1, "waiting>ready", A),
        r.WorkerEvent(time=at(0), worker=A, action="add"),
        scheduler("y", 10, "released>waiting", origin=f"{OTHER}/s.csv"),
    )


@pytest.mark.parametrize("name", DECLARED)
def test_each_view_and_report_refuses_a_run_that_is_not_there(two_runs, name):
    spec = DECLARED[name]
    module, _, function = spec.build.partition(":")
    build = getattr(import_module(module), function)
    (setting,) = {"run", "runs"} & spec.settings.keys()

    with pytest.raises(UsageError, match="holds no run 'W2'") as refused:
        build(two_runs, **{setting: "W2" if setting == "run" else ("W2",)})

    assert "D2024-05-06_07:00:00_R1_W2, D2024-05-06_09:00:00_R2_W2" in refused.value.remedy


def test_a_name_that_two_runs_bear_is_refused():
    both = dataset(
        scheduler("x", 0, "a>b", origin="/one/R1/s.csv"),
        scheduler("x", 0, "a>b", origin="/two/R1/s.csv"),
    )
    view = import_module("harvest_dask_runs.views.workers").workers

    with pytest.raises(UsageError, match="2 runs are named 'R1'") as refused:
        view(both, run="R1")

    assert "/one/R1, /two/R1" in refused.value.remedy
    assert view(both, run="/one/R1").collect().is_empty()


def test_a_task_that_is_not_there_is_refused(two_runs):
    view = import_module("harvest_dask_runs.views.tasks").tasks

    with pytest.raises(UsageError, match="no record holds a task 'z'") as refused:
        view(two_runs, key="z")

    assert refused.value.remedy == "choose one of: x, y"
    assert view(two_runs, key="x").collect()["key"].to_list() == ["x"]
