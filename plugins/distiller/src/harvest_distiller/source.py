"""The source ``distiller``: jobs that Distiller started for scans, from CSV or PostgreSQL."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, ClassVar

import attrs

from harvest import Detection, Partition, ReadContext, Record, Source, SourceError, file_partition
from harvest.toolkit.files import may_be, walk_files
from harvest.toolkit.settings import at_least, matches, setting
from harvest_toolkit.csv_header import is_csv

from .exports import MERGED, recognise, size_of_name, slurm_column
from .records import DistillerJob
from .uri import is_database, is_uri, redact

OTHER = "not an export of Distiller with the columns id, slurm_id, elapsed"


def _with_x(value: Any) -> Any:
    return re.sub(r"\s*[_x×]\s*", "x", value.strip()) if isinstance(value, str) else value


@attrs.frozen(kw_only=True)
class DistillerConfig:
    """Settings of the source."""

    scan_size: str | None = setting(
        "size of all scans of a CSV export, as 128x128; default: by file name",
        check=matches(r"\s*\d{1,6}\s*[_x×]\s*\d{1,6}\s*", "write it like 128x128"),
        converter=_with_x,
    )
    connect_timeout: int = setting(
        "seconds to wait for the database, where its URI says nothing", 10, at_least(1)
    )


class DistillerSource(Source):
    """CSV exports (a file, or those below a directory), or ``postgresql://USER@HOST/DATABASE``."""

    name: ClassVar[str] = "distiller"
    record_types: ClassVar[tuple[type[Record], ...]] = (DistillerJob,)
    Config: ClassVar[type] = DistillerConfig
    config: DistillerConfig

    @classmethod
    def redact(cls, location: str) -> str:
        """Return the location without its password, so that it can be printed and stored."""
        return redact(location)

    @classmethod
    def detect(cls, path: Path) -> Detection | None:
        """Recognise an export by its header ``id,slurm_id,elapsed`` or by its lines."""
        # input from a pipe has no suffix
        if not path.is_file() or (path.suffix and not is_csv(path.name)):
            return None
        export = recognise(path)
        if export is None:
            return None
        if export.order:
            return Detection(0.6, f"Distiller's jobs: {export.order.reason}")
        if slurm_column(export.columns) == MERGED:
            return Detection(0.6, "the header of Distiller's jobs, merged with sacct's")
        sized = ", and a scan size as name" if size_of_name(path) else ""
        return Detection(0.95 if sized else 0.9, f"the header of Distiller's jobs{sized}")

    def plan(self) -> Iterable[Partition]:
        """Plan one partition per export, or one for the database, which every run reads again."""
        if is_database(self.location):
            return [Partition(id="jobs", origin=redact(self.location))]
        if is_uri(self.location):
            raise SourceError(
                "is not the URI of a PostgreSQL",
                where=redact(self.location),
                remedy="write postgresql://USER@HOST/DATABASE, or give a CSV export",
            )
        path = Path(self.location).expanduser().absolute()
        if not path.exists():
            raise SourceError(
                "no such file or directory",
                where=redact(str(path)),
                remedy="check the location, or give postgresql://USER@HOST/DATABASE",
            )
        if not path.is_dir():
            return [file_partition(path, id=path.name)]
        files = [file for _, found in walk_files(path) for file in found]
        exports = [p for p in files if is_csv(p.name) and may_be(p, recognise)]
        if not exports:
            raise SourceError(
                "no CSV file in it or below has the columns id, slurm_id, elapsed",
                where=str(path),
                remedy="check the location",
            )
        found = [file_partition(p, id=p.relative_to(path).as_posix()) for p in exports]
        if other := len(files) - len(exports):
            place, options = str(path), {"other": other}
            rest = Partition(
                id="other", origin=place, inputs=(place,), options=options, fingerprint=str(other)
            )
            return [*found, rest]
        return found

    def read(self, partition: Partition, ctx: ReadContext) -> Iterable[Any]:
        """Yield the rows of an export, or of the whole database."""
        from . import database, tables  # both import polars, which planning does not need

        if "other" in partition.options:
            ctx.read(partition.options["other"])
            ctx.filtered(partition.options["other"], OTHER)
            return ()
        if is_database(self.location):
            return database.read_database(self.location, self.config.connect_timeout, ctx)
        return tables.read_export(partition.path, self.config.scan_size, ctx)
