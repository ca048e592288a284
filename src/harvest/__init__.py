"""harvest: collect the metadata that scientific runs leave behind, in one model.

The names below are the public API. Each is imported on first use, so that importing ``harvest``
stays fast: the program can install its signal handlers right after.
"""

import importlib
import os

UNSUPPORTED = "" if os.name == "posix" else "harvest needs Linux or macOS; on Windows, use WSL"
"""Why harvest does not run on this system; empty if it does."""

_HOMES = {
    ".dataset": "Dataset open",
    ".dataset.report": "ReportContext",
    ".errors": "ConfigError DatasetChanged DatasetError HarvestError PluginError "
    "SourceError UsageError",
    ".model": "Int32 Record RecordType UInt32 UInt64 field record record_type",
    ".columns": "Column",
    ".api.directory_sink": "DirectorySink",
    ".api.rule": "Finding Rule Threshold",
    ".api.sink": "PartFile PartWriter Publication Sink SmallRows",
    ".api.source": "Detection Partition ReadContext Reject Source file_partition file_partitions",
    ".api.spec": "Command EngineSpec ExporterSpec ReportSpec SinkSpec SourceSpec declare hookimpl",
    ".api.view": "DatasetReader Setting View",
    ".reading.bundle": "Bundle Result",
    ".pipeline.engine": "Engine Work",
    ".recipes.recipe": "Endpoint Recipe",
    ".pipeline.result": "RunResult",
    ".pipeline.session": "Session run",
    ".reading.rows": "Collected collect collect_partition tables",
    ".plugins.registry": "add_plugin",
}
_UNLISTED = {
    ".model": "BatchError RecordTypeError",
    ".model.arrow": "conform",
    ".api.located": "NoConfig",
    ".api.spec": "API_VERSION OLDEST_API_VERSION",
    ".plugins.registry": "plugins_of",
}
"""Rarely used names, which only their own modules list."""
_HOME_OF = {
    name: home
    for homes in (_HOMES, _UNLISTED)
    for home, names in homes.items()
    for name in names.split()
}

__all__ = sorted(name for names in _HOMES.values() for name in names.split())


def __getattr__(name: str) -> object:
    if name == "__version__":
        from importlib.metadata import version  # late: rarely needed and slow to import

        return version("hpc-harvest")
    if UNSUPPORTED:
        raise ImportError(UNSUPPORTED)
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'harvest' has no attribute {name!r}")
    value = getattr(importlib.import_module(home, __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
