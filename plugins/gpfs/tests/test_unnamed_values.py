"""Lists whose SHOW prints values alone, without a header that names them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import harvest
from harvest import SourceError
from harvest_gpfs.parse.find import ORDER
from harvest_gpfs.source import GpfsSource

VALUES = "{n}|2026-01-02 00:00:00|2026-01-03 00:00:00|2026-01-04 00:00:00|7|8|-rw-r--r--|home|data"
LINE = "{n} 65537 0  " + VALUES + "{links} -- /fs/file{n}\n"


def listed(path: Path, links: str) -> Path:
    path.write_text("".join(LINE.format(n=n, links=links) for n in range(1, 21)))
    return path


def refusal(path: Path) -> str:
    with pytest.raises(SourceError) as refused:
        harvest.run(f"gpfs:{path}", f"parquet:{path.parent / 'refused'}")
    return str(refused.value)


def test_the_known_order_is_offered_where_it_fits_and_never_taken_unasked(tmp_path: Path) -> None:
    path = listed(tmp_path / "scan-20260111.list", "|1")

    found, said = GpfsSource.detect(path), refusal(path)

    # so little that a source of this name must be asked for
    assert found is not None
    assert found.confidence < 0.5
    for text in (found.reason, said):
        assert f"--set gpfs.show='{ORDER}'" in text
        assert "SHOW prints '1|2026-01-02 00:00:00|" in text
    # and what is offered reads all of it
    harvest.run(f"gpfs:{path}", f"parquet:{tmp_path / 'out'}", settings={"gpfs": {"show": ORDER}})
    files = harvest.open(tmp_path / "out")["gpfs.file"].select(
        pl.len(), pl.sum("size_bytes"), pl.col("modify_time").max().dt.day(), pl.max("nlink")
    )
    assert files.collect().row(0) == (20, sum(range(1, 21)), 2, 1)


def test_values_of_another_order_are_to_be_named(tmp_path: Path) -> None:
    path = listed(tmp_path / "scan-20260111.list", "")

    found, said = GpfsSource.detect(path), refusal(path)

    assert found is not None
    for text in (found.reason, said):
        assert "name them, as in --set gpfs.show=" in text
        assert ORDER not in text
