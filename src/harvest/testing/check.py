"""Checking an installed plugin: its declarations, and what of its promises can be tried at once.

``check_plugin`` imports everything that a plugin declares.  ``check_promises`` has its sources and
sinks do what the conformance kit (:mod:`harvest.testing`) asks of them, as far as that starts no
process; the kit's whole is for the plugin's own tests.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from harvest.api.sink import Sink
from harvest.api.source import Source
from harvest.errors import PluginError, UsageError
from harvest.model import RecordTypeError, record_type
from harvest.plugins.registry import PluginManager, resolve

__all__ = ["Finding", "check_plugin", "check_promises", "class_problems"]


@attrs.frozen(kw_only=True)
class Finding:
    """What became of one promise.

    about: what promised it (``source greeting``); promise: in words.
    result: ``kept``, ``broken`` or ``skipped``.
    detail: what was seen, or why it was skipped.
    """

    about: str
    promise: str
    result: str
    detail: str = ""


def check_plugin(plugins: PluginManager, name: str) -> list[str]:
    """Sentences about what is wrong with a plugin's declarations; empty when all is well."""
    if name in plugins.broken:
        broken = plugins.broken[name]
        return [f"{broken.cause}; {broken.remedy}"]
    problems: list[str] = []
    for kind, base in (("sources", Source), ("sinks", Sink)):
        for spec in _owned(plugins, kind, name):
            try:
                problems += _check_class(plugins.load(spec), spec, base)
            except PluginError as error:
                problems.append(str(error))
    for kind, attribute in (
        ("views", "build"),
        ("reports", "build"),
        ("engines", "factory"),
        ("commands", "app"),
    ):
        for spec in _owned(plugins, kind, name):
            problems += _check_target(spec, attribute)
    return problems


def check_promises(
    plugins: PluginManager, name: str, *, sample: Path | None = None
) -> Iterator[Finding]:
    """Try the quick promises of a plugin's sources and sinks; broken ones are findings, too.

    sample: a file or directory that its sources can read; without one, what needs input is skipped.
    Raises UsageError for a sample that is not there.
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
    for spec in _owned(plugins, "sources", name):
        yield from _tried(f"source {spec.name}", plugins, spec, _source_kit, sample)
    for spec in _owned(plugins, "sinks", name):
        for ending in ("", *spec.suffixes[:1]):
            yield from _tried(f"sink {spec.name}:out{ending}", plugins, spec, _sink_kit, ending)


def _tried(
    about: str, plugins: PluginManager, spec: Any, kit: Any, choice: Any
) -> Iterator[Finding]:
    from .quick import keep

    try:
        cls = plugins.load(spec)
    except PluginError:
        return  # told among the declarations
    for promise, result, detail in keep(kit(cls, choice)):
        yield Finding(about=about, promise=promise, result=result, detail=detail)


def _source_kit(cls: type[Source], sample: Path | None) -> Any:
    from harvest.testing import SourceConformance

    from .promise import does_not_apply

    class Installed(SourceConformance):
        source = cls

        def sample(self, directory: Path) -> Path:
            if sample is None:
                does_not_apply("it needs a sample of the input (--sample PATH)")
            copied = directory / sample.name
            if sample.is_dir():
                return Path(shutil.copytree(sample, copied))
            return Path(shutil.copy2(sample, copied))

    return Installed()


def _sink_kit(cls: type[Sink], ending: str) -> Any:
    from harvest.testing import SinkConformance

    class Installed(SinkConformance):
        sink = cls
        deterministic = False  # a format may have its reasons, which only its author knows

        def location(self, directory: Path) -> Path:
            return directory / f"out{ending}"

    return Installed()


def _owned(plugins: PluginManager, kind: str, name: str) -> list[Any]:
    return [s for s in getattr(plugins, kind).values() if plugins.owner(s).name == name]


def _check_class(cls: Any, spec: Any, base: type) -> list[str]:
    fits: bool = isinstance(cls, type) and issubclass(cls, base)
    if not fits:
        return [f"{spec.name}: {cls!r} is no subclass of harvest.{base.__name__}"]
    problems = []
    if cls.name != spec.name:
        problems.append(f"{spec.name}: its class calls itself {cls.name!r}")
    return problems + class_problems(cls)


def class_problems(cls: type[Source] | type[Sink]) -> list[str]:
    """What a source or sink class leaves undeclared or undocumented, one sentence each."""
    problems = []
    if not attrs.has(cls.Config):
        problems.append(f"{cls.name}: Config is no attrs class")
    else:
        problems += [
            f"{cls.name}: setting {a.name!r} has no documentation (metadata 'doc')"
            for a in attrs.fields(cls.Config)
            if not a.metadata.get("doc")
        ]
    for record_class in getattr(cls, "record_types", ()):
        try:
            kind = record_type(record_class)
            _ = kind.arrow_schema  # raises when a column has no Arrow type
        except RecordTypeError as error:
            problems.append(str(error))
            continue
        if not kind.doc:
            problems.append(f"{kind.name}: the record class has no docstring")
        problems += [f"{kind.name}.{c.name}: no documentation" for c in kind.columns if not c.doc]
    return problems


def _check_target(spec: Any, attribute: str) -> list[str]:
    try:
        resolve(getattr(spec, attribute))
    # a stranger's module may raise anything at import
    except Exception as error:  # noqa: BLE001
        return [f"{spec.name}: {type(error).__name__}: {error}"]
    return []
