"""Failures of a real cluster: as its client, a capture and a cluster dump have them."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask_work as work
import pytest
from distributed import wait

from harvest import Collected, collect
from harvest_dask import capture

pytest.importorskip("harvest_dask.records")

from harvest_dask.records.captures.source import DaskSource

Raised = dict[str, str]
"""By key of an erred task, the type of its exception."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Raised]]:
    """A run whose tasks raise two types, kill a worker, and ask to be run elsewhere."""
    folder = tmp_path_factory.mktemp("failures")
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
        yield folder, raised


def errors(found: Collected) -> Raised:
    """By key of a task that failed, the type of what it raised."""
    return {
        row["key"]: row["exception"].partition("(")[0]
        for row in found.rows("dask.task_transition")
        if (row["start_state"], row["finish_state"]) == ("processing", "erred")
    }


@pytest.mark.slow
def test_a_capture_has_what_each_task_raised(run: tuple[Path, Raised]) -> None:
    folder, raised = run
    assert Counter(raised.values()) == {"KeyError": 3, "ValueError": 2, "KilledWorker": 1}

    work.until(lambda: len(errors(collect(DaskSource(str(folder / "R1"))))) == len(raised))
    assert errors(collect(DaskSource(str(folder / "R1")))) == raised


@pytest.mark.slow
@pytest.mark.parametrize("name", ["msgpack.msgpack.gz", "yaml.yaml"])
def test_a_dump_has_what_each_task_raised(run: tuple[Path, Raised], name: str) -> None:
    folder, raised = run
    assert DaskSource.detect(folder / name) is not None

    found = collect(DaskSource(str(folder / name)))

    assert not found.rejects
    assert errors(found) == raised
    # what the worker that was killed executed went with it
    ended = Counter(row["status"] for row in found.rows("dask.execution"))
    whole: Any = Counter(
        row["status"] for row in collect(DaskSource(str(folder / "R1"))).rows("dask.execution")
    )
    assert ended <= whole
    assert {row["key"] for row in found.rows("dask.graph_task")} >= set(raised)
