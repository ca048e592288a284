"""The source node-exporter: the exposition format, and what all sources promise."""

import math
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

import pytest
from harvest_node_exporter.exposition import Comment, Described, ExpositionError, Sample, parse
from harvest_node_exporter.source import NodeExporterSource
from hypothesis import given
from hypothesis import strategies as st

from harvest_testing import SourceConformance, collect

DATA = Path(__file__).parent / "data"


class TestNodeExporter(SourceConformance):
    """The conformance kit."""

    source = NodeExporterSource
    units = 18
    header_lines = 0
    counted: ClassVar = {"HELP or TYPE line": 6, "comment or empty line": 2}

    def sample(self, directory: Path) -> Path:
        return Path(shutil.copy2(DATA / "node.prom", directory))


def test_the_sample_is_read_as_prometheus_reads_it() -> None:
    found = collect(NodeExporterSource(str(DATA / "node.prom")))
    rows = {(r["name"], r["position"]): r for r in found.rows("node_exporter.sample")}

    assert rows["node_load1", 3]["type"] == "gauge"
    assert rows["node_load1", 3]["time"] is None
    user = rows["node_cpu_seconds_total", 7]
    assert (user["labels"], user["value"]) == ([("cpu", "0"), ("mode", "user")], 2300.0)
    assert user["time"] == datetime(2024, 4, 19, 19, 1, 41, 500_000, tzinfo=UTC)
    bucket = rows["job_step_seconds_bucket", 12]
    assert (bucket["type"], bucket["labels"]) == ("histogram", [("le", "+Inf")])
    assert bucket["help"] == "Time of a step: \\ and \n are escaped."
    disk = rows["node_filesystem_avail_bytes", 16]
    assert dict(disk["labels"]) == {"device": 'C:\\disk "two"\n', "mountpoint": "/Zürich"}
    assert disk["value"] == math.inf
    assert disk["type"] is None
    assert math.isnan(rows["node_temp_celsius", 17]["value"])
    assert [(r.position, r.raw) for r in found.rejects] == [(18, b'broken{label="no end} 1\n')]
    assert found.folded == {"HELP or TYPE line": 6}
    assert found.filtered == {"comment or empty line": 2}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a 1", Sample("a", {}, 1.0, None)),
        ("a{} 1", Sample("a", {}, 1.0, None)),
        ("a{}1 -5", Sample("a", {}, 1.0, -5)),
        (" \ta:b_0\t.5e3 \t", Sample("a:b_0", {}, 500.0, None)),
        ('a{b="{,}\\"=\\\\"}-inf', Sample("a", {"b": '{,}"=\\'}, -math.inf, None)),
        ('a {b="1" , c="2",} 1', Sample("a", {"b": "1", "c": "2"}, 1.0, None)),
        ("# HELP a", Described("HELP", "a", "")),
        ("#\tHELP a  two  words ", Described("HELP", "a", "two  words ")),
        ("# TYPE a gauge", Described("TYPE", "a", "gauge")),
        ("# HELPER a", Comment()),
        ("#", Comment()),
        ("\t ", Comment()),
    ],
)
def test_lines_of_the_format(line: str, expected: object) -> None:
    assert parse(line) == expected


@pytest.mark.parametrize(
    "line",
    [
        *("a", "a{}", "1a 1", "a-b 1", "é 1", "a{b=1} 1", 'a{b="1"', 'a{b="1" c="2"} 1', "a{,} 1"),
        *('a{b="\\t"} 1', 'a{b="1",b="2"} 1', 'a{__name__="x"} 1', 'a{b:c="1"} 1', "a 1 2 3"),
        *("a 0x1p3", "a 1_000", "a 1e999", "a +nan", "a 1.5.2", "a one", "a ١", "a 1 1.5", "a 1\r"),
        *("# TYPE a number", "# TYPE a", "# HELP", "# TYPE 1a gauge", "# HELP a \\t", "a\u00a01"),
    ],
)
def test_lines_that_prometheus_refuses(line: str) -> None:
    with pytest.raises(ExpositionError):
        parse(line)


LABELS = st.dictionaries(st.from_regex(r"[a-z_][a-z0-9_]{0,5}", fullmatch=True), st.text())
ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


@given(LABELS, st.floats(), st.none() | st.integers(-(2**62), 2**62))
def test_what_is_written_is_read(labels: dict[str, str], value: float, time: int | None) -> None:
    told = ",".join(f'{k}="{v.translate(ESCAPES)}"' for k, v in labels.items())
    found = parse(f"name{{{told}}} {value!r}" + (f" {time}" if time is not None else ""))

    assert isinstance(found, Sample)
    assert (found.name, found.labels, found.time_ms) == ("name", labels, time)
    assert found.value == value or (math.isnan(found.value) and math.isnan(value))


def test_what_contradicts_an_earlier_line_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "a.prom"
    path.write_text(
        "# TYPE a gauge\n# TYPE a counter\n# HELP a one\n# HELP a two\na 1\nb 1\n# TYPE b gauge\n"
        "# TYPE c gauge\na 1 99999999999999999\nlast 1"
    )
    found = collect(NodeExporterSource(str(path)))

    assert [r.position for r in found.rejects] == [2, 4, 7, 9, 10]
    assert found.notes == ["described, but without samples: c"]
    assert found.units == found.accounted == 10
