"""Transfers: who moved what, and repeats folded wherever they stand."""

import csv
import random

import numpy as np
import pytest

from harvest import collect
from harvest_mofka_dask.read import transfers
from harvest_mofka_dask.source import MofkaDaskSource


def transfer(number: int, **changes: object) -> dict[str, object]:
    row = {
        "start": 1713553304.5 + number,
        "stop": 1713553305.5 + number,
        "middle": 1713553305.0,
        "duration": 1.0,
        "keys": str({("array-1", number): 10 + number}),
        "total": 10 + number,
        "bandwidth": 10.5,
        "who": "tcp://b",
        "type": "incoming_transfer",
        "called_from": "tcp://a",
        "time": 1713553306.25,
        "compressed": None,
    }
    return row | changes


def harvest(tmp_path, rows):
    path = tmp_path / "worker_transfer.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["", *transfer(0)])
        writer.writeheader()
        writer.writerows({"": i, **row} for i, row in enumerate(rows))
    found = collect(MofkaDaskSource(str(path)))
    assert found.units == found.accounted == len(rows)
    return found


def test_an_incoming_transfer_is_told_by_the_one_who_asked(tmp_path):
    (row,) = harvest(tmp_path, [transfer(0)]).rows("dask.transfer")
    assert (row["direction"], row["requestor"], row["fulfiller"], row["worker"]) == (
        *("incoming", "tcp://a", "tcp://b", "tcp://a"),
    )
    assert row["keys"] == [{"key": "('array-1', 0)", "size_bytes": 10}]
    assert (row["total_bytes"], row["compressed_bytes"], row["copies"]) == (10, None, 1)


def test_an_outgoing_transfer_is_told_by_the_one_who_gave(tmp_path):
    rows = [
        transfer(0, type="outgoing_transfer", compressed="2533.0"),
        transfer(1, type="outgoing_transfer", who=None),
    ]
    first, second = harvest(tmp_path, rows).rows("dask.transfer")
    assert (first["requestor"], first["fulfiller"], first["compressed_bytes"]) == (
        *("tcp://b", "tcp://a", 2533),
    )
    assert (second["requestor"], second["fulfiller"]) == (None, "tcp://a")


def test_another_type_keeps_its_word_and_its_partner(tmp_path):
    (row,) = harvest(tmp_path, [transfer(0, type="Spilled_transfer")]).rows("dask.transfer")
    assert (row["direction"], row["requestor"], row["fulfiller"]) == ("spilled", None, None)
    assert row["extra"] == [("who", "tcp://b")]


@pytest.mark.parametrize(("text", "keys"), [("{}", []), ("", None)])
def test_a_transfer_may_move_nothing(tmp_path, text, keys):
    (row,) = harvest(tmp_path, [transfer(0, keys=text)]).rows("dask.transfer")
    assert row["keys"] == keys


def test_repeats_fold_into_the_first_which_keeps_its_time(tmp_path):
    rows = [
        transfer(0),
        transfer(1),
        transfer(0, time=1713553307.0),
        transfer(0, time=""),
        transfer(1, total=99),
    ]
    found = harvest(tmp_path, rows)
    found_rows = found.rows("dask.transfer")
    assert [(r["position"], r["copies"], r["total_bytes"]) for r in found_rows] == [
        (1, 3, 10),
        (2, 1, 11),
        (5, 1, 99),
    ]
    assert found_rows[0]["time"].microsecond == 250_000
    assert found.folded == {"repeated transfer": 2}


def test_what_is_wrong_with_a_row_is_wrong_with_its_repeats(tmp_path):
    bad = {"keys": "{oops", "time": 1713553306.5}
    rows = [transfer(0, **bad), transfer(1), transfer(0, **bad), transfer(1, time="never")]
    found = harvest(tmp_path, rows)
    assert [r.position for r in found.rejects] == [1, 3, 4]
    assert [(r["position"], r["copies"]) for r in found.rows("dask.transfer")] == [(2, 1)]


@pytest.mark.slow
def test_repeats_are_found_across_blocks(tmp_path, monkeypatch):
    """Given many small blocks, when rows repeat far away, then counts equal those of a dict."""
    monkeypatch.setattr("harvest_toolkit.delimited.BLOCK_BYTES", 1000)
    rng = random.Random(3)
    rows = [transfer(rng.randrange(120), time=1713553306.5 + i / 8) for i in range(700)]
    expected: dict[str, list[int]] = {}
    for position, row in enumerate(rows, 1):
        seen = expected.setdefault(str(row | {"time": None}), [position, 0])
        seen[1] += 1
    found = harvest(tmp_path, rows)
    found_rows = [[r["position"], r["copies"]] for r in found.rows("dask.transfer")]
    assert found_rows == list(expected.values())


@pytest.mark.slow
def test_another_type_may_first_come_in_a_later_block(tmp_path, monkeypatch):
    monkeypatch.setattr("harvest_toolkit.delimited.BLOCK_BYTES", 1000)
    rows = [*(transfer(n) for n in range(20)), transfer(20, type="gossip")]
    *_, last = harvest(tmp_path, rows).rows("dask.transfer")
    assert last["extra"] == [("who", "tcp://b")]


def test_the_two_words_of_the_hash_are_independent():
    """Rows that agree in the low bits of one word do not agree in the other any more often."""
    import polars as pl

    n = 50_000
    frame = pl.DataFrame({"a": np.arange(n).astype(str), "b": (np.arange(n) % 7).astype(str)})

    class Texts:
        table = frame.to_arrow()

        def texts(self, name):
            return frame[name].to_arrow()

    words = transfers._hashes(Texts())
    low = words & np.uint64(0x3FFF)
    order = np.argsort(low[:, 0], kind="stable")
    same = low[order][1:, 0] == low[order][:-1, 0]
    both = same & (low[order][1:, 1] == low[order][:-1, 1])
    assert same.sum() > n / 2  # 2**14 values for 50,000 rows
    assert both.sum() < 30  # by chance about two
    assert len({tuple(w) for w in words.tolist()}) == n


def test_a_cell_that_would_run_a_command_is_rejected_and_not_run(tmp_path):
    marker = tmp_path / "ran"
    cell = f"{{__import__('pathlib').Path('{marker}').touch(): 1}}"
    found = harvest(tmp_path, [transfer(0, keys=cell)])
    assert "is not a literal" in found.rejects[0].reason
    assert not marker.exists()
