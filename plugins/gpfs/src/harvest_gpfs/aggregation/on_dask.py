"""Backend on a Dask cluster: a partial result per piece, combined in a tree."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, Final, Self

import attrs
import polars as pl
from dask.system import CPU_COUNT
from distributed import Client, KilledWorker, LocalCluster
from distributed.scheduler import NoValidWorkerError

from harvest import HarvestError

from .files import Piece
from .files import scan as read_rows
from .scans import Scan, Step

PIECE_ROWS: Final = 1_000_000
"""Approximate number of rows in a unit of work."""

FAN_IN: Final = 8
"""Number of partial results that are combined together."""


@attrs.frozen(eq=False)
class ClusterRows:
    """Rows of ``gpfs.file`` in Parquet files, whose paths must be valid on every worker."""

    client: Any
    units: Sequence[Piece]
    scan: Scan | None = None

    def of(self, scan: Scan) -> Self:
        return attrs.evolve(self, scan=scan)

    def reduce(self, step: Step) -> pl.DataFrame:
        """Compute the result of a step over all rows.

        Raises HarvestError if workers are lost, for example when they run out of memory.
        """
        if not self.units:
            return step.finish(step.partial(read_rows([]))).collect()
        submit = self.client.submit
        # send the step to each worker once, not with every task
        shared = self.client.scatter(step, broadcast=True, hash=False)
        level = [submit(_partial, shared, unit, self.scan, pure=False) for unit in self.units]
        while len(level) > 1:
            level = [
                submit(_combine, shared, level[start : start + FAN_IN], pure=False)
                for start in range(0, len(level), FAN_IN)
            ]
        try:
            result: pl.DataFrame = submit(_finish, shared, level[0], pure=False).result()
        except (KilledWorker, NoValidWorkerError) as error:
            raise HarvestError(
                f"the cluster lost its workers: {error}",
                remedy="give them more memory, or take backend=streaming",
            ) from error
        return result


def _partial(step: Step, unit: Piece, scan: Scan | None) -> pl.DataFrame:
    rows = read_rows([unit]).slice(unit.offset, unit.rows)
    return step.partial(rows if scan is None else scan.filter(rows)).collect()


def _combine(step: Step, partials: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return step.combine([partial.lazy() for partial in partials]).collect()


def _finish(step: Step, partial: pl.DataFrame) -> pl.DataFrame:
    return step.finish(partial.lazy()).collect()


@contextlib.contextmanager
def connect(address: str | None, workers: int | None, memory: int) -> Iterator[Any]:
    """Connect to the scheduler at an address, or start one on this machine and stop it afterwards.

    workers: number of processes of a scheduler started here; default: one per CPU.
    memory: memory limit of these processes together, in bytes.
    Raises HarvestError if no scheduler answers.
    """
    if address is not None:
        try:
            client: Any = Client(address, timeout=20)  # type: ignore[no-untyped-call]
        except (OSError, ValueError) as error:
            said, remedy = (
                f"no Dask scheduler answers: {error}",
                "write its address as tcp://HOST:PORT",
            )
            raise HarvestError(said, where=address, remedy=remedy) from error
        with client:
            yield client
        return
    count = workers or CPU_COUNT
    with (
        LocalCluster(  # type: ignore[no-untyped-call]
            n_workers=count,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            worker_dashboard_address="127.0.0.1:0",
            scheduler_kwargs={"dashboard": False},
            memory_limit=memory // count,
            # each worker is one of several processes, so it uses one CPU
            env={"POLARS_MAX_THREADS": "1"},
        ) as started,
        Client(started) as client,  # type: ignore[no-untyped-call]
    ):
        yield client
