"""Build the views ``io.posix_files``, POSIX counters by file, and ``io.requests``, by job."""

import polars as pl

from harvest import DatasetReader
from harvest_toolkit.frames import complete_sum, fraction, known_sum, possible, sum_or_none

from ..counters import SIZES
from . import grouping
from .declared.jobs import POSIX_FILE_COLUMNS, REQUEST_COLUMNS
from .grouping import KEY, joined, known
from .layers import at_least, nanoseconds, seconds, sum_of, summed

OPS = (("read", "READS", "READ"), ("write", "WRITES", "WRITTEN"))
"""Each operation, with the two words for it in the names of Darshan's counters."""

SMALL = SIZES[:5]
"""The size bins of requests of at most 1 MiB."""

MIB = 2**20
"""The only size in these bins that is not small."""

UNNAMED = "(not named)"
"""Shown for a file whose name is not in the log."""


@grouping.view_of_jobs(POSIX_FILE_COLUMNS)
def posix_files(dataset: DatasetReader, logs: pl.DataFrame) -> pl.DataFrame:
    """Return a row per job and file that POSIX counts, the most time first within a job."""
    files = by_file(dataset, logs).collect(engine="streaming")
    spent = sum_of("read_s", "write_s", "meta_s")
    return (
        joined(files, process_seconds(logs), grouping.certainty(dataset, logs, "POSIX"))
        .with_columns(time_share=share_of(spent))
        .sort(spent, "file", "record_id", descending=[True, False, False], nulls_last=True)
    )


def process_seconds(logs: pl.DataFrame) -> pl.DataFrame:
    """Return the program, logs, processes, process time and ``scheduled`` of each job."""
    return logs.group_by(KEY).agg(
        program=grouping.program_of(grouping.EXE_OF_JOB),
        scheduled=pl.col("scheduled").first(),
        logs=pl.len(),
        nprocs=pl.col("nprocs").sum(),
        largest_log=pl.col("nprocs").max(),
        # unknown if one log has no end
        process_s=complete_sum(pl.col("run_time_s") * pl.col("nprocs")),
    )


def share_of(spent: pl.Expr) -> pl.Expr:
    """Return seconds as a share of the job's process time; null if that is unknown."""
    return fraction(spent, "process_s")


def by_file(dataset: DatasetReader, logs: pl.DataFrame) -> pl.LazyFrame:
    """Sum POSIX's counters by job (:data:`KEY`) and file; null if no part is known."""
    records = dataset["darshan.posix"].join(
        logs.select("origin", "nprocs", "run_time_s", *KEY).lazy(), on="origin", how="inner"
    )
    # a log of one process has rank -1, too, but is not shared
    shared = (pl.col("rank") < 0) & (pl.col("nprocs") > 1)
    alone = ~pl.col("shared")
    latest = pl.col("late_s").arg_max()
    kinds = ("", "small_", "random_")
    sums = [f"{kind}{op}s" for op, *_ in OPS for kind in kinds] + ["read_bytes", "write_bytes"]
    of_shared = [f"shared_{kind}{op}s" for op, *_ in OPS for kind in ("", "small_")]
    return (
        records.with_columns(shared=shared)
        .select(
            *(*KEY, "origin", "rank", "record_id", "path", "shared"),
            *(column for names in OPS for column in _of_op(*names)),
            *(*_alignment("MEM", "memory"), *_alignment("FILE", "file")),
            meta_s=nanoseconds("POSIX_F_META_TIME"),
            **_longest_meta(),
            **_imbalances(),
        )
        .group_by(*KEY, "record_id")
        .agg(
            *(sum_or_none(name).alias(name) for name in sums),
            *(at_least(pl.col(name)).alias(name) for name in of_shared),
            *(sum_or_none(name).alias(name) / 1e9 for name in ("read_s", "write_s", "meta_s")),
            *(known_sum(name).alias(name) for name in ALIGNMENTS),
            *(pl.col(f"{op}_extent").max() for op, *_ in OPS),
            *(_spread(pl.col(f"{op}_bytes").filter(alone)).alias(f"{op}_spread") for op, *_ in OPS),
            pl.col("byte_imbalance", "time_imbalance", "rank_spread").max(),
            pl.when(pl.col("late_s").is_not_null().any()).then(
                pl.col("fastest_rank", "slowest_rank", "late_share").get(latest)
            ),
            file=pl.col("path").max().fill_null(UNNAMED),
            processes=pl.struct("origin", "rank").filter(alone).n_unique(),
            shared=pl.col("shared").any(),
            slowest_meta_s=pl.col("least_meta").max() / 1e9,
            slowest_meta_most_s=pl.when(pl.col("most_meta").is_not_null().all()).then(
                pl.col("most_meta").max()
            )
            / 1e9,
            late_s=pl.col("late_s").max(),
        )
    )


