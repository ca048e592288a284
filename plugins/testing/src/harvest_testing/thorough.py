"""The kits for ``harvest plugins check NAME --thorough``, over a dataset that the kit makes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import harvest
from harvest import Dataset, PluginError
from harvest.plugins import PluginManager

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
