"""CSVs of a run without their headers: known by the order of their columns, or refused."""

import lzma
from pathlib import Path

import pytest

from harvest import SourceError, collect
from harvest_mofka_dask.source import MofkaDaskSource

T = "1713553301.0305839"
W, V, S = "tcp://10.0.0.1:34267", "tcp://10.0.0.2:34267", "tcp://10.0.0.9:8786"
TYPES = {
    "scheduler_transition": (
        ",key,thread,worker,prefix,group,start,finish,stimulus_id,called_from,begins,ends,duration,"
        "size,time",
        [
            f"""0,"('x', 1)",,,x,x,released,waiting,update-graph-1,{S},,,,,{T}""",
            f"""1,"('x', 1)",7,{W},x,x,processing,memory,task-finished-1,{S},{T},{T},0.5,28,{T}""",
        ],
    ),
    "worker_transition": (
        ",key,start,finish,called_from,time",
        [f"0,key,released,waiting,{W},{T}", f"1,start,waiting,ready,{W},{T}"],
    ),
    "worker_transfer": (
        ",start,stop,middle,duration,keys,total,bandwidth,who,type,called_from,time,compressed",
        [f"""0,{T},{T},{T},9e-05,"{{('x', 1): 28}}",28,53743.6,{W},incoming_transfer,{V},{T},"""],
    ),
    "graph": (
        ",client,keys,dependencies,time",
        [f"""0,Client-3c72,{{'a'}},"{{'a': {{'b', 'c'}}, 'b': set(), 'c': set()}}",{T}"""],
    ),
    "worker": (
        ",worker,action,stimulus_id,time",
        [f"0,{W},add,,{T}", f"1,{V},add,,{T}", f"2,,,,{T}"],
    ),
    "client": (",client,action,time", [f"0,Client-3c72,add,{T}"]),
}
LATER_TRANSFER = (
    ",start,stop,middle,duration,who,keys,total,compressed,bandwidth,type,called_from,time",
    [f"0,{T},{T},{T},9e-05,,{{'x': 28}},28,30,53743.6,outgoing_transfer,{V},{T}"],
)


def read(path: Path):
    found = collect(MofkaDaskSource(str(path)))
    assert (found.units or 0) == found.accounted
    return found


def kept(found):
    rows = {
        name: [{k: v for k, v in row.items() if k != "origin"} for row in found.rows(name)]
        for name in found.tables
    }
    return rows, [(r.position, r.raw, r.reason) for r in found.rejects], found.filtered


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize(
    ("kind", "header", "rows"),
    [*((kind, *table) for kind, table in TYPES.items()), ("worker_transfer", *LATER_TRANSFER)],
)
def test_rows_are_the_same_without_a_header_and_compressed(tmp_path, kind, header, rows, named):
    (tmp_path / "whole").mkdir()
    name = f"{kind}.csv" if named else "dump.csv"
    whole, cut = tmp_path / "whole" / name, tmp_path / f"{name}.xz"
    whole.write_text("\n".join([header, *rows]) + "\n")
    packed = lzma.compress(("\n".join(rows) + "\n").encode())
    cut.write_bytes(packed)
    # when both are read, then only the note of what was assumed differs
    expected, found = read(whole), read(cut)
    assert kept(found) == kept(expected)
    assert sum(map(len, kept(found)[0].values())) >= len(rows)
    assert not found.rejects
    assert f"taken as (index){header.replace(',', ', ')}, the one known" in found.notes[0]
    detected = MofkaDaskSource.detect(cut)
    assert 0.7 <= detected.confidence < MofkaDaskSource.detect(whole).confidence
    assert detected.reason.startswith(f"{kind}.csv: rows without a header")
    # and where its data are cut short, it is refused
    cut.write_bytes(packed[:-8])
    with pytest.raises(SourceError, match="damaged or cut short" if named else "not a file of"):
        read(cut)


def test_a_bad_row_is_rejected_and_numbered_as_below_a_header(tmp_path):
    header, rows = TYPES["worker_transition"]
    lines = [*rows * 10, f"9,key,,ready,{W},{T}", "", rows[0] + ",1"]
    whole, cut = tmp_path / "whole.csv", tmp_path / "cut.csv"
    whole.write_text("\n".join([header, *lines]) + "\n")
    cut.write_text("\n".join(lines) + "\n")
    found = read(cut)
    assert kept(found) == kept(read(whole))
    assert sorted(reject.position for reject in found.rejects) == [21, 22]
    assert [row["position"] for row in found.rows("dask.worker_transition")] == [*range(1, 21)]


def test_a_graph_whose_first_record_is_long_is_known_by_its_beginning(tmp_path):
    keys = [f"key-{number}" for number in range(6000)]
    graph = "{" + ", ".join(f"'{key}': set()" for key in keys) + "}"
    (tmp_path / "dump.csv").write_text(f"""0,Client-1,{{'key-0'}},"{graph}",{T}\n""")
    found = read(tmp_path)
    assert [row["key"] for row in found.rows("dask.graph_task")] == keys


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("0,key,begun,waiting,w,1", "(line 1: start is 'begun')"),
        ("0,key,released,waiting", "(line 1: it has 4 fields)"),
    ],
)
def test_lines_of_something_else_are_refused(tmp_path, line, why):
    path = tmp_path / "worker_transition.csv"
    path.write_text(line + "\n")
    (reject,) = read(path).rejects
    assert reject.raw == line.encode()
    assert reject.reason.startswith("the header lacks start, finish, time of a worker_tran")
    assert "taken as lines without a header, 0 of 1 looked at fit the order (index), key" in (
        reject.reason
    )
    assert why in reject.reason
    foreign = tmp_path / "other.csv"
    foreign.write_text("0,a,b,c,d,1.5\n")
    assert MofkaDaskSource.detect(foreign) is None
