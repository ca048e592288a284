"""The source ``pbs``: each record of an accounting file is a row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from harvest import Detection, Partition, ReadContext
from harvest.toolkit.settings import setting, time_zone
from harvest_toolkit.csv_header import header_line
from harvest_toolkit.line_source import LineConfig, LineSource
from harvest_toolkit.pairs import fields, pairs
from harvest_toolkit.spans import strings
from harvest_toolkit.values import LocalTimes

from .records import KNOWN, PbsRecord

RECORD = re.compile(rb"\d\d/\d\d/\d{4} \d\d:\d\d:\d\d;\w+;[^;]+;")


@attrs.frozen(kw_only=True)
class PbsConfig(LineConfig):
    """The settings."""

    timezone: str | None = setting("zone of the server's clock; else UTC", None, time_zone)


class PbsSource(LineSource):
    """Accounting files of OpenPBS and PBS Professional: one, or those of a directory."""

    name, record_types, Config = "pbs", (PbsRecord,), PbsConfig

    @classmethod
    def detect(cls, path: Path) -> Detection | None:
        """By the first line."""
        known = path.is_file() and RECORD.match(header_line(path))
        return Detection(0.9, "a record as PBS writes them") if known else None

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[tuple[type, Any]]:
        """A row per record: ``time;type;id;key=value key=value``, or of A and L any text."""
        clock = LocalTimes("%m/%d/%Y %H:%M:%S", self.config.timezone, "pbs.timezone")
        for lines in self.lines(partition, ctx):
            (time, kind, job, text), whole = fields(lines.spans, b";", 4)
            types = strings(kind)
            free = np.asarray(pc.is_in(types, pa.array(["A", "L"])))
            table, faults = pairs(text.only(~free), KNOWN)
            faults.mark(~whole, "not time;type;id;text")
            columns = {name: table.column(name) for name in table.column_names}
            columns |= {"time": clock.read(time, faults), "type": types, "id": strings(job)}
            columns["message"] = strings(text, free)
            yield PbsRecord, lines.accept(pa.table(columns), faults, ctx, "pbs.record")
        clock.note(ctx, partition)
