"""The same events, written by the Mofka coupler and captured, are the same rows and views."""

import ast
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import captures
import polars as pl
import pytest
from coupler import write_csv
from hypothesis import given
from hypothesis import strategies as st

import harvest
from harvest import Collected, collect
from harvest_dask.records.captures.source import DaskSource
from harvest_mofka_dask.source import MofkaDaskSource

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
A, B = "tcp://10.0.0.2:4001", "tcp://10.0.0.3:4002"
SCHEDULER = captures.SCHEDULER
NO_PLACE = {"origin", "position", "extra"}


Rows = list[dict[str, Any]]


def write_both(
    folder: Path,
    *,
    scheduler: Rows = (),
    worker: Rows = (),
    transfers: Rows = (),
    graphs: Rows = (),
    workers: Rows = (),
    clients: Rows = (),
) -> tuple[Path, Path]:
    """Events in the coupler's words, as its CSVs and as a capture; empty files are left out."""
    mofka = folder / "mofka" / "R1"
    mofka.mkdir(parents=True)
    tables = {
        "scheduler_transition": scheduler,
        "worker_transition": worker,
        "worker_transfer": transfers,
        "graph": graphs,
        "worker": workers,
        "client": clients,
    }
    for name, rows in tables.items():
        if rows:
            write_csv(mofka / f"{name}.csv", rows)
    seen = [row["called_from"] for row in (*worker, *transfers)]
    (address,) = {row["called_from"] for row in scheduler} or {SCHEDULER}
    files = {
        "scheduler-s": [
            captures.start("scheduler", address=address),
            *(_graph(number, row) for number, row in enumerate(graphs, 1)),
            *(captures.rows("scheduler_transition", [_renamed(row)]) for row in scheduler),
            captures.rows("worker_event", workers),
            captures.rows("client_event", clients),
            captures.END,
        ]
    }
    for number, address in enumerate(sorted(set(seen))):
        mine = [row for row in worker if row["called_from"] == address]
        moved = [row for row in transfers if row["called_from"] == address]
        files[f"worker-{number}"] = [
            captures.start("worker", address=address, id=f"w{number}"),
            captures.rows("worker_transition", [_renamed(row) for row in mine]),
            captures.rows("transfer", [_transfer(row) for row in moved]),
            captures.END,
        ]
    return mofka, captures.write(folder / "captured" / "R1", files)


def _renamed(row: Mapping[str, Any]) -> dict[str, Any]:
    names = {"start": "start_state", "finish": "finish_state", "size": "size_bytes"}
    left_out = ("called_from", "duration")
    found = {names.get(name, name): value for name, value in row.items() if name not in left_out}
    return {**found, "key": str(row["key"])}


def _transfer(row: Mapping[str, Any]) -> dict[str, Any]:
    names = {
        "start": "start_time", "stop": "end_time", "duration": "duration_s", "who": "peer",
        "total": "total_bytes", "compressed": "compressed_bytes",
    }  # fmt: skip
    found = {names.get(name, name): value for name, value in row.items() if name != "called_from"}
    found["direction"] = found.pop("type").removesuffix("_transfer")
    return {**found, "keys": [[str(key), size] for key, size in row["keys"].items()]}


def _graph(number: int, row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": "graph",
        "graph": number,
        "time": row["time"],
        "client": row["client"],
        "requested": [str(key) for key in row["keys"]],
        "keys": [str(key) for key in row["dependencies"]],
        "dependencies": [[str(key) for key in needs] for needs in row["dependencies"].values()],
    }


def rows_of(found: Collected, name: str) -> Counter[str]:
    """The rows of a type, however they are ordered, in the columns that both have."""
    return Counter(
        repr({column: value for column, value in row.items() if column not in NO_PLACE})
        for row in found.rows(name)
    )


def require_equal(folder: Path, **events: Rows) -> None:
    mofka, captured = write_both(folder, **events)
    one, other = collect(MofkaDaskSource(str(mofka))), collect(DaskSource(str(captured)))
    assert not one.rejects
    assert not other.rejects
    for name in one.tables:
        assert rows_of(one, name) == rows_of(other, name), name


# ---- any events ------------------------------------------------------------------------------

times = st.floats(1.2e9, 2.1e9, exclude_max=True)
words = st.text("abcxyz-_0129é'\" ", min_size=1, max_size=12).filter(lambda word: word.strip())
keys = st.one_of(words, st.tuples(words, st.integers(0, 10**6), st.integers(-3, 3)))
addresses = st.sampled_from([A, B])
states = st.sampled_from(["released", "waiting", "processing", "memory", "Executing"])
integers = st.none() | st.integers(0, 2**62)
kinds = st.sampled_from(["update-graph", "task-finished", "client-releases-keys"])
stimuli = st.none() | st.builds(lambda kind, time: f"{kind}-{time!r}", kinds, times)


def rows_with(**columns: st.SearchStrategy[Any]) -> st.SearchStrategy[Rows]:
    return st.lists(st.fixed_dictionaries(columns), min_size=1, max_size=6)


@st.composite
def scheduler_rows(draw: st.DrawFn) -> Rows:
    rows = draw(
        rows_with(
            time=times, key=keys, prefix=st.none() | words, group=st.none() | words, start=states,
            finish=states, stimulus_id=stimuli, worker=st.none() | addresses, thread=integers,
            begins=times, size=integers,
        )
    )  # fmt: skip
    for row in rows:
        ends = row["begins"] + draw(st.floats(0, 1e4))
        row |= {"called_from": SCHEDULER, "ends": ends, "duration": ends - row["begins"]}
        row["key"] = str(row["key"])
    return rows


