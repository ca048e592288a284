"""Tools for testing plugins.

``collect`` runs a source the way the core does, in this process, and gives everything that came
of it; ``SinkDriver`` takes a sink through a commit step by step.  ``SourceConformance``,
``SinkConformance`` and ``EngineConformance`` are tests of all that plugins promise, to be
inherited, as are ``ViewConformance`` and ``ReportConformance``.  ``check_golden``
compares what a source gave with a file; ``check_view`` builds a view and wants a meaning for each
of its columns; ``faults_of_unknown`` looks for what a view and its rules say too much where less is
known (``without_column``); ``judge`` applies a rule to rows of its view.  None of it needs pytest,
which finds fixtures for the same things in ``harvest_testing.pytest_plugin``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from harvest import Collected, collect, collect_partition
    from harvest.findings import judge

    from .engine import EngineConformance
    from .golden import check_golden, check_schemas, update_golden
    from .promise import BrokenPromise
    from .reports import ReportConformance
    from .sink import SinkConformance
    from .sink.driver import SinkDriver
    from .source import SourceConformance
    from .unknown import faults_of_unknown, without_column
    from .views import ViewConformance, check_view, faults_of_columns

_HOMES = {
    "BrokenPromise": ".promise",
    "Collected": "harvest.reading.collect",
    "EngineConformance": ".engine",
    "ReportConformance": ".reports",
    "SinkConformance": ".sink",
    "SinkDriver": ".sink.driver",
    "SourceConformance": ".source",
    "ViewConformance": ".views",
    "check_golden": ".golden",
    "check_schemas": ".golden",
    "check_view": ".views",
    "collect": "harvest.reading.collect",
    "collect_partition": "harvest.reading.collect",
    "faults_of_columns": ".views",
    "faults_of_unknown": ".unknown",
    "judge": "harvest.findings",
    "update_golden": ".golden",
    "without_column": ".unknown",
}

__all__ = [
    "BrokenPromise",
    "Collected",
    "EngineConformance",
    "ReportConformance",
    "SinkConformance",
    "SinkDriver",
    "SourceConformance",
    "ViewConformance",
    "check_golden",
    "check_schemas",
    "check_view",
    "collect",
    "collect_partition",
    "faults_of_columns",
    "faults_of_unknown",
    "judge",
    "update_golden",
    "without_column",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'harvest_testing' has no attribute {name!r}")
    value = getattr(importlib.import_module(home, __name__), name)
    globals()[name] = value
    return value