def _of_op(op: str, verb: str, done: str) -> list[pl.Expr]:
    count = possible(f"POSIX_{verb}")
    at_most_mib = sum_of(*(possible(f"POSIX_SIZE_{op.upper()}_{size}") for size in SMALL))
    # Darshan counts the most common sizes of reads and writes together
    of_mib = sum_of(
        *(
            pl.when(pl.col(f"POSIX_ACCESS{n}_ACCESS") == MIB)
            .then(possible(f"POSIX_ACCESS{n}_COUNT"))
            .when(pl.col(f"POSIX_ACCESS{n}_ACCESS").is_not_null())
            .then(0)
            for n in range(1, 5)
        )
    )
    last_bin = possible(f"POSIX_SIZE_{op.upper()}_{SMALL[-1]}")
    of_mib = pl.when(of_mib.is_not_null()).then(pl.min_horizontal(of_mib, last_bin))
    # bins that hold more requests than there were are no counts of these
    small = pl.when(at_most_mib <= count).then(at_most_mib - of_mib)
    # the first request of a process follows none
    first = pl.when("shared").then("nprocs").otherwise(1)
    random = (count - possible(f"POSIX_SEQ_{verb}") - first).clip(lower_bound=0)
    return [
        count.alias(f"{op}s"),
        small.alias(f"small_{op}s"),
        random.alias(f"random_{op}s"),
        pl.when("shared").then(count).otherwise(0).alias(f"shared_{op}s"),
        pl.when("shared").then(small).otherwise(0).alias(f"shared_small_{op}s"),
        possible(f"POSIX_BYTES_{done}").alias(f"{op}_bytes"),
        possible(pl.col(f"POSIX_MAX_BYTE_{done}").cast(pl.Int128) + 1).alias(f"{op}_extent"),
        nanoseconds(f"POSIX_F_{op.upper()}_TIME").alias(f"{op}_s"),
    ]


ALIGNMENTS = ("misaligned_memory", "watched_memory", "misaligned_file", "watched_file")


def _alignment(what: str, word: str) -> list[pl.Expr]:
    """Return the misaligned operations of a record, and the operations that Darshan checked.

    Both are null if Darshan does not know the alignment (-1 or 0), and so did not check, or if it
    counts more misaligned operations than operations.
    """
    requests = sum_of(possible("POSIX_READS"), possible("POSIX_WRITES"))
    missed = pl.col(f"POSIX_{what}_NOT_ALIGNED")
    watched = (missed > 0) | ((missed == 0) & (pl.col(f"POSIX_{what}_ALIGNMENT") > 0))
    watched &= missed <= requests
    none = requests == 0
    return [
        pl.when(none).then(0).when(watched).then(count).alias(f"{name}_{word}")
        for name, count in (("misaligned", missed), ("watched", requests))
    ]


def _longest_meta() -> dict[str, pl.Expr]:
    """Return bounds of the longest time of a process in metadata operations of a record.

    A record of all ranks has only their sum: the longest time is at least the mean, and at most
    the time of the slowest rank in all operations.
    """
    spent = nanoseconds("POSIX_F_META_TIME")
    slowest = nanoseconds("POSIX_F_SLOWEST_RANK_TIME")
    bound = pl.when(slowest > 0).then(pl.min_horizontal(spent, slowest)).otherwise(spent)
    mean = (spent / pl.col("nprocs")).round(0).cast(pl.Int128)
    return {
        "least_meta": pl.when("shared").then(mean).otherwise(spent),
        "most_meta": pl.when("shared").then(pl.max_horizontal(bound, mean)).otherwise(spent),
    }


