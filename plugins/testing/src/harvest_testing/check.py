"""``harvest plugins check``: check a plugin's declarations, and test its promises.

By default, it runs only the quick tests of the conformance kit (:mod:`harvest_testing`), those of
sources and sinks that start no process. A plugin's own tests run the whole kit.
"""

import contextlib
import inspect
import shutil
import sys
import tempfile
import textwrap
import unittest
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from json import dumps
from pathlib import Path
from typing import Any

import attrs

import harvest
from harvest import Dataset, PluginError, UsageError
from harvest.plugin_code import contained
from harvest.plugins import PluginManager, manager
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.texts import printable_line

from .datasets import ReportConformance
from .declarations import check_plugin, owned
from .engines import EngineConformance
from .exporters import ExporterConformance
from .promise import BrokenPromise, Conformance, does_not_apply
from .sinks import SinkConformance
from .source import SourceConformance
from .source.kit import copy_of
from .source.reading import ArrowSink
from .views import ViewConformance

INDENT = " " * 9
"""Indentation of continuation lines: the width of the first word and its space."""


@attrs.frozen(kw_only=True)
class Finding:
    """The result of testing one promise.

    about: the part of the plugin, for example ``source greeting``; promise: the promise in words.
    result: ``kept``, ``broken`` or ``skipped``.
    detail: what was seen, or why it was skipped. test: the kit's method; empty for declarations.
    """

    about: str
    promise: str
    result: str
    detail: str = ""
    test: str = ""


def check_plugins(
    names: Sequence[str], sample: Path | None, *, json: bool, thorough: bool = False
) -> int:
    """Test the promises of plugins and print the results; return 1 if one is broken, else 0.

    names: plugins or Python files; none for all installed plugins. sample: input for the sources.
    thorough: run the whole kit. Raises UsageError for unknown names; both options need one name.
    """
    found = manager()
    names = [found.add_file(Path(n)).name if n.endswith(".py") else n for n in names]
    known = [*found.plugins, *found.broken]
    for name in names:
        if name not in known:
            remedy = found.remedy(name, known, "plugin", "source", "sink")
            raise UsageError(f"unknown plugin {name!r}", remedy=remedy)
    if thorough and len(names) != 1:
        raise UsageError("--thorough is for one plugin", remedy="name it")
    if sample is not None and len(names) != 1:
        raise UsageError("a sample is for one plugin", remedy="name the plugin that can read it")
    results: dict[str, list[Finding]] = {name: [] for name in sorted(names or known)}
    for name, findings in results.items():
        for finding in check_promises(found, name, sample=sample, thorough=thorough):
            findings.append(finding)
            shown = ("kept", "broken") if names else ("broken",)
            if not json and finding.result in shown:
                _print_finding(name, finding)
        if not json:
            _sum_up(name, findings, reasons=bool(names))
    if json:
        outcomes = {name: [*map(attrs.asdict, found)] for name, found in results.items()}
        print(dumps(outcomes, indent=2))
    return int(any(f.result == "broken" for findings in results.values() for f in findings))


def _print_finding(name: str, finding: Finding) -> None:
    word = {"kept": "ok", "broken": "FAILED"}[finding.result]
    _print_wrapped(f"{word:<8} {name}: {finding.about}: {finding.promise}")
    for line in finding.detail.splitlines():
        print(f"{INDENT}{printable_line(line)}")


def _sum_up(name: str, findings: list[Finding], *, reasons: bool) -> None:
    count = Counter(finding.result for finding in findings)
    if reasons:
        untried = Counter((f.about, f.detail) for f in findings if f.result == "skipped")
        for (about, why), times in untried.items():
            promises = count_in_words(times, "promise")
            _print_wrapped(f"{'skipped':<8} {name}: {about}: {promises}: {why}")
    print(
        f"{name}: {count['kept']} promises kept, {count['broken']} broken, "
        f"{count['skipped']} not tried"
    )


def _print_wrapped(text: str) -> None:
    """Print a line; on a terminal, wrap it between words."""
    line = printable_line(text)
    if sys.stdout.isatty():
        width = shutil.get_terminal_size().columns
        line = textwrap.fill(line, width, subsequent_indent=INDENT, break_long_words=False)
    print(line)


def check_promises(
    plugins: PluginManager, name: str, *, sample: Path | None = None, thorough: bool = False
) -> Iterator[Finding]:
    """Test the promises of a plugin, and yield a finding for each, whether kept or broken.

    sample: a file or directory that its sources can read; None skips the tests that need input.
    thorough: also run the slow tests, which include all of engines, views, reports and exporters.
    Raises UsageError if the sample does not exist.
    """
    if sample is not None and not sample.exists():
        raise UsageError("no such file or directory", where=str(sample))
    declared = "everything declared can be imported and is documented"
    problems = check_plugin(plugins, name)
    for problem in problems:
        yield Finding(about="plugin", promise=declared, result="broken", detail=problem)
    if not problems:
        yield Finding(about="plugin", promise=declared, result="kept")
    if name in plugins.broken:
        return
    for about, kit in _kits(plugins, name, sample):
        yield from try_promises(kit, about, thorough=thorough)


