"""The source ``slurm``: sacct's output in any layout, or a live cluster."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar

from harvest import Detection, Partition, ReadContext, Record, Source, file_partitions
from harvest_toolkit.live import unpacked
from harvest_toolkit.streams import open_stream

from .config import SlurmConfig
from .records import Job, Step
from .window import slices


class SlurmSource(Source):
    """Reads Slurm's accounting as ``slurm.job`` and ``slurm.step``.

    The location is a file or directory of dumps, or ``live`` to ask the cluster itself.
    """

    name = "slurm"
    record_types: ClassVar[tuple[type[Record], ...]] = (Job, Step)
    Config = SlurmConfig
    reads_live = True

    config: SlurmConfig

    @classmethod
    def detect(cls, path: Path) -> Detection | None:
        """Recognise the header of sacct, rows like those of sacct, or its JSON."""
        # these load numpy, which a list of sources does not need
        from .read.form import HEAD_BYTES
        from .read.layout import likeness

        if not path.is_file():
            return None
        with open_stream(path) as stream:
            found = likeness(stream.read(HEAD_BYTES))
        return Detection(*found) if found else None

    def plan(self) -> Iterable[Partition]:
        """Return a partition per file; for ``live``, one per slice of the time window."""
        if self.location == "live":
            return slices(self.config)
        return super().plan()

    def plan_files(self, files: Iterable[Path]) -> Iterable[Partition] | None:
        """Return a partition per file; None for ``live``."""
        return None if self.location == "live" else file_partitions(self.location, files)

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[Any]:
        """Return batches of jobs and steps of a dump or of a slice."""
        if self.location == "live":
            from .live import read_slice  # loads pyarrow and polars, which planning does not need

            yield from read_slice(partition, self.config, ctx)
            return
        from .dump import read_dump  # as above

        with unpacked(partition.path, partition.origin) as stream:
            yield from read_dump(stream, partition, self.config, ctx)
