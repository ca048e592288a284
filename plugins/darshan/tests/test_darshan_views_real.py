"""The views over real logs: a trace and the counters of the same operations tell the same."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest
from darshan_logs import SAMPLES

import harvest

PLACES = (
    "mofka-dask/D2024-04-19_19:01:00_R1_W8",
    "darshan/mpi_io_test_with_dxt",
    pytest.param("mofka-dask/D2024-04-19_19:01:02_R6_W8", marks=pytest.mark.slow),
    pytest.param("darshan/imbalanced_io", marks=pytest.mark.slow),
    "darshan/nonmpi_dxt_anonymized",
)


@pytest.fixture(scope="module", params=PLACES)
def dataset(request, tmp_path_factory):
    place = SAMPLES / request.param
    if not place.is_dir():
        pytest.skip(f"no real samples here: {place} is absent")
    out = tmp_path_factory.mktemp("darshan") / "out"
    harvest.run(f"darshan:{place}", f"parquet:{out}", workers=1)
    return harvest.open(out)


def counted_once(dataset):
    """Segments that count: those of POSIX where a log traces a file in both modules."""
    rows = dataset["darshan.dxt_segment"].collect().to_dicts()
    posix = {(r["origin"], r["record_id"]) for r in rows if r["module"] == "DXT_POSIX"}
    return [
        row
        for row in rows
        if row["module"] == "DXT_POSIX" or (row["origin"], row["record_id"]) not in posix
    ]


def counted_of_posix_and_mpiio(dataset):
    """Origin, file, bytes read and written: of POSIX, else of MPI-IO; of that with more bytes where
    Darshan cut POSIX off."""
    cut = {
        row["origin"]
        for row in dataset["darshan.job"].collect().to_dicts()
        if "POSIX" in row["partial_modules"]
    }
    by_layer: dict = {"posix": defaultdict(Counter), "mpiio": defaultdict(Counter)}
    for layer, files in by_layer.items():
        for row in dataset[f"darshan.{layer}"].collect().to_dicts():
            file = files[row["origin"], row["record_id"]]
            file["read"] += row[f"{layer.upper()}_BYTES_READ"]
            file["write"] += row[f"{layer.upper()}_BYTES_WRITTEN"]
    posix, mpiio = by_layer["posix"], by_layer["mpiio"]
    for (origin, record_id), moved in {**mpiio, **posix}.items():
        upper = mpiio.get((origin, record_id), Counter())
        more = origin in cut and upper.total() > moved.total()
        yield origin, record_id, upper if more else moved


def test_files_hold_every_operation_once(dataset):
    traced = counted_once(dataset)
    names = {(row["origin"], row["record_id"]) for row in traced}
    expected: Counter = Counter()
    for row in traced:
        expected[row["record_id"], row["op"]] += row["length"]
    for origin, record_id, moved in counted_of_posix_and_mpiio(dataset):
        if (origin, record_id) not in names:
            for op in ("read", "write"):
                expected[record_id, op] += moved[op]
    for row in dataset["darshan.stdio"].collect().to_dicts():
        expected[row["record_id"], "read"] += row["STDIO_BYTES_READ"]
        expected[row["record_id"], "write"] += row["STDIO_BYTES_WRITTEN"]
    for row in dataset.view("io.files").collect().to_dicts():
        assert row["read_bytes"] == expected[row["record_id"], "read"]
        assert row["write_bytes"] == expected[row["record_id"], "write"]


def test_processes_hold_every_byte_once(dataset):
    # given the sums of the records themselves
    expected: Counter = Counter()
    for row in counted_once(dataset):
        expected[row["origin"], "traced", row["op"]] += row["length"]
    for origin, _, moved in counted_of_posix_and_mpiio(dataset):
        for op in ("read", "write"):
            expected[origin, "counted", op] += moved[op]
    for row in dataset["darshan.stdio"].collect().to_dicts():
        expected[row["origin"], "counted", "read"] += row["STDIO_BYTES_READ"]
        expected[row["origin"], "counted", "write"] += row["STDIO_BYTES_WRITTEN"]

    found = dataset.view("io.processes").collect().to_dicts()

    assert len(found) == dataset["darshan.job"].collect().height
    for row in found:
        for op in ("read", "write"):
            counted = expected.pop((row["log"], "counted", op), 0)
            traced = expected.pop((row["log"], "traced", op), 0)
            assert row[f"counted_{op}_bytes"] == counted
            assert row[f"traced_{op}_bytes"] == traced
            assert row[f"untraced_{op}_bytes"] == counted - traced
    assert not expected


def test_sizes_of_the_trace_are_those_of_the_counters(dataset):
    # given files that Darshan counted and traced alike
    counted: dict[int, Counter] = defaultdict(Counter)
    for row in dataset["darshan.posix"].collect().to_dicts():
        for name, value in row.items():
            for op in ("READ", "WRITE"):
                if name.startswith(f"POSIX_SIZE_{op}_"):
                    size = name.removeprefix(f"POSIX_SIZE_{op}_")
                    counted[row["record_id"]][size, op.lower()] += value
    for row in dataset.view("io.files").collect().to_dicts():
        if row["basis"] == ["DXT_POSIX"] and row["untraced_operations"] == 0:
            for size in row["sizes"]:
                for op in ("read", "write"):
                    expected = counted[row["record_id"]][size["size"], op]
                    assert size[f"{op}s"] == expected, row["file"]