def try_promises(kit: Any, about: str, *, thorough: bool = False) -> Iterator[Finding]:
    """Run the tests of a conformance object without pytest; only quick ones unless thorough."""
    for name in dir(kit):
        test = getattr(kit, name)
        if not (name.startswith("test_") and (thorough or getattr(test, "quick", False))):
            continue
        wanted = inspect.signature(test).parameters
        varied = {name: values for name, values in kit.choices().items() if name in wanted}
        for given in [{name: each} for name in varied for each in varied[name]] or [{}]:
            words = " ".join([test.promise, *(f"({choice})" for choice in given.values())])
            result, detail = _outcome(test, given, directory="tmp_path" in wanted)
            yield Finding(about=about, promise=words, result=result, detail=detail, test=name)


def _outcome(test: Any, given: dict[str, str], *, directory: bool) -> tuple[str, str]:
    with tempfile.TemporaryDirectory(prefix="harvest-check-") as made:
        if directory:
            given = {**given, "tmp_path": Path(made)}  # type: ignore[dict-item]
        try:
            with contained():
                test(**given)
        except unittest.SkipTest as reason:
            return "skipped", str(reason)
        except BrokenPromise as error:
            return "broken", f"{error.seen}\n{error.remedy}"
        # a plugin under test may raise anything, which is a result, too
        except Exception as error:  # noqa: BLE001
            return "broken", f"{type(error).__name__}: {error}"
    return "kept", ""


OVER_A_DATASET = (
    ("views", "view", ViewConformance),
    ("reports", "report", ReportConformance),
    ("exporters", "exporter", ExporterConformance),
)
UNSAID = "an example is unknown; a test class of the plugin's own gives it"


def _kits(
    plugins: PluginManager, name: str, sample: Path | None
) -> Iterator[tuple[str, Conformance]]:
    """Yield a name and a conformance object for each source, sink and other part of a plugin.

    Views, reports and exporters are tested with a dataset of the sample.
    """
    sources = []
    for spec in owned(plugins, "sources", name):
        with contextlib.suppress(PluginError):  # reported among the declarations
            sources.append(plugins.load(spec))
            # only the author knows the counts and examples
            body: dict[str, Any] = {"source": sources[-1], "counted": None, "examples": None}
            body["sample"] = lambda _, directory: _copied(sample, directory)
            yield f"source {spec.name}", _kit(SourceConformance, body)
    for spec in owned(plugins, "sinks", name):
        with contextlib.suppress(PluginError):
            # a format may differ in its bytes for a reason that only the author knows
            body = {"sink": plugins.load(spec), "deterministic": False}
            for out in ("out", *(f"out{end}" for end in spec.suffixes[:1])):
                body["location"] = lambda _, directory, out=out: directory / out
                yield f"sink {spec.name}:{out}", _kit(SinkConformance, body)
    for spec in owned(plugins, "engines", name):
        with contextlib.suppress(PluginError):
            factory = plugins.load_part(spec, spec.factory, spec.name)
            yield f"engine {spec.name}", _kit(EngineConformance, {"engine": factory})
    for kind, knob, base in OVER_A_DATASET:
        for spec in owned(plugins, kind, name):
            unsaid = dict.fromkeys(spec.settings, UNSAID)
            body = {knob: spec.name, "without_effect": unsaid}
            body["dataset"] = lambda _, *given: _dataset_of(plugins, sources, sample, *given)
            yield f"{knob} {spec.name}", _kit(base, body)


def _kit(base: type[Conformance], body: Mapping[str, Any]) -> Any:
    return type("Installed", (base,), dict(body))()


def _copied(sample: Path | None, directory: Path) -> Path:
    if sample is None:
        does_not_apply("it needs a sample of the input (--sample PATH)")
    return copy_of(sample, directory / sample.name)


def _dataset_of(
    plugins: PluginManager, sources: list[Any], sample: Path | None, directory: Path, inputs: int
) -> Dataset:
    """Harvest ``inputs`` copies of the sample into the kit's own sink; return the dataset."""
    if sample is None or not sources:
        does_not_apply("it needs a sample that a source of the plugin reads (--sample PATH)")
    places = [copy_of(sample, directory / f"{n}" / sample.name) for n in range(inputs)]
    if ArrowSink.name not in plugins.sinks:
        plugins.add_class(ArrowSink)
    out = directory / "out"
    inputs_given = [f"{sources[0].name}:{place}" for place in places]
    harvest.run(inputs_given, f"{ArrowSink.name}:{out}", workers=1, plugins=plugins)
    return harvest.open(out, plugins=plugins)
