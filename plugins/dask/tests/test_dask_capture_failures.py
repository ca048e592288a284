"""Failures of a real cluster: as its client, a capture and a cluster dump have them."""

from collections import Counter
from pathlib import Path

import dask_work as work
import pytest
from distributed import wait

from harvest import Collected, collect
from harvest_dask import capture

pytest.importorskip("harvest_dask.records")

from harvest_dask.records.captures.source import DaskSource

Raised = dict[str, str]
"""By key of an erred task, the type of its exception."""


def _run(folder: Path) -> Raised:
    """A run whose tasks raise two types, kill a worker, and ask to be run elsewhere; two dumps."""
    no_second_try = {"distributed.scheduler.allowed-failures": 0}
    with work.cluster(2, **no_second_try) as client, capture(client, folder / "R1", flush=0.2):
        sent = client.submit(work.go_elsewhere_once, str(folder / "mark"))
        wait(client.map(work.increment, range(4)))
        failed = [client.submit(work.fail_somehow, n, key=f"fail_somehow-{n}") for n in range(5)]
        wait([sent, *failed])
        killed = client.submit(work.fail_somehow, 5, key=("fail_somehow-x", 5))
        wait(killed)
        raised = {str(f.key): type(f.exception()).__name__ for f in (*failed, killed)}
        for form in ("msgpack", "yaml"):
            client.dump_cluster_state(str(folder / form), format=form)
    return raised


def errors(found: Collected) -> Raised:
    """By key of a task that failed, the type of what it raised."""
    return {
        row["key"]: row["exception"].partition("(")[0]
        for row in found.rows("dask.task_transition")
        if (row["start_state"], row["finish_state"]) == ("processing", "erred")
    }


@pytest.mark.slow
def test_a_capture_and_a_dump_have_what_each_task_raised(tmp_path: Path) -> None:
    folder, raised = tmp_path, _run(tmp_path)
    assert Counter(raised.values()) == {"KeyError": 3, "ValueError": 2, "KilledWorker": 1}

    whole = collect(DaskSource(str(folder / "R1")))
    assert errors(whole) == raised

    for name in ("msgpack.msgpack.gz", "yaml.yaml"):
        assert DaskSource.detect(folder / name) is not None
        found = collect(DaskSource(str(folder / name)))
        assert not found.rejects
        assert errors(found) == raised
        # what the worker that was killed executed went with it
        ended, every = (
            Counter(row["status"] for row in each.rows("dask.execution")) for each in (found, whole)
        )
        assert ended <= every
        assert {row["key"] for row in found.rows("dask.graph_task")} >= set(raised)
