"""Exports without a header: known by the order of their columns, or refused."""

from __future__ import annotations

import pytest

from harvest import SourceError, collect
from harvest_distiller.source import OTHER, DistillerSource

ROWS = [f"{number},582506{number},00:04:{number}" for number in range(10, 30)] + [
    "1928,,",
    "1929,58248564.0,1 days 00:19:38",
    "soon,1,00:00:01",
]


def read(path):
    found = collect(DistillerSource(str(path)))
    assert found.accounted == found.units
    return found


def kept(found):
    names = ("scan_id", "slurm_id", "elapsed_s", "scan_size", "extra")
    rows = [tuple(row[name] for name in names) for row in found.rows("distiller.job")]
    return rows, [(reject.raw, reject.reason) for reject in found.rejects]


@pytest.mark.parametrize("index", [False, True])
def test_an_export_gives_the_same_rows_without_its_header(tmp_path, index):
    header = ",id,slurm_id,elapsed" if index else "id,slurm_id,elapsed"
    rows = [f"{number},{row}" for number, row in enumerate(ROWS)] if index else ROWS
    (tmp_path / "whole").mkdir()
    whole, cut = tmp_path / "whole" / "128_128.csv", tmp_path / "128_128.csv"
    whole.write_text("\n".join([header, *rows]) + "\n")
    cut.write_text("\n".join(rows) + "\n")
    # when both are read
    expected, found = read(whole), read(cut)
    # then only the lines' numbers differ, and what was assumed is said
    assert kept(found) == kept(expected)
    assert len(kept(found)[0]) == len(ROWS) - 1
    assert found.rows("distiller.job")[0]["position"] == 1
    assert any("the one known order that its first lines fit (22 of 23)" in n for n in found.notes)
    assert not any("no header" in note for note in expected.notes)
    detected = DistillerSource.detect(cut)
    assert 0.5 <= detected.confidence < DistillerSource.detect(whole).confidence


def test_a_directory_reads_such_exports_and_counts_strangers(tmp_path):
    (tmp_path / "64_64.csv").write_text("\n".join(ROWS) + "\n")
    (tmp_path / "other.csv").write_text("1,2,2023-10-13 09:45:10\n")
    found = read(tmp_path)
    assert {row["scan_size"] for row in found.rows("distiller.job")} == {"64x64"}
    assert found.filtered == {OTHER: 1}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1,2,259\n3,4,260\n", "0 of 2 looked at fit the order id, slurm_id, elapsed (line 1: "),
        ("scan,job,time\n1,2,00:04:19\n", "id, slurm_id, elapsed"),  # names of other columns
        ("1,2,\n3,4,\n", "nothing in its lines shows"),
        ("1,2,00:04:19\n1,2\n1,2,-1\n", "1 of 3 looked at fit"),
    ],
)
def test_lines_of_something_else_are_refused(tmp_path, text, why):
    path = tmp_path / "128_128.csv"
    path.write_text(text)
    assert DistillerSource.detect(path) is None
    with pytest.raises(SourceError) as caught:
        read(path)
    assert why in caught.value.message
