"""Small logs by a writer that is independent of the reader, rows without logs, and the samples."""

import bz2
import struct
import zlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import polars as pl

import harvest
from harvest import UsageError, record_type
from harvest.model.frames import polars_schema
from harvest_darshan.counters import COUNTERS, TIMERS
from harvest_darshan.records import ALL

SAMPLES = next(
    (p / "shared/data" for p in Path(__file__).parents if (p / "shared/data").is_dir()),
    Path("/nonexistent"),
)
LOGS = sorted([*SAMPLES.rglob("*.darshan"), *SAMPLES.rglob("*.darshan_partial")])
"""All real ones, and small ones of which a number cannot be."""

MODULES = (
    *("NULL", "POSIX", "MPI-IO", "H5F", "H5D", "PNETCDF_FILE", "PNETCDF_VAR", "BG/Q", "LUSTRE"),
    *("STDIO", "DXT_POSIX", "DXT_MPIIO", "MDHIM", "APXC", "APMPI", "HEATMAP", "DFS", "DAOS"),
)
PACK: dict[str, Callable[[bytes], bytes]] = {
    "zlib": zlib.compress,
    "bzip2": bz2.compress,
    "none": bytes,
}


@attrs.frozen(kw_only=True)
class LogWriter:
    """Writes a log as bytes.  ``modules`` maps a module to its version and its records."""

    version: str = "3.41"
    order: str = "<"
    compression: str = "zlib"
    uid: int = 1000
    start: tuple[int, int] = (1_700_000_000, 250_000_000)
    end: tuple[int, int] = (1_700_000_010, 750_000_000)
    nprocs: int = 1
    job_id: int = 4711
    exe: str = "./a.out -v"
    metadata: str = "lib_ver=3.4.4\nh=a=b;c=d\n"
    mounts: Sequence[tuple[str, str]] = (("ext4", "/"), ("lustre", "/scratch"))
    names: Sequence[tuple[int, str]] = ((7, "/scratch/x"), (2**64 - 1, "/etc/y"))
    modules: Mapping[str, tuple[int, bytes]] = attrs.field(factory=dict)
    partial: Sequence[str] = ()

    def numbering(self) -> list[str]:
        missing = {"PNETCDF_VAR"} if self.version < "3.41" else set()
        missing |= {"H5D"} if self.version < "3.20" else set()
        return [name for name in MODULES if name not in missing]

    def job(self) -> bytes:
        if self.version >= "3.41":
            numbers = struct.pack(
                self.order + "7q", self.uid, *self.start, *self.end, self.nprocs, self.job_id
            )
        else:
            numbers = struct.pack(
                self.order + "5q", self.uid, self.start[0], self.end[0], self.nprocs, self.job_id
            )
        lines = "".join(f"\n{kind}\t{point}" for kind, point in self.mounts)
        text = self.metadata.encode().ljust(1024, b"\0") + (self.exe + lines).encode() + b"\0"
        return numbers + text

    def name_map(self) -> bytes:
        if self.version == "3.00":
            return b"".join(
                struct.pack(self.order + "QI", i, len(n.encode())) + n.encode()
                for i, n in self.names
            )
        return b"".join(
            struct.pack(self.order + "Q", i) + n.encode() + b"\0" for i, n in self.names
        )

    def build(self) -> bytes:
        slots = 64 if self.version >= "3.41" else 16
        head = struct.Struct(
            f"{self.order}8sqB{'7xQ' if slots == 64 else '3xI'}QQ{2 * slots}Q{slots}I"
        )
        pack = PACK[self.compression]
        body = pack(self.job())
        places = []
        for data in (self.name_map(), *(records for _, records in self.modules.values())):
            packed = pack(data) if data else b""
            places.append((head.size + len(body) if packed else 0, len(packed)))
            body += packed
        maps, versions = [0] * (2 * slots), [0] * slots
        for (name, (version, _)), place in zip(self.modules.items(), places[1:], strict=True):
            slot = self.numbering().index(name) if name in self.numbering() else int(name)
            maps[2 * slot : 2 * slot + 2] = place
            versions[slot] = version
        flags = sum(1 << self.numbering().index(name) for name in self.partial)
        code = list(PACK).index(self.compression)
        return (
            head.pack(self.version.encode(), 6567223, code, flags, *places[0], *maps, *versions)
            + body
        )


