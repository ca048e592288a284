"""A query over several scans is answered, and remarked on."""

import pytest
from commands import harvest_here
from raw_lists import row, write

import harvest


@pytest.fixture(scope="module")
def scans(tmp_path_factory):
    """Two scans of two files, and one of the two alone."""
    folder = tmp_path_factory.mktemp("remarks")
    (folder / "lists").mkdir()
    for day in ("20260111", "20260211"):
        write(folder / "lists" / f"{day}.list", [row(b"/fs/a", 1), row(b"/fs/b", 2)])
    harvest.run(f"gpfs:{folder / 'lists'}", f"parquet:{folder / 'both'}")
    harvest.run(f"gpfs:{folder / 'lists' / '20260111.list'}", f"parquet:{folder / 'one'}")
    return folder


@pytest.mark.parametrize(
    ("dataset", "sql", "remarked"),
    [
        ("both", "select count(*) as n from gpfs.file", True),
        ("both", "select count(*) as n from gpfs.file where scan_time = '2026-02-11'", False),
        ("both", "select ORIGIN, count(*) as n from gpfs.file group by all", False),
        ("both", "select sum(inodes) as n from gpfs.usage", False),
        ("one", "select count(*) as n from gpfs.file", False),
    ],
)
def test_a_query_that_mixes_scans_is_remarked_on(scans, dataset, sql, remarked):
    done = harvest_here("query", scans / dataset, sql)

    said = "gpfs.file has 2 scans, and this query counts rows of all of them"
    assert (said in done.stderr) == remarked
    assert "where scan_time = '2026-02-11T00:00:00Z'" in done.stderr or not remarked
    assert done.stdout.startswith("result: ")
