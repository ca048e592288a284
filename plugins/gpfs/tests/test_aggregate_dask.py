"""The distributed backend: two workers, many pieces, the same bytes."""

import random

import pytest
from scan_rows import dataset, files, row

from harvest import HarvestError, UsageError
from harvest_gpfs import aggregate, write_result
from harvest_gpfs.aggregation import METRICS

pytest.importorskip("distributed", reason="the extra dask is not installed")


@pytest.fixture(scope="module")
def scan(tmp_path_factory):
    """20,000 rows in five parts; some inodes have paths in several of them."""
    pick = random.Random(5)
    rows = [
        row(
            f"/gpfs/{pick.choice('abc')}/run{pick.randrange(9)}/f{n}.{pick.choice(['nc', 'h5'])}",
            1 + n - (n % 50 == 0) * pick.randrange(n or 1),
            pick.randrange(10**12),
            uid=pick.randrange(30),
            nlink=None,
            heat=pick.random(),
            generation=None,
        )
        for n in range(1, 20_001)
    ]
    pick.shuffle(rows)
    folder = tmp_path_factory.mktemp("scan")
    dataset(folder, *(rows[n::5] for n in range(5)))
    return folder


@pytest.fixture(scope="module")
def address():
    """Of a scheduler with two workers, as this plugin starts one."""
    from harvest_gpfs.aggregation.on_dask import connect

    with connect(None, workers=2, memory=4 << 30) as client:
        assert len(client.scheduler_info()["workers"]) == 2
        yield client.scheduler.address


@pytest.mark.slow
@pytest.mark.parametrize("by", ["uid,top", "directory", "extension,size_bin", ""])
def test_two_workers_write_the_same_bytes_as_one_process(scan, address, by, tmp_path, monkeypatch):
    from harvest_gpfs.aggregation import listing, on_dask

    # given pieces, passes and trees that are small, so that there are many of each
    monkeypatch.setattr(on_dask, "PIECE_ROWS", 2_000)
    monkeypatch.setattr(on_dask, "FAN_IN", 2)
    monkeypatch.setattr(listing, "LEAST_INODES", 8_000)
    settings = {"by": by, "metrics": list(METRICS)}

    # when both do the same
    alone = aggregate(files(scan), backend="streaming", **settings)
    together = aggregate(files(scan), address=address, **settings)

    # then no file tells which did it, and there was something to get wrong
    assert together.choice.backend == "dask"
    assert alone.frame["hard_links"].sum() > 100
    for suffix in ("csv", "parquet", "jsonl"):
        one = write_result(alone, tmp_path / f"alone.{suffix}")
        two = write_result(together, tmp_path / f"together.{suffix}")
        assert one.read_bytes() == two.read_bytes()


@pytest.mark.slow
def test_a_scheduler_that_does_not_answer_is_told(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError("Timed out trying to connect")

    dataset(tmp_path, [row("/d/x", 5, 30)])
    with pytest.raises(HarvestError, match="nowhere: no Dask scheduler answers: missing port"):
        aggregate(files(tmp_path), address="nowhere")
    monkeypatch.setattr("harvest_gpfs.aggregation.on_dask.Client", refuse)
    with pytest.raises(HarvestError, match="tcp://nowhere:1: no Dask scheduler answers"):
        aggregate(files(tmp_path), address="tcp://nowhere:1")


def test_an_address_is_for_dask_alone(tmp_path):
    dataset(tmp_path, [row("/d/x", 5, 30)])
    with pytest.raises(UsageError, match="takes no address"):
        aggregate(files(tmp_path), backend="streaming", address="tcp://host:1")
