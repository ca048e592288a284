"""``harvest plugins check NAME --thorough``: all of the kit, without a test file, as a page."""

from __future__ import annotations

import shutil
import sys
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

import harvest
from harvest import Dataset, PluginError
from harvest.plugins import PluginManager
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.texts import printable_line

from .declarations import owned
from .engines import EngineConformance
from .exporters import ExporterConformance
from .promise import does_not_apply
from .reports import ReportConformance
from .source.kit import copy_of
from .source.runs import ArrowSink
from .views import ViewConformance

OVER_A_DATASET = (
    ("views", "view", ViewConformance),
    ("reports", "report", ReportConformance),
    ("exporters", "exporter", ExporterConformance),
)
UNSAID = "an example is not known; a test class of the plugin's own gives it"


class Outcome(Protocol):
    """What became of a promise, as ``harvest plugins check`` finds it."""

    @property
    def about(self) -> str: ...
    @property
    def promise(self) -> str: ...
    @property
    def result(self) -> str: ...
    @property
    def detail(self) -> str: ...
    @property
    def test(self) -> str: ...


def kits_of_others(
    plugins: PluginManager, name: str, sample: Path | None
) -> Iterator[tuple[str, Any]]:
    """Of a plugin's engines, views, reports and exporters: words, and a conformance object.

    All but the engines are tried over a dataset of the sample.
    """
    for spec in owned(plugins, "engines", name):
        try:
            factory = plugins.load_part(spec, spec.factory, spec.name)
        except PluginError:
            continue  # reported among the declarations
        kit = type("Installed", (EngineConformance,), {"engine": factory})
        yield f"engine {spec.name}", kit()
    sources = [plugins.load(spec) for spec in owned(plugins, "sources", name)]

    def dataset(self: Any, directory: Path, inputs: int) -> Dataset:
        return _dataset_of(plugins, sources, sample, directory, inputs)

    for kind, knob, base in OVER_A_DATASET:
        for spec in owned(plugins, kind, name):
            unsaid = dict.fromkeys(spec.settings, UNSAID)
            body = {knob: spec.name, "dataset": dataset, "without_effect": unsaid}
            yield f"{knob} {spec.name}", type("Installed", (base,), body)()


def _dataset_of(
    plugins: PluginManager, sources: list[Any], sample: Path | None, directory: Path, inputs: int
) -> Dataset:
    """The dataset of a sample, or of two copies of it, in the kit's own sink."""
    if sample is None or not sources:
        does_not_apply("it needs a sample that a source of the plugin reads (--sample PATH)")
    places = [copy_of(sample, directory / f"{n}" / sample.name) for n in range(inputs)]
    if ArrowSink.name not in plugins.sinks:
        plugins.add_class(ArrowSink)
    out = directory / "out"
    inputs_given = [f"{sources[0].name}:{place}" for place in places]
    harvest.run(inputs_given, f"{ArrowSink.name}:{out}", workers=1, plugins=plugins)
    return harvest.open(out, plugins=plugins)


def print_page(name: str, findings: Iterable[Outcome]) -> None:
    """Print promises that were kept, those that were not, and what to declare for the others."""
    by_result: defaultdict[str, list[Outcome]] = defaultdict(list)
    for finding in findings:
        by_result[finding.result].append(finding)
    count = {result: len(by_result[result]) for result in ("kept", "broken", "skipped")}
    print(
        f"{name}: {count['kept']} promises kept, {count['broken']} broken, "
        f"{count['skipped']} not tried"
    )
    if by_result["broken"]:
        print("\nBroken")
    for finding in by_result["broken"]:
        seen, _, remedy = finding.detail.rpartition("\n")
        _print(f"  {finding.about}: {finding.promise}", 4)
        for number, line in enumerate((seen or remedy).splitlines()):
            _print(f"    {'seen:  ' if number == 0 else '       '} {line}", 12)
        if seen:
            _print(f"    remedy: {remedy}", 12)
        if finding.test:
            _print(f"    test:   {finding.test}", 12)
    if by_result["skipped"]:
        print("\nNot tried, and what would try it")
    reasons = Counter((f.about, f.detail) for f in by_result["skipped"])
    for (about, why), times in reasons.items():
        _print(f"  {about}: {count_in_words(times, 'promise')}: {why}", 4)
    if by_result["kept"]:
        print("\nKept")
    for finding in by_result["kept"]:
        _print(f"  {finding.about}: {finding.promise}", 4)


def _print(text: str, indent: int) -> None:
    """A line, which a terminal gets broken between words."""
    line = printable_line(text)
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        line = textwrap.fill(
            line, width, subsequent_indent=" " * indent, break_long_words=False,
            drop_whitespace=False,
        )  # fmt: skip
    print(line)
