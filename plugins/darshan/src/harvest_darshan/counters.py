"""Names of Darshan's counters, in the order of the log, with their meaning.

The names are those of Darshan's own headers (``include/darshan-*-log-format.h``, release 3.5.0)
and of ``darshan-parser``, so Darshan's documentation explains the tables of a dataset.
"""

import re
from typing import Final

COUNTS: Final = re.compile(
    r"_(READ|WRITE|READX|WRITEX|GET|PUT)S$|_(FETCH|UPDAT)ES$|_BYTES_(READ|WRITTEN)$"
    r"|_SIZE_(READ|WRITE)_|_ACCESS\d_COUNT$"
)
"""Counters of operations and bytes, which Darshan always records, so they are at least 0.

Others, for example POSIX_MMAPS, are -1 per rank if Darshan did not record them.
"""

TIMES: Final = re.compile(r"_F_(READ|WRITE|META|FASTEST_RANK|SLOWEST_RANK)_TIME$")
"""Timers of operations."""


def words(*lines: str) -> tuple[str, ...]:
    """Split lines into words."""
    return tuple(" ".join(lines).split())


SIZES: Final = words("0_100 100_1K 1K_10K 10K_100K 100K_1M 1M_4M 4M_10M 10M_100M 100M_1G 1G_PLUS")
"""Darshan's names of the size bins of reads and writes."""

_RANKS: Final = "FASTEST_RANK FASTEST_RANK_BYTES SLOWEST_RANK SLOWEST_RANK_BYTES"


def _sizes(infix: str = "") -> str:
    return " ".join(f"SIZE_{way}_{infix}{size}" for way in ("READ", "WRITE") for size in SIZES)


def _common(word: str) -> str:
    """Name the counters of the four most common values: first the values, then their counts."""
    return " ".join(f"{word}{i}_{kind}" for kind in (word, "COUNT") for i in range(1, 5))


def _timestamps(events: str = "OPEN READ WRITE CLOSE") -> str:
    return " ".join(f"F_{e}_{end}_TIMESTAMP" for end in ("START", "END") for e in events.split())


_IO_TIMES: Final = "F_READ_TIME F_WRITE_TIME F_META_TIME F_MAX_READ_TIME F_MAX_WRITE_TIME"
_RANK_TIMES: Final = "F_FASTEST_RANK_TIME F_SLOWEST_RANK_TIME"
_VARIANCES: Final = "F_VARIANCE_RANK_TIME F_VARIANCE_RANK_BYTES"
_SHAPES: Final = [f"{kind}_D{d}" for kind in ("LENGTH", "STRIDE") for d in range(1, 6)]
_ACCESSES: Final = " ".join(
    [f"ACCESS{i}_{word}" for i in range(1, 5) for word in ("ACCESS", *_SHAPES)]
    + [f"ACCESS{i}_COUNT" for i in range(1, 5)]
)
_VAR_CALLS: Final = " ".join(
    f"{way}_{kind}"
    for way in ("PUT", "GET", "IPUT", "IGET", "BPUT")
    for kind in ("VAR", "VAR1", "VARA", "VARS", "VARM", "VARN", "VARD")
    if not (kind == "VARD" and way not in ("PUT", "GET"))
)


