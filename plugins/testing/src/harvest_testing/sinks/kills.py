"""Whole runs into a sink under test, which are killed before any of its steps."""

from __future__ import annotations

import importlib
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import attrs

import harvest
from harvest import PartFile, Partition, Publication, ReadContext, Sink, Source
from harvest.plugins import plugins_of
from harvest_testing.kits import Switch, forked, killed

from .values import LINE, Line, Other, lines

PUBLISHED = "publish() ends"
NEEDED = ("harvest.model.json", "polars", "pyarrow.compute", "pyarrow.parquet")
"""What a run imports, besides what ``harvest.run`` does."""


class LineSource(Source):
    """Lines of text files, and the count of each file's lines."""

    name: ClassVar[str] = "conformance-lines"
    record_types: ClassVar[tuple[type[harvest.Record], ...]] = (Line, Other)

    def read(self, partition: Partition, ctx: ReadContext) -> Iterator[harvest.Record]:
        """A row per line, and one for the file."""
        texts = partition.path.read_text().splitlines()
        for number, text in enumerate(texts, 1):
            yield Line(text=text, time=None, position=number)
        yield Other(text=len(texts), position=1)


@attrs.frozen
class Kill:
    """How a run ended that was to be killed before a step.

    killed: whether it was; steps: what was announced, the last of which was not taken.
    errors: what it said if it failed.
    """

    killed: bool
    steps: tuple[str, ...]
    errors: str = ""

    @property
    def when(self) -> str:
        """At which step it was killed, in words."""
        return f"killed before step {len(self.steps)}, {self.steps[-1] if self.steps else '?'}"

    @property
    def published(self) -> bool:
        """Whether publish() had ended, after which the core puts the manifest in force."""
        return PUBLISHED in self.steps[:-1]


def run_into(
    sink: type[Sink],
    location: Path | str,
    settings: Mapping[str, Any],
    inputs: Path,
    *,
    keep_runs: int = 1,
) -> None:
    """Harvest a directory of text files into a sink, in this process."""
    harvest.run(
        f"{LineSource.name}:{inputs}",
        f"{sink.name}:{location}",
        settings={sink.name: settings} if settings else None,
        workers=1,
        keep_runs=keep_runs,
        plugins=plugins_of(LineSource, sink),
    )


def kill_runs(
    sink: type[Sink], settings: Mapping[str, Any], inputs: Path, whole: str, others: Sequence[str]
) -> list[Kill]:
    """Run into ``whole`` undisturbed, and be killed in each other location at a later step.

    The steps at which runs are killed are spread over all that the sink takes.  Called in a process
    of its own, which does nothing else: its children do the runs, and each is killed by the kernel
    as any process is.  The first result is that of the undisturbed run.
    """
    # once here, not again in each child: what a run imports, and Arrow with its first array
    for module in NEEDED:
        importlib.import_module(module)
    _ = harvest.run
    plugins_of().engine("local")
    lines(LINE, 1)
    first = _one(sink, settings, inputs, whole, 0)
    total, kills = len(first.steps), len(others)
    spread = [1 + round(n * (total - 1) / max(1, kills - 1)) for n in range(kills)]
    return [
        first,
        *(_one(sink, settings, inputs, *one) for one in zip(others, spread, strict=True)),
    ]


def _one(
    sink: type[Sink], settings: Mapping[str, Any], inputs: Path, location: str, at: int
) -> Kill:
    def run(pipe: int) -> None:
        def before(number: int, step: str) -> None:
            os.write(pipe, step.replace("\n", " ").encode("utf-8", "replace") + b"\n")
            if number == at:
                os.kill(os.getpid(), signal.SIGKILL)

        run_into(_watch(sink, Switch(before)), location, settings, inputs)

    status, output = forked(run)
    steps, _, errors = output.partition("\0")
    return Kill(killed(status), tuple(steps.splitlines()), errors)


def _watch(cls: type[Sink], switch: Switch) -> type[Sink]:
    """The sink, with every step of publishing and finishing known to a switch."""

    class Watched(cls):  # type: ignore[misc, valid-type]
        def publish(self, publication: Publication) -> Mapping[str, Sequence[PartFile]]:
            with switch.armed():
                switch.step("publish() begins")
                final: Mapping[str, Sequence[PartFile]] = super().publish(publication)
                switch.step(PUBLISHED)
            return final

        def finish(self, publication: Publication) -> None:
            with switch.armed():
                switch.step("finish() begins")
                super().finish(publication)
                switch.step("finish() ends")

    return Watched


def read_back(sink: type[Sink], location: Path | str) -> tuple[list[Any], list[str]]:
    """The rows of a dataset, and what ``harvest verify`` says of it."""
    dataset = harvest.open(location, plugins=plugins_of(LineSource, sink))
    rows: list[Any] = []
    for name in ("conformance.line", "conformance.other"):
        frame = dataset[name].select("text", "origin", "position").collect()
        rows += [(name, *row) for row in frame.rows()]
    return rows, dataset.verify()
