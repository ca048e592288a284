"""A plugin for the tests whose location and settings hold secrets."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs

import harvest


@harvest.record("secretive.line", layer="job", level="job")
class Line(harvest.Record):
    """One line."""

    text: str


@attrs.frozen(kw_only=True)
class Config:
    """Settings, three of them secret: one by its name, two because they say so."""

    password: str = attrs.field(default="", metadata={"doc": "Told by its name."})
    pin: str = attrs.field(default="", metadata={"doc": "Told by itself.", "secret": True})
    door_code: str = attrs.field(default="", metadata={"doc": "As well.", "secret": True})
    colour: str = attrs.field(default="", metadata={"doc": "No secret."})


class SecretiveSource(harvest.Source):
    """Lines of a file named as ``PATH#token=SECRET``."""

    name = "secretive"
    record_types = (Line,)
    Config = Config

    @classmethod
    def redact(cls, location: str) -> str:
        return location.partition("#")[0] + "#token=***"

    def plan(self) -> Iterable[harvest.Partition]:
        path = self.location.partition("#")[0]
        yield harvest.file_partition(Path(path), id="lines")

    def read(self, partition: harvest.Partition, ctx: harvest.ReadContext) -> Iterable[Any]:
        for line in partition.path.read_text().splitlines():
            yield Line(text=line)


harvest_sources = harvest.declare(
    harvest.SourceSpec(name="secretive", doc="Lines.", factory=SecretiveSource)
)
