"""A sound source of instances: an object of JSON a line, whose times may have no zone."""

from __future__ import annotations

import json
import os
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import attrs

import harvest
from harvest import Detection, Partition, Record, Source, field
from harvest.toolkit.files import input_path, list_files
from harvest.toolkit.settings import setting, time_zone


@harvest.record("planted.task", layer="workflow", level="worker")
class Task(Record):
    """A task."""

    time: datetime = field(role="time", doc="When it began.")
    id: int = field(role="job", doc="Its number.")
    name: str | None = field(role="subject", doc="Its name; null where it has none.")


@attrs.frozen(kw_only=True)
class Config:
    timezone: str = setting("Zone of times that have none.", "UTC", time_zone)
    names: tuple[str, ...] = setting("Tasks of these names only; empty for all.", ())


class TaskSource(Source):
    """Tasks, an object a line; ``names.txt`` beside them has names by id."""

    name = "planted-tasks"
    record_types = (Task,)
    Config = Config

    @classmethod
    def detect(cls, path):
        if path.is_file():
            with path.open("rb") as file:
                if file.read(4096).startswith(b'{"task"'):
                    return Detection(0.9, "an object with the key task")
        return None

    def plan(self):
        path = input_path(self.location)
        files = list_files(path) if path.is_dir() else [path]
        for file in files:
            names = file.with_suffix(".names")
            if file.suffix != ".names" or file == path:
                inputs = (str(file), *([str(names)] if os.path.lexists(names) else []))
                yield Partition(id=file.name, origin=str(file), inputs=inputs)

    def read(self, partition, ctx):
        zone = ZoneInfo(self.config.timezone)
        names = {}
        if len(partition.inputs) > 1:
            told = Path(partition.inputs[1]).read_text("utf-8", "backslashreplace")
            names = dict(line.split("=", 1) for line in told.splitlines() if "=" in line)
        with partition.path.open("rb") as lines:
            for number, raw in enumerate(lines, 1):
                ctx.read(1)
                if not raw.strip():
                    ctx.folded(1, "blank line")
                    continue
                try:
                    row = self.row(raw, number, zone, names)
                except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
                    ctx.reject(raw, f"no task: {error!r}", position=number)
                    continue
                if self.config.names and row.name not in self.config.names:
                    ctx.filtered(1, "another name")
                    continue
                yield row

    def row(self, raw, number, zone, names):
        found = json.loads(raw.decode("utf-8-sig" if number == 1 else "utf-8"))
        json.dumps(found, ensure_ascii=False).encode()  # half a surrogate pair is no text
        identity = found.pop("task")
        if type(identity) is not int or not -(2**63) <= identity < 2**63:
            raise ValueError(f"task {identity!r} is not a number of 64 bits")
        time = datetime.fromisoformat(found.pop("time"))
        name = found.pop("name", names.get(str(identity)))
        if not (name is None or isinstance(name, str)):
            raise ValueError(f"name {name!r} is not text")
        return Task(
            time=time if time.tzinfo else time.replace(tzinfo=zone),
            id=identity,
            name=name,
            extra={key: json.dumps(value) for key, value in found.items()} or None,
            position=number,
        )