def _prefixed(modules: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Put the name of its module, without marks, before each word."""
    prefixes = {module: re.sub(r"\W", "", module) for module in modules}
    return {
        module: tuple(f"{prefixes[module]}_{word}" for word in words(*parts))
        for module, parts in modules.items()
    }


_COUNTERS: Final = {
    "POSIX": (
        "OPENS FILENOS DUPS READS WRITES SEEKS STATS MMAPS FSYNCS FDSYNCS RENAME_SOURCES",
        "RENAME_TARGETS RENAMED_FROM MODE BYTES_READ BYTES_WRITTEN MAX_BYTE_READ",
        "MAX_BYTE_WRITTEN CONSEC_READS CONSEC_WRITES SEQ_READS SEQ_WRITES RW_SWITCHES",
        "MEM_NOT_ALIGNED MEM_ALIGNMENT FILE_NOT_ALIGNED FILE_ALIGNMENT MAX_READ_TIME_SIZE",
        f"MAX_WRITE_TIME_SIZE {_sizes()} {_common('STRIDE')} {_common('ACCESS')} {_RANKS}",
    ),
    "MPI-IO": (
        "INDEP_OPENS COLL_OPENS INDEP_READS INDEP_WRITES COLL_READS COLL_WRITES SPLIT_READS",
        "SPLIT_WRITES NB_READS NB_WRITES SYNCS HINTS VIEWS MODE BYTES_READ BYTES_WRITTEN",
        "RW_SWITCHES MAX_READ_TIME_SIZE MAX_WRITE_TIME_SIZE",
        f"{_sizes('AGG_')} {_common('ACCESS')} {_RANKS}",
    ),
    "H5F": ("OPENS FLUSHES USE_MPIIO",),
    "H5D": (
        "OPENS READS WRITES FLUSHES BYTES_READ BYTES_WRITTEN RW_SWITCHES",
        "REGULAR_HYPERSLAB_SELECTS IRREGULAR_HYPERSLAB_SELECTS POINT_SELECTS",
        f"MAX_READ_TIME_SIZE MAX_WRITE_TIME_SIZE {_sizes('AGG_')} {_ACCESSES}",
        "DATASPACE_NDIMS DATASPACE_NPOINTS DATATYPE_SIZE CHUNK_SIZE_D1 CHUNK_SIZE_D2",
        f"CHUNK_SIZE_D3 CHUNK_SIZE_D4 CHUNK_SIZE_D5 USE_MPIIO_COLLECTIVE USE_DEPRECATED {_RANKS}",
    ),
    "PNETCDF_FILE": (
        "CREATES OPENS REDEFS INDEP_WAITS COLL_WAITS SYNCS BYTES_READ BYTES_WRITTEN",
        "WAIT_FAILURES",
    ),
    "PNETCDF_VAR": (
        "OPENS INDEP_READS INDEP_WRITES COLL_READS COLL_WRITES NB_READS NB_WRITES BYTES_READ",
        f"BYTES_WRITTEN RW_SWITCHES {_VAR_CALLS} MAX_READ_TIME_SIZE MAX_WRITE_TIME_SIZE",
        f"{_sizes('AGG_')} {_ACCESSES} NDIMS NPOINTS DATATYPE_SIZE IS_RECORD_VAR {_RANKS}",
    ),
    "BG/Q": (
        "CSJOBID NNODES RANKSPERNODE DDRPERNODE INODES ANODES BNODES CNODES DNODES ENODES",
        "TORUSENABLED",
    ),
    "LUSTRE": (
        "COMP_STRIPE_SIZE COMP_STRIPE_COUNT COMP_STRIPE_PATTERN COMP_FLAGS COMP_EXT_START",
        "COMP_EXT_END COMP_MIRROR_ID",
    ),
    "STDIO": (
        "OPENS FDOPENS READS WRITES SEEKS FLUSHES BYTES_WRITTEN BYTES_READ MAX_BYTE_READ",
        f"MAX_BYTE_WRITTEN {_RANKS}",
    ),
    "MDHIM": ("PUTS GETS PUT_MAX_SIZE GET_MAX_SIZE SERVERS",),
    "DFS": (
        "OPENS GLOBAL_OPENS LOOKUPS DUPS READS READXS WRITES WRITEXS NB_READS NB_WRITES",
        "GET_SIZES PUNCHES REMOVES STATS BYTES_READ BYTES_WRITTEN RW_SWITCHES",
        "MAX_READ_TIME_SIZE MAX_WRITE_TIME_SIZE",
        f"{_sizes()} {_common('ACCESS')} CHUNK_SIZE {_RANKS}",
    ),
    "DAOS": (
        "OBJ_OPENS OBJ_FETCHES OBJ_UPDATES OBJ_PUNCHES OBJ_DKEY_PUNCHES OBJ_AKEY_PUNCHES",
        "OBJ_DKEY_LISTS OBJ_AKEY_LISTS OBJ_RECX_LISTS ARRAY_OPENS ARRAY_READS ARRAY_WRITES",
        "ARRAY_GET_SIZES ARRAY_SET_SIZES ARRAY_STATS ARRAY_PUNCHES ARRAY_DESTROYS KV_OPENS",
        "KV_GETS KV_PUTS KV_REMOVES KV_LISTS KV_DESTROYS NB_OPS BYTES_READ BYTES_WRITTEN",
        f"RW_SWITCHES MAX_READ_TIME_SIZE MAX_WRITE_TIME_SIZE {_sizes()} {_common('ACCESS')}",
        f"OBJ_OTYPE ARRAY_CELL_SIZE ARRAY_CHUNK_SIZE {_RANKS}",
    ),
}
COUNTERS: Final = _prefixed(_COUNTERS)
"""Integer counters of each module, in the order of the newest log format."""

_OF_CALLS: Final = (_timestamps(), _IO_TIMES, _RANK_TIMES)
_TIMERS: Final = {
    **dict.fromkeys(("POSIX", "MPI-IO", "H5D", "PNETCDF_VAR"), (*_OF_CALLS, _VARIANCES)),
    **dict.fromkeys(("DFS", "DAOS"), _OF_CALLS),
    "H5F": (_timestamps("OPEN CLOSE"), "F_META_TIME"),
    "PNETCDF_FILE": (_timestamps("OPEN CLOSE WAIT"), "F_META_TIME F_WAIT_TIME"),
    "BG/Q": ("F_TIMESTAMP",),
    "STDIO": (
        "F_META_TIME F_WRITE_TIME F_READ_TIME",
        f"{_timestamps('OPEN CLOSE WRITE READ')} {_RANK_TIMES} {_VARIANCES}",
    ),
    "MDHIM": ("F_PUT_TIMESTAMP F_GET_TIMESTAMP F_PUT_MAX_DURATION F_GET_MAX_DURATION",),
}
TIMERS: Final = _prefixed(_TIMERS)
"""Floating-point counters of each module, in the order of the newest log format."""

_MEANINGS: Final = (
    (r"BGQ_F_TIMESTAMP$", "When the Blue Gene/Q data were collected."),
    (r"_F_(.*)_START_TIMESTAMP$", "First {0} of the record, in seconds after the job's start."),
    (r"_F_(.*)_END_TIMESTAMP$", "End of the last {0}, in seconds after the job's start."),
    (r"_F_(.*)_TIMESTAMP$", "First {0}, in seconds after the job's start."),
    (r"_F_MAX_(.*)_TIME$", "Duration of the slowest {0}."),
    (r"_F_(FASTEST|SLOWEST)_RANK_TIME$", "I/O time of the {0} rank, for shared records."),
    (r"_F_VARIANCE_RANK_(TIME|BYTES)$", "Variance of I/O {0} among ranks, for shared records."),
    (r"_F_(.*)_MAX_DURATION$", "Duration of the slowest {0}."),
    (r"_F_(.*)_TIME$", "Cumulative time spent in {0} operations."),
    (r"_SIZE_(READ|WRITE)_(?:AGG_)?(.*)$", "Number of {0}s with a size of {1} bytes."),
    (r"_MAX_(READ|WRITE)_TIME_SIZE$", "Size of the slowest {0}."),
    (r"_MAX_BYTE_(READ|WRITTEN)$", "Highest offset {0}."),
    (r"_BYTES_(READ|WRITTEN)$", "Bytes {0} in total."),
    (r"(FASTEST|SLOWEST)_RANK_BYTES$", "Bytes moved by the {0} rank, for shared records."),
    (r"(FASTEST|SLOWEST)_RANK$", "The {0} rank, for shared records."),
    (r"STRIDE(\d)_STRIDE$", "Stride {0} of the four most common."),
    (r"(ACCESS|STRIDE)(\d)_COUNT$", "Number of uses of {0} {1}, one of the four most common."),
    (r"ACCESS(\d)_ACCESS$", "Size of access {0} of the four most common."),
    (r"ACCESS(\d)_(LENGTH|STRIDE)_D(\d)$", "The {1} of common access {0} in dimension {2}."),
    (r"RENAMED_FROM$", "Record id of the first rename source, where this file was the target."),
    (r"RENAME_(SOURCES|TARGETS)$", "Number of renames with the file among the {0}."),
    (r"_MODE$", "Mode that the file was opened in."),
    (r"_CONSEC_(READS|WRITES)$", "Number of exactly adjacent {0}."),
    (r"_SEQ_(READS|WRITES)$", "Number of {0} at increasing offsets."),
    (r"_RW_SWITCHES$", "Number of changes between reads and writes."),
    (r"_(MEM|FILE)_ALIGNMENT$", "Alignment in bytes: {0}."),
    (r"_(MEM|FILE)_NOT_ALIGNED$", "Number of misaligned accesses: {0}."),
    (r"_CHUNK_SIZE_D(\d)$", "Chunk size of the dataset in dimension {0}."),
    (r"_DATASPACE_(.*)$", "{0} of the dataset's dataspace."),
    (r"_DATATYPE_SIZE$", "Size of one element."),
    (r"LUSTRE_COMP_(.*)$", "{0} of the component of the file's layout."),
    (r"BGQ_(.*)$", "{0} of the Blue Gene/Q partition."),
    (r"_(USE|IS)_(.*)$", "Flag: {0} {1}."),
    (r"_(.*)$", "Number of operations: {0}."),
)
_COMPILED: Final = [(re.compile(pattern), text) for pattern, text in _MEANINGS]


def describe(counter: str) -> str:
    """Describe a counter in one sentence."""
    for pattern, text in _COMPILED:
        if found := pattern.search(counter):
            parts = [w.lower().replace("_", " ") for w in found.groups()]
            return text.format(*parts)
    raise LookupError(f"no meaning for the counter {counter!r}")


def unit_of(counter: str) -> str | None:
    """Return the unit of a counter: ``s``, ``bytes``, or None for a plain number."""
    if "_F_" in counter:
        return None if "VARIANCE" in counter else "s"
    if re.search(r"BYTES|MAX_BYTE|_SIZE$|ACCESS\d_ACCESS$|STRIDE\d_STRIDE$|ALIGNMENT$", counter):
        return "bytes"
    return None