@given(scheduler_rows())
def test_transitions_of_the_scheduler(tmp_path_factory, rows):
    require_equal(tmp_path_factory.mktemp("equal"), scheduler=rows)


@given(rows_with(time=times, key=keys.map(str), start=states, finish=states, called_from=addresses))
def test_transitions_of_workers(tmp_path_factory, rows):
    found = tmp_path_factory.mktemp("equal")
    require_equal(found, worker=rows)


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "start": times,
                "stop": times,
                "middle": times,
                "duration": st.floats(0, 1e6),
                "keys": st.dictionaries(keys, st.integers(0, 2**53), max_size=4),
                "total": integers,
                "bandwidth": st.none() | st.floats(0, 1e12),
                "who": st.none() | addresses,
                "type": st.sampled_from(["incoming_transfer", "outgoing_transfer"]),
                "called_from": addresses,
                "time": times,
                "compressed": integers,
            }
        ),
        min_size=1,
        max_size=5,
        unique_by=lambda row: row["start"],
    )
)
def test_transfers(tmp_path_factory, rows):
    require_equal(tmp_path_factory.mktemp("equal"), transfers=rows)


@given(
    rows_with(
        client=words,
        keys=st.sets(keys, max_size=3),
        dependencies=st.dictionaries(keys, st.sets(keys, max_size=3), min_size=1, max_size=4),
        time=times,
    )
)
def test_graphs(tmp_path_factory, rows):
    require_equal(tmp_path_factory.mktemp("equal"), graphs=rows)


@given(
    rows_with(worker=addresses, action=st.sampled_from(["add", "remove"]), stimulus_id=stimuli,
              time=times),
    rows_with(client=words, action=st.sampled_from(["add", "remove"]), time=times),
)  # fmt: skip
def test_workers_and_clients_that_come_and_go(tmp_path_factory, workers, clients):
    require_equal(tmp_path_factory.mktemp("equal"), workers=workers, clients=clients)


# ---- a whole run, and the views over it -------------------------------------------------------


@pytest.fixture(scope="module")
def simulated() -> dict[str, Rows]:
    """The events of the run in examples/, from its simulated cluster."""
    if not (EXAMPLES / "make_run.py").is_file():
        pytest.skip("no examples folder beside this checkout")
    sys.path.insert(0, str(EXAMPLES))
    try:
        import make_run
    finally:
        sys.path.remove(str(EXAMPLES))
    cluster = make_run.simulate()
    joined = [
        {"worker": address, "action": "add", "stimulus_id": None, "time": make_run.START + 10}
        for address in make_run.WORKERS
    ]
    return {
        "scheduler": cluster.scheduler_transitions,
        "worker": cluster.worker_transitions,
        "transfers": _once([{**row, "keys": _plain(row["keys"])} for row in cluster.transfers]),
        "graphs": cluster.graphs,
        "workers": joined,
        "clients": [
            {"client": name, "action": "add", "time": make_run.START + 8}
            for name in make_run.CLIENTS
        ],
    }


def _once(transfers: Rows) -> Rows:
    """Without those that the coupler logs again, which a capture does not."""
    found: dict[str, dict[str, Any]] = {}
    for row in transfers:
        found.setdefault(repr({**row, "time": None}), row)
    return list(found.values())


def _plain(printed: str | Mapping[Any, int]) -> Mapping[Any, int]:
    return ast.literal_eval(printed) if isinstance(printed, str) else printed


@pytest.fixture(scope="module")
def datasets(simulated, tmp_path_factory) -> tuple[Any, Any]:
    folder = tmp_path_factory.mktemp("views")
    mofka, captured = write_both(folder, **simulated)
    for name, place in (("mofka-dask", mofka), ("dask", captured)):
        harvest.run([f"{name}:{place}"], f"parquet:{folder / name}")
    return harvest.open(folder / "mofka-dask"), harvest.open(folder / "dask")


OF_THE_CAPTURE = {
    *("run", "nodes", "processes", "nthreads", "name", "hostname", "pid", "clock_offset_s", "lost"),
    *("first_report", "last_report", "origin", "position", "lost_processes", "blind_spells"),
}


def shared(frame: pl.DataFrame) -> list[dict[str, Any]]:
    return [_without_place(row) for row in frame.to_dicts()]


def _without_place(value: Any) -> Any:
    if isinstance(value, dict):
        return {n: _without_place(v) for n, v in value.items() if n not in OF_THE_CAPTURE}
    return [_without_place(item) for item in value] if isinstance(value, list) else value


@pytest.mark.slow
@pytest.mark.parametrize("view", ["dask.tasks", "dask.workers", "dask.run_summary"])
def test_views_show_the_same_of_both(datasets, view):
    one, other = (shared(data.view(view).collect()) for data in datasets)
    assert one == other
    assert one


@pytest.mark.slow
def test_a_trace_shows_the_same_of_both(datasets):
    def events(data: Any) -> Counter[str]:
        frame = data.view("dask.trace").collect()
        return Counter(map(repr, shared(frame)))

    one, other = map(events, datasets)
    assert one == other
