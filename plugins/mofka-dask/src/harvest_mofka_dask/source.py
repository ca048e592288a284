"""The source ``mofka-dask``: finds the files of Dask runs and reads each by its kind."""

import importlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import attrs

from harvest import Detection, Partition, ReadContext, Record, SourceError
from harvest.toolkit.files import input_path, list_files
from harvest.toolkit.settings import setting, time_zone
from harvest_dask.records.captures.source import DEPTH, DaskSource, Files
from harvest_dask.records.types import RECORD_TYPES

from .read import layout

READERS = {
    **dict.fromkeys(("scheduler_transition", "worker_transition"), "events:events"),
    **dict.fromkeys(("worker", "client"), "events:events"),
    "worker_transfer": "transfers:transfers",
    "graph": "graphs:graph_tasks",
    "scheduler_log": "logs:dask_log",
    "worker_log": "logs:dask_log",
    "consumer_log": "logs:consumer_log",
    "nodes": "jobfiles:nodes",
    "job_script": "jobfiles:directives",
    "job_output": "software:packages",
    **dict.fromkeys(("json_config", "yaml_config"), "configs:settings"),
    "darshan_config": "configs:darshan_settings",
}
"""Reader of each kind of file, as ``module:function`` of ``read``, imported when needed."""


@attrs.frozen(kw_only=True)
class Config:
    """Settings of the source ``mofka-dask``."""

    timezone: str = setting(
        "IANA zone of the clock that Dask's logs (scheduler.e, worker.e) were written by; the "
        "CSVs hold epoch times and need none.",
        "UTC",
        time_zone,
    )


class MofkaDaskSource(DaskSource):
    """Reads the run directories that the Mofka-Dask coupler leaves, found as captures are.

    The location is one run directory, a directory that contains runs (up to four levels deep), or
    one file.  Each file is one partition.
    """

    name: ClassVar[str] = "mofka-dask"
    record_types: ClassVar[tuple[type[Record], ...]] = RECORD_TYPES
    Config: ClassVar[type] = Config

    @classmethod
    def detect(cls, path: Path) -> Detection | None:
        """Recognize a CSV by its header, a log by its first lines, other files by their names."""
        file = layout.kind_by_itself(path) if path.is_file() else None
        if file is None or file.kind == layout.UNREADABLE:
            return None
        if file.by_header:
            return Detection(0.95, f"has the header of {file.kind}.csv")
        if file.order:
            return Detection(0.8, f"{file.kind}.csv: {file.order.reason}")
        if file.kind in ("scheduler_log", "worker_log"):
            with path.open("rb") as stream:
                known = b" - distributed." in stream.read(layout.HEAD_BYTES)
            return Detection(0.8, "is a log of Dask") if known else None
        if file.kind in layout.EVIDENCE:
            return Detection(0.5, f"is named like a {file.kind} of a Dask run")
        # scripts and settings may be anywhere; this source reads them if the user names them
        return Detection(0.2, f"is named like a {file.kind} next to a Dask run")

    def plan_files(self, files: Iterable[Path]) -> Iterable[Partition] | None:
        """Return the partitions as for captures; a new file may make scripts part of a run."""
        return super().plan_files(Path(os.path.abspath(file)) for file in files)  # noqa: PTH100

    def path(self) -> Path:
        """Return the location as a path without ``..``; raise SourceError if it is missing."""
        return input_path(os.path.abspath(Path(self.location).expanduser()))  # noqa: PTH100

    def runs(self, listed: Iterable[tuple[Path, list[Path]]]) -> Iterator[tuple[Path, Files]]:
        """Select the directories with a file that only a Dask run leaves."""
        return ((folder, _with_kinds(files)) for folder, files in layout.runs(listed))

    def named(self, location: Path) -> Files:
        """Return the files to read where a user named a file, or a directory without a run.

        Scripts and settings alone are not a run, but here the user named their directory.
        """
        if location.is_dir():
            files = layout.known_files(list_files(location))
            problem = "holds no file of a Mofka-Dask run"
            remedy = f"looked {DEPTH} levels deep for {layout.LOOKED_FOR}; check the location"
        else:
            file = layout.kind_by_itself(location)
            files, problem = [file] if file else [], "is not a file of a Mofka-Dask run"
            remedy = f"give a run directory, or one of: {layout.LOOKED_FOR}"
        if not files:
            raise SourceError(problem, where=str(location), remedy=remedy)
        return _with_kinds(files)

    def read(self, partition: Partition, ctx: ReadContext) -> Iterable[Any]:
        """Yield the rows of one file.

        Raises OSError if the file cannot be opened or read.
        """
        kind = partition.options["kind"]
        if kind == layout.UNREADABLE:
            partition.path.open("rb").close()
            raise SourceError(
                "could not be opened when the run was planned, so it is unrecognized",
                where=partition.origin,
                remedy="run again",
            )
        module, _, function = READERS[kind].partition(":")
        reader = getattr(importlib.import_module(f".read.{module}", __package__), function)
        yield from reader(partition, ctx, self.config)


def _with_kinds(files: Iterable[layout.RunFile]) -> Files:
    return {file.path: {"kind": file.kind} for file in files}