def dxt_record(
    order: str,
    record_id: int,
    writes: Sequence[tuple[Any, ...]] = (),
    reads: Sequence[tuple[Any, ...]] = (),
    *,
    rank: int = 0,
    host: str = "node1",
) -> bytes:
    """A DXT record; a segment with a fifth value, its extra text, is one of the variant."""
    data = struct.pack(
        order + "Qqq64sqq", record_id, rank, 0, host.encode(), len(writes), len(reads)
    )
    for offset, length, start, end, *text in (*writes, *reads):
        data += struct.pack(order + "qqdd", offset, length, start, end)
        data += b"".join(word.encode().ljust(64, b"\0") for word in text)
    return data


def counter_record(module: str, record_id: int, rank: int = 0, **counters: float) -> bytes:
    """A record of the newest version, with counters by their name without the module's prefix.

    All others are 0, as are the ids of files, pools and objects.
    """
    prefix = {"MPI-IO": "MPIIO"}.get(module, module)
    values = {f"{prefix}_{name}": value for name, value in counters.items()}
    assert values.keys() <= {*COUNTERS[module], *TIMERS[module]}
    before = b"\0" * 8 if module in ("H5D", "PNETCDF_VAR") else b""
    after = b"\0" * {"DFS": 32, "DAOS": 48}.get(module, 0)
    numbers = [int(values.get(name, 0)) for name in COUNTERS[module]]
    times = [float(values.get(name, 0)) for name in TIMERS[module]]
    packed = struct.pack(f"<{len(numbers)}q{len(times)}d", *numbers, *times)
    return struct.pack("<Qq", record_id, rank) + before + packed + after


STDIO = struct.pack("<Qq14q15d", 7, 0, *[1] * 14, *[0.0] * 15)
"""A record of STDIO on file 7: all counters are 1."""

VERSIONS = {"POSIX": 4, "MPI-IO": 3, "STDIO": 2, "DFS": 1, "DAOS": 1, "H5D": 2, "PNETCDF_VAR": 1}
"""The newest version of records, by module."""


def modules(*records: tuple[str, int, Mapping[str, float]]) -> dict[str, tuple[int, bytes]]:
    """What the writer takes for such records, each (module, file, counters, and ``rank``)."""
    held: dict[str, bytes] = {}
    for module, file, counters in records:
        given = dict(counters)
        packed = counter_record(module, file, int(given.pop("rank", 0)), **given)
        held[module] = held.get(module, b"") + packed
    return {module: (VERSIONS[module], data) for module, data in held.items()}


def log(name: str, job_id: int, start: int, end: int, **more: Any) -> tuple[str, dict[str, Any]]:
    """A log whose name ends like Darshan's: with the process id ``name`` has, and times."""
    times = {"start": (1_700_000_000 + start, 0), "end": (1_700_000_000 + end, 0)}
    return f"{name}_1-1-1-1_1.darshan", {"job_id": job_id, "modules": {}, **times, **more}


def dataset_of(place: Path, *logs: tuple[str, Mapping[str, Any]]) -> Any:
    """A dataset of logs, each given by its name below the run and what the writer takes."""
    for name, given in logs:
        path = place / "runs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        names = {"names": [(7, "/scratch/x"), (9, "/scratch/y")]}
        path.write_bytes(LogWriter(**names | given).build())
    harvest.run(f"darshan:{place / 'runs'}", f"parquet:{place / 'out'}", workers=1)
    return harvest.open(place / "out")


TYPES = {kind.name: kind for kind in map(record_type, ALL)}


def zeros(word: str) -> dict[str, int]:
    """All counters of a record type, as 0."""
    return {name: 0 for name in polars_schema(TYPES[f"darshan.{word}"]) if name.isupper()}


class Reader:
    """A dataset over rows of Darshan's record types, as mappings by the type's last word."""

    def __init__(self, tables: Mapping[str, pl.LazyFrame] | None = None, **rows: list[Any]):
        self.tables = dict(tables or {})
        for word, given in rows.items():
            schema = polars_schema(TYPES[f"darshan.{word}"])
            self.tables[f"darshan.{word}"] = pl.LazyFrame(given, schema=schema)
        self.notes: list[str] = []

    def __contains__(self, name: object) -> bool:
        return name in self.tables

    def __getitem__(self, name: str) -> pl.LazyFrame:
        if name in self.tables:
            return self.tables[name]
        return pl.LazyFrame(schema=polars_schema(TYPES[name]))

    def view(self, name: str, **_: Any) -> pl.LazyFrame:
        if name not in self.tables:
            raise UsageError(f"there is no view {name!r}")
        return self.tables[name]


def only(frame: pl.LazyFrame) -> dict[str, Any]:
    """The one row of a frame."""
    (row,) = frame.collect().to_dicts()
    return row