def _imbalances() -> dict[str, pl.Expr]:
    """Compare the fastest and the slowest rank in a record of all ranks."""
    moved = possible("POSIX_BYTES_READ") + possible("POSIX_BYTES_WRITTEN")
    spent = sum_of(*(seconds(f"POSIX_F_{what}_TIME") for what in ("READ", "WRITE", "META")))
    ranks = [possible(f"POSIX_{which}_RANK_BYTES") for which in ("SLOWEST", "FASTEST")]
    apart = (ranks[0] - ranks[1]).abs()
    late = (seconds("POSIX_F_SLOWEST_RANK_TIME") - seconds("POSIX_F_FASTEST_RANK_TIME")).abs()
    moving, taking = pl.col("shared") & (moved > 0), pl.col("shared") & (spent > 0)
    more = pl.max_horizontal(ranks)
    return {
        "byte_imbalance": pl.when(moving).then(apart / moved),
        "rank_spread": pl.when(moving).then(pl.when(more > 0).then(apart / more).otherwise(0.0)),
        "time_imbalance": pl.when(taking).then(late / spent),
        "late_s": pl.when(taking).then(late),
        "late_share": pl.when(taking).then(fraction(late, "run_time_s")),
        "fastest_rank": pl.col("POSIX_FASTEST_RANK"),
        "slowest_rank": pl.col("POSIX_SLOWEST_RANK"),
    }


def _spread(values: pl.Expr) -> pl.Expr:
    """Return most minus least as a share of the most: 0 if all are 0, null without values."""
    apart = pl.when(values.max() > 0).then((values.max() - values.min()) / values.max())
    known = (values.len() > 0) & values.is_not_null().all()
    return pl.when(known).then(apart.otherwise(0.0))


MPIIO = {"independent": "INDEP", "collective": "COLL", "split": "SPLIT", "nonblocking": "NB"}

_SUMMED = ("requests", "bytes", "small", "random", "redundant_bytes")


@grouping.view_of_jobs(REQUEST_COLUMNS)
def requests(dataset: DatasetReader, logs: pl.DataFrame) -> pl.DataFrame:
    """Return two rows per job, or per log: one for reads and one for writes."""
    files = by_file(dataset, logs).collect(engine="streaming")
    sure = grouping.certainty(dataset, logs, "POSIX", "MPI-IO")
    jobs = joined(process_seconds(logs), grouping.layer_states(dataset, logs), sure)
    return pl.concat(
        _requests_of(op, jobs, files, known(_mpiio(dataset, logs, op, verb), jobs, "mpiio"))
        for op, verb, _ in OPS
    )


def _requests_of(
    op: str, jobs: pl.DataFrame, files: pl.DataFrame, mpiio: pl.DataFrame
) -> pl.DataFrame:
    again = (pl.col(f"{op}_bytes") - pl.col(f"{op}_extent")).clip(lower_bound=0)
    mine = files.select(
        *(*KEY, "file"),
        requests=f"{op}s",
        bytes=f"{op}_bytes",
        seconds=f"{op}_s",
        small=f"small_{op}s",
        random=f"random_{op}s",
        shared=f"shared_{op}s",
        shared_small=f"shared_small_{op}s",
        redundant_bytes=again,
    )
    most = (("small", "small"), ("random", "random"), ("redundant", "redundant_bytes"))
    sums = mine.group_by(KEY).agg(
        *(sum_or_none(name).alias(name) for name in _SUMMED),
        # a file that is not shared has 0 of these
        *(at_least(pl.col(name)).alias(name) for name in ("shared", "shared_small")),
        seconds=summed(pl.col("seconds")),
        small_in_file=pl.col("small").max(),
        **{f"{what}_file": _file_with_most(column) for what, column in most},
    )
    return (
        joined(jobs, known(sums, jobs, "posix"), mpiio)
        .with_columns(
            op=pl.lit(op),
            time_share=share_of(pl.col("seconds")),
            mpiio_share=share_of(pl.col("mpiio_s")),
        )
        .select("scheduled", *(c.name for c in REQUEST_COLUMNS if c.name != "pid"))
    )


def _file_with_most(column: str) -> pl.Expr:
    """Return the file with the largest value; null if none is above 0."""
    most = pl.col("file").sort_by(column, "file", descending=[True, False], nulls_last=True).first()
    return pl.when(pl.col(column).max() > 0).then(most)


def _mpiio(dataset: DatasetReader, logs: pl.DataFrame, op: str, verb: str) -> pl.DataFrame:
    counts = {name: sum_or_none(possible(f"MPIIO_{word}_{verb}")) for name, word in MPIIO.items()}
    return (
        dataset["darshan.mpiio"]
        .join(logs.select("origin", *KEY).lazy(), on="origin")
        .group_by(KEY)
        .agg(**counts, mpiio_s=sum_or_none(nanoseconds(f"MPIIO_F_{op.upper()}_TIME")) / 1e9)
        .collect(engine="streaming")
    )
