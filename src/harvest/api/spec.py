"""Hooks that a plugin may implement, and the declarations that they return.

A plugin is a module (or object) named by an entry point in the group ``harvest``. Hooks are called
once and return declarations. A declaration may name its implementation as ``module:object``, which
is imported on first use, so that unused plugins cost nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import attrs
import pluggy

from .view import Setting, View, by_name

if TYPE_CHECKING:
    from harvest.model import Record

    from .rule import Rule
    from .sink import Sink
    from .source import Source

GROUP: Final = "harvest"
"""The entry-point group, and pluggy's project name."""

COMMANDS: Final = "harvest.commands"
"""The entry-point group that maps commands to plugins, without importing any plugin."""

KINDS: Final = ("source", "sink", "engine", "view", "report", "rule", "exporter", "command")
"""Kinds of declarations."""

API_VERSION: Final = 1
"""The newest plugin API that this core offers.  A plugin states its own as ``harvest_api``."""

OLDEST_API_VERSION: Final = 1
"""The oldest plugin API with which plugins are still loaded."""

hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)

_Spec = TypeVar("_Spec")


def declare(*specs: _Spec) -> Callable[[], tuple[_Spec, ...]]:
    """Return a hook that gives these declarations: ``harvest_views = declare(USAGE, WAITS)``."""

    def declared() -> tuple[_Spec, ...]:
        return specs

    return hookimpl(declared)


@attrs.frozen(kw_only=True)
class SourceSpec:
    """Declaration of a source: its name, a line of documentation, its class or ``module:Class``.

    record_types: names of the record types of its class. A dataset with only other types is read
        without importing the source. If None, it is imported for any type.
    """

    name: str
    doc: str
    factory: type[Source] | str
    record_types: tuple[str, ...] | None = None


@attrs.frozen(kw_only=True)
class SinkSpec:
    """Declaration of a sink: its name, a line of documentation, its class or ``module:Class``.

    suffixes: file name endings by which a location without a sink name belongs to this sink.
    """

    name: str
    doc: str
    factory: type[Sink] | str
    suffixes: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class EngineSpec:
    """Declaration of an engine, which decides where partitions run."""

    name: str
    doc: str
    factory: Any


@attrs.frozen(kw_only=True)
class ReportSpec:
    """Declaration of a report: tables and plots over views.

    build: callable or ``module:function`` that takes a DatasetReader and the settings by name and
        returns a report, for example a ``harvest_report.Report``. It raises ValueError for an
        unsuitable value of a setting. The report's method ``completed`` takes a ReportContext and
        returns the result of ``Dataset.report``.
    """

    name: str
    doc: str
    build: Any
    requires: tuple[str, ...] = ()
    fewest: int = 1
    settings: Mapping[str, Setting] = attrs.field(factory=dict, converter=by_name)


@attrs.frozen(kw_only=True)
class ExporterSpec:
    """Declaration of an exporter to another form: ``harvest export --as NAME``.

    write: callable or ``module:function`` that takes a ``harvest.Dataset``, the target as the user
        gave it and the settings by name. It writes, and returns the paths of its files, or a text
        on what it did. It raises ValueError for a value of a setting, UsageError for a target.
    targets: beginnings (``postgresql://``) or endings (``.duckdb``) of targets that it writes.
    """

    name: str
    doc: str
    write: Callable[..., Iterable[str | os.PathLike[str]] | str] | str
    targets: tuple[str, ...] = ()
    settings: Mapping[str, Setting] = attrs.field(factory=dict, converter=by_name)


@attrs.frozen(kw_only=True)
class Command:
    """Declaration of a command, ``harvest NAME``, or of a group of commands.

    name: a word; or two, of which the first is a group of harvest or another plugin: ``plugins
        audit``.
    doc: its line in the list of commands.
    app: a function that typer can call (one command), or a typer app (a group); or
        ``module:object``, imported when the command is called.
    after: the command before it in ``harvest --help``; by default plugins' commands come last.
    recipe_keys: what a table ``[NAME]`` of a recipe may hold for it; ``Recipe.commands`` has it.
    """

    name: str = attrs.field(validator=attrs.validators.matches_re(r"[\w-]+( [\w-]+)?"))
    doc: str
    app: Any
    after: str | None = None
    recipe_keys: Sequence[str] = ()


class Hooks(Protocol):
    """The hook specifications."""

    @hookspec
    def harvest_sources(self) -> Iterable[SourceSpec]:
        """Return the sources of this plugin."""

    @hookspec
    def harvest_sinks(self) -> Iterable[SinkSpec]:
        """Return the sinks of this plugin."""

    @hookspec
    def harvest_record_types(self) -> Iterable[type[Record]]:
        """Return record types that sources of other plugins also yield."""

    @hookspec
    def harvest_views(self) -> Iterable[View]:
        """Return the views of this plugin."""

    @hookspec
    def harvest_reports(self) -> Iterable[ReportSpec]:
        """Return the reports of this plugin."""

    @hookspec
    def harvest_rules(self) -> Iterable[Rule]:
        """Return the rules of this plugin, which find conclusions in views."""

    @hookspec
    def harvest_exporters(self) -> Iterable[ExporterSpec]:
        """Return the exporters of this plugin, which write datasets in other forms."""

    @hookspec
    def harvest_engines(self) -> Iterable[EngineSpec]:
        """Return the engines of this plugin."""

    @hookspec
    def harvest_commands(self) -> Iterable[Command]:
        """Return the commands of this plugin; the entry points ``harvest.commands`` name them, too.

        These may name a smaller module with this hook, so that help starts faster.
        """

    @hookspec
    def harvest_committed(self, dataset: Any, result: Any, open_dataset: Any) -> None:
        """Take note of a commit that changed a dataset; called after it, when nothing is locked.

        dataset: the ``harvest.Dataset`` in its new state; open_dataset: a function that opens it.
        result: the ``harvest.RunResult`` of the run; None after a rollback, which reads nothing.
        Runs, rounds of a watch, replays of rejects, repairs and rollbacks commit. An exception here
        is printed as a remark and has no other effect.
        """
