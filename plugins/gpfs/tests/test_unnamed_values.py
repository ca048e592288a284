"""Lists whose SHOW prints values alone, without a header that names them."""

from pathlib import Path

import polars as pl
import pytest

import harvest
from harvest import SourceError
from harvest_gpfs.parse.find import ORDER
from harvest_gpfs.source import GpfsSource

TIMES = "|2026-01-02 00:00:00|2026-01-03 00:00:00|2026-01-04 00:00:00|"
LINE = "{n} 65537 0  {n}" + TIMES + "7|8|-rw-r--r--|home|data{links} -- /fs/file{n}\n"


@pytest.mark.parametrize(("links", "offered"), [("|1", ORDER), ("", "FILE_SIZE|USER_ID|...")])
def test_the_known_order_is_offered_where_it_fits_and_never_taken_unasked(
    tmp_path: Path, links: str, offered: str
) -> None:
    path = tmp_path / "scan-20260111.list"
    path.write_text("".join(LINE.format(n=n, links=links) for n in range(1, 21)))

    found = GpfsSource.detect(path)
    with pytest.raises(SourceError) as refused:
        harvest.run(f"gpfs:{path}", f"parquet:{tmp_path / 'refused'}")

    # so little that a source of this name must be asked for
    assert found is not None
    assert found.confidence < 0.5
    for text in (found.reason, str(refused.value)):
        assert f"--set gpfs.show='{offered}'" in text
        assert f"SHOW prints '1{TIMES}" in text
    if offered == ORDER:  # which reads all of it
        harvest.run(
            f"gpfs:{path}", f"parquet:{tmp_path / 'out'}", settings={"gpfs": {"show": ORDER}}
        )
        files = harvest.open(tmp_path / "out")["gpfs.file"].select(
            pl.len(), pl.sum("size_bytes"), pl.col("modify_time").max().dt.day(), pl.max("nlink")
        )
        assert files.collect().row(0) == (20, sum(range(1, 21)), 2, 1)
