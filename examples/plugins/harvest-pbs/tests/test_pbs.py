"""The source pbs: what the server writes, what is damaged, and what all sources promise."""

from __future__ import annotations

import importlib.util
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import ClassVar

import pytest
from harvest_pbs.records import KNOWN
from harvest_pbs.source import PbsConfig, PbsSource

from harvest_testing import Collected, SourceConformance, collect

HERE = Path(__file__).parent
SAMPLE = HERE / "data" / "20260302"


def load(name: str) -> ModuleType:
    """A module beside this one."""
    spec = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


generate = load("generate_pbs").generate


def read(path: Path, **settings: object) -> Collected:
    return collect(PbsSource(str(path), PbsConfig(**{"timezone": "Europe/Zurich", **settings})))


class TestPbs(SourceConformance):
    """The conformance kit."""

    source = PbsSource
    units = 16
    examples: ClassVar = {"timezone": "America/New_York"}
    counted: ClassVar = {"empty line": 1}
    partition_setting = ("partition_bytes", (300, 1000, 1 << 30))

    def sample(self, directory: Path) -> Path:
        path = directory / "20260302"
        path.write_bytes(SAMPLE.read_bytes())
        return path


def test_a_job_that_ended_is_a_row(tmp_path: Path) -> None:
    found = read(SAMPLE)
    row = next(row for row in found.rows("pbs.record") if row["type"] == "E")

    assert row["time"] == datetime(2026, 3, 2, 9, 30, tzinfo=UTC)  # 10:30 in Zurich
    assert (row["id"], row["user"], row["group"]) == ("1001.pbs01", "ada", "phys")
    assert (row["account"], row["project"]) == ("bio chem", "_pbs_project_default")
    assert (row["name"], row["queue"]) == ("höhe_3", "workq")
    assert row["create_time"] == datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
    assert row["start_time"] == datetime(2026, 3, 2, 9, 0, 2, tzinfo=UTC)
    assert row["end_time"] == datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
    assert (row["exec_host"], row["select"]) == ("n1/0*4+n2/0*4", "2:ncpus=4")
    assert (row["asked_walltime_s"], row["walltime_s"]) == (720_000.0, 1798.0)
    assert (row["cpu_time_s"], row["mem_bytes"], row["cpus"]) == (12_000.0, 1_263_616, 8)
    assert row["exit_status"] == 0
    assert dict(row["extra"])["Resource_List.site"] == '{"energy": "low", "cap": 3}'
    assert dict(row["extra"])["resources_used.cpupercent"] == "667"
    assert row["position"] == 5


def test_records_of_any_type_are_rows_and_some_are_text(tmp_path: Path) -> None:
    rows = {row["type"]: row for row in read(SAMPLE).rows("pbs.record")}

    assert "".join(rows) == "QLSEDAaR"
    assert rows["L"]["message"] == "floating license hour:3 day:5 month:9 max:12"
    assert rows["A"]["message"] == "Job deleted as result of dependency on 12.pbs01"
    assert rows["D"]["extra"] == [("requestor", "ada@login1.site.org")]
    assert rows["Q"]["message"] is None
    assert rows["L"]["extra"] is None


def test_what_is_damaged_is_rejected_with_its_line(tmp_path: Path) -> None:
    found = read(SAMPLE)

    assert [(r.position, r.reason) for r in found.rejects] == [
        (10, "'lost' is not key=value"),
        (11, "not time;type;id;text"),
        (12, "no time, or another form of it"),
        (13, "a quote is never closed"),
        (14, "resources_used.walltime=soon is not a duration such as 36:00:00"),
        (15, "user is there twice"),
        (16, "no newline at its end: the record was cut off or is still being written"),
    ]
    assert found.rejects[0].raw == b"03/02/2026 10:40:00;Q;1003.pbs01;user=ada lost queue=workq"
    assert found.units == found.accounted == 16


def test_without_a_declared_zone_times_are_utc_and_that_is_noted() -> None:
    found = read(SAMPLE, timezone=None)
    assert found.rows("pbs.record")[0]["time"] == datetime(2026, 3, 2, 10, 0, tzinfo=UTC)
    assert found.notes == ["times carry no zone and were read as UTC; set pbs.timezone to the zone "
                           "of the clock that they are from"]  # fmt: skip


def naive(line: str) -> dict[str, str]:
    """The pairs of a record by Python's means, where quotes are few."""
    text = line.split(";", 3)[3].rstrip("\n")
    found, rest = {}, text.strip(" ")
    while rest:
        key, _, rest = rest.partition("=")
        if rest[:1] in {"'", '"'}:
            value, _, rest = rest[1:].partition(f"{rest[0]} ")
            value = value if rest else value.removesuffix("'").removesuffix('"')
        else:
            value, _, rest = rest.partition(" ")
        found[key] = value
        rest = rest.lstrip(" ")
    return found


def test_a_generated_file_gives_what_its_lines_say(tmp_path: Path) -> None:
    path = tmp_path / "20260302"
    generate(path, 3000, seed=7)
    lines = path.read_text().splitlines(keepends=True)

    found = read(path, partition_bytes=200_000)

    assert not found.rejects
    assert len(found.partitions) > 4
    rows = found.rows("pbs.record")
    assert [row["position"] for row in rows] == list(range(1, 3001))
    for line, row in zip(lines, rows, strict=True):
        _, kind, job, text = line.rstrip("\n").split(";", 3)
        assert (row["type"], row["id"]) == (kind, job)
        if kind in "AL":
            assert row["message"] == text
            continue
        said = naive(line)
        assert row["user"] == said.get("user")
        assert row["account"] == said.get("account")
        assert row["project"] == said.get("project")
        assert row["select"] == said.get("Resource_List.select")
        assert row["exit_status"] == (int(said["Exit_status"]) if "Exit_status" in said else None)
        other = dict(row["extra"] or ())
        assert other == {key: said[key] for key in other}
        assert len(other) + sum(key in KNOWN for key in said) == len(said)


@pytest.mark.parametrize(
    ("head", "sure"),
    [
        (b"03/02/2026 00:00:04;Q;1002.pbs01;user=ada\n", True),
        (b"03/02/2026 00:00:04;L;license;floating license hour:3\n", True),
        (b"2026-03-02 00:00:04;Q;1002.pbs01;user=ada\n", False),
        (b"JobID|User|State\n", False),
        (b"", False),
    ],
)
def test_a_file_is_recognised_by_its_first_line(tmp_path: Path, head: bytes, sure: bool) -> None:
    path = tmp_path / "20260302"
    path.write_bytes(head)
    assert (PbsSource.detect(path) is not None) == sure
    assert PbsSource.detect(tmp_path) is None
