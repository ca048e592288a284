"""harvest: collect the metadata that scientific runs leave behind, as one model.

The names below are the public API; each is imported when first used, so that importing
``harvest`` stays fast: the program takes Ctrl-C into its hands right after.
"""

from __future__ import annotations

import importlib
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .api.column import Column
    from .api.context import ReadContext, Reject
    from .api.directory_sink import DirectorySink
    from .api.rule import Basis, Finding, Rule, Threshold
    from .api.setting import Setting
    from .api.sink import PartFile, PartWriter, Publication, Sink, SmallRows
    from .api.source import Detection, Partition, Source, file_partition
    from .api.spec import (
        Command,
        EngineSpec,
        ExporterSpec,
        ReportSpec,
        SinkSpec,
        SourceSpec,
        hookimpl,
    )
    from .api.view import DatasetReader, View
    from .dataset import Dataset, open  # noqa: A004
    from .dataset.report import ReportContext
    from .errors import (
        ConfigError,
        DatasetChanged,
        DatasetError,
        HarvestError,
        PluginError,
        SourceError,
        UsageError,
    )
    from .model import (
        Int32,
        Record,
        RecordType,
        UInt32,
        UInt64,
        field,
        record,
        record_type,
    )
    from .pipeline.engine import Engine, Work
    from .pipeline.recipe import Endpoint, Recipe
    from .pipeline.result import RunResult
    from .pipeline.run import run
    from .pipeline.session import Session
    from .plugins.registry import add_plugin
    from .reading.bundle import Bundle, Result
    from .reading.collect import Collected, collect, collect_partition
    from .reading.rows import tables

UNSUPPORTED = "" if os.name == "posix" else "harvest needs Linux or macOS; on Windows, use WSL"
"""Why harvest does not run on this system; empty where it does."""

_HOMES = {
    ".dataset": ("Dataset", "open"),
    ".dataset.report": ("ReportContext",),
    ".errors": (
        "ConfigError",
        "DatasetChanged",
        "DatasetError",
        "HarvestError",
        "PluginError",
        "SourceError",
        "UsageError",
    ),
    ".model": (
        "BatchError",
        "Int32",
        "Record",
        "RecordType",
        "RecordTypeError",
        "UInt32",
        "UInt64",
        "field",
        "record",
        "record_type",
    ),
    ".model.arrow": ("conform",),
    ".api.column": ("Column",),
    ".api.context": ("ReadContext", "Reject"),
    ".api.directory_sink": ("DirectorySink",),
    ".api.rule": ("Basis", "Finding", "Rule", "Threshold"),
    ".api.setting": ("Setting",),
    ".api.sink": ("PartFile", "PartWriter", "Publication", "Sink", "SmallRows"),
    ".api.source": (
        "Detection",
        "NoConfig",
        "Partition",
        "Source",
        "file_partition",
        "file_partitions",
    ),
    ".api.spec": (
        "API_VERSION",
        "OLDEST_API_VERSION",
        "Command",
        "CommandGroup",
        "EngineSpec",
        "ExporterSpec",
        "ReportSpec",
        "SinkSpec",
        "SourceSpec",
        "hookimpl",
    ),
    ".api.view": ("DatasetReader", "View"),
    ".reading.bundle": ("Bundle", "Result"),
    ".pipeline.engine": ("Engine", "Work"),
    ".pipeline.run": ("run",),
    ".pipeline.recipe": ("Endpoint", "Recipe"),
    ".pipeline.result": ("RunResult",),
    ".pipeline.session": ("Session",),
    ".reading.rows": ("tables",),
    ".plugins.registry": ("add_plugin", "plugins_of"),
    ".reading.collect": ("Collected", "collect", "collect_partition"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_MOVED = dict.fromkeys(("LineConfig", "LineSource"), "harvest_toolkit.line_source")
"""Names that are elsewhere now; here they work for one minor version more."""

__all__ = [
    "Basis",
    "Bundle",
    "Collected",
    "Column",
    "Command",
    "ConfigError",
    "Dataset",
    "DatasetChanged",
    "DatasetError",
    "DatasetReader",
    "Detection",
    "DirectorySink",
    "Endpoint",
    "Engine",
    "EngineSpec",
    "ExporterSpec",
    "Finding",
    "HarvestError",
    "Int32",
    "PartFile",
    "PartWriter",
    "Partition",
    "PluginError",
    "Publication",
    "ReadContext",
    "Recipe",
    "Record",
    "RecordType",
    "Reject",
    "ReportContext",
    "ReportSpec",
    "Result",
    "Rule",
    "RunResult",
    "Session",
    "Setting",
    "Sink",
    "SinkSpec",
    "SmallRows",
    "Source",
    "SourceError",
    "SourceSpec",
    "Threshold",
    "UInt32",
    "UInt64",
    "UsageError",
    "View",
    "Work",
    "add_plugin",
    "collect",
    "collect_partition",
    "field",
    "file_partition",
    "file_partitions",
    "hookimpl",
    "open",
    "record",
    "record_type",
    "run",
    "tables",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # late: few ask, and it takes long to import

        return version("hpc-harvest")
    if UNSUPPORTED:
        raise ImportError(UNSUPPORTED)
    if name in _MOVED:
        from .moved import moved

        return moved(__name__, _MOVED[name], stacklevel=3)(name)
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'harvest' has no attribute {name!r}")
    value = getattr(importlib.import_module(home, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
