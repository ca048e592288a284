"""Tools for testing plugins.

``collect`` runs a source in this process, as the core does, and returns rows, rejects and counts.
``SourceConformance``, ``ViewConformance``, ``ReportConformance``, ``SinkConformance``,
``EngineConformance`` and ``ExporterConformance`` hold the tests of every promise. A plugin's test
classes inherit them. ``SinkDriver`` takes a sink through a commit step by step.
``check_view`` builds a view and checks that each of its columns has a documented meaning.
``faults_of_unknown`` finds claims of a view and its rules that are not justified if values are
unknown (``without_column``). ``judge`` applies a rule to rows of its view.
None of these needs pytest.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harvest import Collected as Collected
    from harvest import collect as collect
    from harvest import collect_partition as collect_partition
    from harvest.findings import judge as judge

    from .datasets import ReportConformance as ReportConformance
    from .engines import EngineConformance as EngineConformance
    from .exporters import ExporterConformance as ExporterConformance
    from .promise import BrokenPromise as BrokenPromise
    from .sinks import SinkConformance as SinkConformance
    from .sinks import SinkDriver as SinkDriver
    from .source import SourceConformance as SourceConformance
    from .unknown import faults_of_unknown as faults_of_unknown
    from .unknown import without_column as without_column
    from .views import ViewConformance as ViewConformance
    from .views import check_view as check_view
    from .views import faults_of_columns as faults_of_columns

_HOMES = {
    "harvest": ("Collected", "collect", "collect_partition"),
    "harvest.findings": ("judge",),
    ".datasets": ("ReportConformance",),
    ".engines": ("EngineConformance",),
    ".exporters": ("ExporterConformance",),
    ".promise": ("BrokenPromise",),
    ".sinks": ("SinkConformance", "SinkDriver"),
    ".source": ("SourceConformance",),
    ".unknown": ("faults_of_unknown", "without_column"),
    ".views": ("ViewConformance", "check_view", "faults_of_columns"),
}

__all__ = sorted(name for names in _HOMES.values() for name in names)


def __getattr__(name: str) -> Any:
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module 'harvest_testing' has no attribute {name!r}")
    globals()[name] = value = getattr(importlib.import_module(home, __name__), name)
    return value
