"""Promises about the process: nothing global is changed or relied on, and a kill does no harm."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harvest.api.context import ReadContext
from harvest.api.source import Partition, Source
from harvest.model import record_type
from harvest.pipeline.rows import typed_tables
from harvest.testing.lab.globals import changes, elsewhere, snapshot
from harvest.testing.lab.process import in_process, peak_memory
from harvest.testing.promise import BrokenPromise, promise, require

from .kit import SourceKit
from .reading import all_lines, difference, planned, read_all
from .runs import contents, harvest_into, kill_runs

__all__ = ["ProcessPromises"]

MEGABYTE = 1 << 20
TIMES = (2, 12)
"""How much larger the inputs are between which the growth of memory is measured."""


class ProcessPromises(SourceKit):
    """The tests in which it matters which process reads, where, and for how long it lives."""

    @promise("environment, locale, random numbers and the like stay as they are", quick=True)
    def test_no_global_state(self, tmp_path: Path) -> None:
        location = self.make(tmp_path)
        before = snapshot()
        first = all_lines(self.read(location))
        _require_unchanged(before)
        before = snapshot(later=True)
        second = all_lines(self.read(location))
        _require_unchanged(before)
        require(
            first == second,
            f"a second reading in one process gives something else:\n{difference(first, second)}",
            "keep nothing in module or class variables",
        )

    @promise("time zone and working directory of the machine do not matter", quick=True)
    def test_time_zone_and_directory_do_not_matter(self, tmp_path: Path) -> None:
        location = self.make(tmp_path)
        place = tmp_path / "elsewhere"
        place.mkdir()
        expected = all_lines(self.read(location))
        for zone in ("America/St_Johns", "Pacific/Auckland"):
            with elsewhere(place, zone):
                found = all_lines(self.read(location))
            require(
                found == expected,
                f"with TZ={zone}:\n{difference(expected, found)}",
                "take the zone of naive times from a setting, and make paths absolute in plan()",
            )

    @promise("source, settings and partitions travel to other processes", quick=True)
    def test_it_can_be_pickled(self, tmp_path: Path) -> None:
        location = self.make(tmp_path)
        source = self.open(location)
        partitions = self.partitions(source)
        copies = _round_trip((source, partitions))
        require(
            copies[1] == partitions and copies[0].config == source.config,
            "partitions or settings are not equal to their copies",
            "keep plain values in them, and let settings be an attrs class",
        )
        expected = all_lines(read_all(source, partitions))
        found = all_lines(read_all(*copies))
        require(found == expected, difference(expected, found), "keep all that read() needs")

    @promise("another process, zone, locale and hash seed give the same rows")
    def test_another_process_gives_the_same(self, tmp_path: Path) -> None:
        location = self.make(tmp_path)
        source = self.open(location)
        partitions = self.partitions(source)
        expected = all_lines(read_all(source, partitions))
        ended = in_process(
            _read_there, source, partitions, scratch=tmp_path, cwd=Path("/"),
            environment={"TZ": "Pacific/Auckland", "LC_ALL": "C", "PYTHONHASHSEED": "4711"},
        )  # fmt: skip
        require(
            ended.status == 0,
            f"a worker process cannot read it (status {ended.status}):\n{_last(ended.errors)}",
            "let the class be importable by its module's name",
        )
        found, schemas = ended.result
        require(
            found == expected,
            difference(expected, found),
            "rely on nothing that differs between machines: zone, locale, order of sets",
        )
        require(
            schemas == _schemas(source),
            "the record types' schemas differ between processes",
            "declare columns in a fixed order",
        )

    @promise("after a kill, the next run leaves what an undisturbed one does")
    def test_killed_runs_resume(self, tmp_path: Path) -> None:
        location, whole = str(self.make(tmp_path)), tmp_path / "undisturbed"
        self.partitions(self.open(location))
        harvest_into(whole, self.source, location, self.settings)
        expected = contents(whole, self.source)
        outs = {step: tmp_path / f"killed at {step}" for step in ("write", "publish")}
        task = (outs, self.source, location, dict(self.settings))
        ended = in_process(kill_runs, *task, scratch=tmp_path)
        require(ended.status == 0, _last(ended.errors), "see what the process says")
        for step, out in outs.items():
            said = _last(ended.result.get(step, ""))
            require(
                step not in ended.result,
                f"a second run was to die at the first {step}:\n{said}",
                "keep no state beside the input or between runs",
            )
            harvest_into(out, self.source, location, self.settings)
            found = contents(out, self.source)
            require(
                found == expected,
                f"killed at the first {step}:\n{difference(expected, found)}",
                "keep all state in ctx.scratch, and none beside the input or between runs",
            )

    @promise("memory does not grow with the input")
    def test_memory_is_bounded(self, tmp_path: Path) -> None:
        sources = []
        for times in TIMES:
            place = tmp_path / f"times {times}"
            place.mkdir()
            sources.append(self.open(self.enlarge(place, times)))
        ended = in_process(_measure, sources, scratch=tmp_path)
        require(ended.status == 0, _last(ended.errors), "see what the process says")
        small, large = ended.result
        grown = (large - small) / MEGABYTE
        require(
            grown <= self.max_memory_mb,
            f"{TIMES[1] // TIMES[0]} times the input takes {grown:.0f} MB more "
            f"({small / MEGABYTE:.0f} MB and {large / MEGABYTE:.0f} MB)",
            f"yield rows as they are read; {self.max_memory_mb} MB are granted (max_memory_mb)",
        )


def _require_unchanged(before: Mapping[str, Any]) -> None:
    changed = changes(dict(before))
    require(not changed, f"reading changes {', '.join(changed)}", "leave it, or put it back")


def _round_trip(value: Any) -> Any:
    try:
        return pickle.loads(pickle.dumps(value))  # noqa: S301 - made here
    # pickling asks the plugin's objects, which may raise anything
    except Exception as error:
        raise BrokenPromise(
            f"pickle says {type(error).__name__}: {error}",
            "keep no open file, connection, lambda or local class in source, settings, partitions",
        ) from error


def _last(errors: str) -> str:
    return "\n".join(errors.strip().splitlines()[-5:])


def _read_there(source: Source, partitions: list[Partition]) -> tuple[list[str], list[str]]:
    return all_lines(read_all(source, partitions)), _schemas(source)


def _schemas(source: Source) -> list[str]:
    return [record_type(cls).arrow_schema.to_string() for cls in source.record_types]


def _measure(sources: list[Source]) -> list[int]:
    """Peak memory after reading each location, one after the other, row by row thrown away."""
    peaks = []
    for source in sources:
        for partition in planned(source):
            with tempfile.TemporaryDirectory() as scratch:
                ctx = ReadContext(partition.origin, Path(scratch), on_reject=lambda reject: None)
                rows = 0
                for _, table in typed_tables(source, partition, ctx):
                    rows += table.num_rows
        peaks.append(peak_memory())
    return peaks
