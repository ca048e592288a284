"""The hooks a plugin may implement, and what it declares through them.

A plugin is a module (or object) named by an entry point in the group ``harvest``.  Hooks are
called once and give declarations; a declaration may name its implementation as ``module:object``,
which is imported when first used, so that plugins cost nothing until they work.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

import attrs
import pluggy

from .view import Setting, by_name

if TYPE_CHECKING:
    from harvest.model import Record

    from .rule import Rule
    from .sink import Sink
    from .source import Source
    from .view import View

GROUP: Final = "harvest"
"""The entry-point group, and pluggy's project name."""

COMMANDS: Final = "harvest.commands"
"""The entry-point group that says which plugin declares a command, before any is imported."""

KINDS: Final = ("source", "sink", "engine", "view", "report", "rule", "exporter", "command")
"""What plugins declare."""

API_VERSION: Final = 1
"""The newest plugin API that this core offers.  A plugin states its own as ``harvest_api``."""

OLDEST_API_VERSION: Final = 1
"""The oldest plugin API with which plugins are still loaded."""

hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)


@attrs.frozen(kw_only=True)
class SourceSpec:
    """Declares a source: its name, a line of documentation, its class or ``module:Class``.

    record_types: the names of those that its class has, by which a dataset of others is read
        without importing it; it is imported for any where they are not given.
    """

    name: str
    doc: str
    factory: type[Source] | str
    record_types: tuple[str, ...] | None = None


@attrs.frozen(kw_only=True)
class SinkSpec:
    """Declares a sink: its name, a line of documentation, its class or ``module:Class``.

    suffixes: file name endings by which a location without a name is taken to be this sink's.
    """

    name: str
    doc: str
    factory: type[Sink] | str
    suffixes: tuple[str, ...] = ()


@attrs.frozen(kw_only=True)
class EngineSpec:
    """Declares an engine: where partitions run."""

    name: str
    doc: str
    factory: Any


@attrs.frozen(kw_only=True)
class ReportSpec:
    """Declares a report: tables and plots over views.

    build: callable or ``module:function`` that takes a DatasetReader and the settings by name and
        gives a report, for example a ``harvest_report.Report``.  It raises ValueError for a value
        of a setting that it does not take.  The report's method ``completed`` takes a ReportContext
        and gives what ``Dataset.report`` returns.
    fewest: as that of a view.
    """

    name: str
    doc: str
    build: Any
    requires: tuple[str, ...] = ()
    fewest: int = 1
    settings: Mapping[str, Setting] = attrs.field(factory=dict, converter=by_name)


@attrs.frozen(kw_only=True)
class ExporterSpec:
    """Declares an exporter: a dataset in a form that others take, ``harvest export --as NAME``.

    write: callable or ``module:function`` that takes a ``harvest.Dataset``, the target as the user
        gave it and the settings by name.  It writes, and gives the paths of its files, or a text on
        what it did.  It raises ValueError for a value of a setting, UsageError for a target.
    targets: beginnings (``postgresql://``) or endings (``.duckdb``) of targets that it writes.
    """

    name: str
    doc: str
    write: Callable[..., Iterable[str | os.PathLike[str]] | str] | str
    targets: tuple[str, ...] = ()
    settings: Mapping[str, Setting] = attrs.field(factory=dict, converter=by_name)


@attrs.frozen(kw_only=True)
class Command:
    """Declares a command, ``harvest NAME``, or a group of commands.

    name: a word; or two, of which the first is a group that harvest or another plugin has:
        ``plugins audit``.
    doc: its line in the list of commands.
    app: a function that typer can call, which is one command, or a typer app, which is a group;
        or ``module:object``, imported when the command is called.
    after: the command that it follows in ``harvest --help``; the plugins' are last.
    """

    name: str = attrs.field(validator=attrs.validators.matches_re(r"[\w-]+( [\w-]+)?"))
    doc: str
    app: Any
    after: str | None = None


class Hooks(Protocol):
    """The hook specifications."""

    @hookspec
    def harvest_sources(self) -> Iterable[SourceSpec]:
        """Sources of this plugin."""

    @hookspec
    def harvest_sinks(self) -> Iterable[SinkSpec]:
        """Sinks of this plugin."""

    @hookspec
    def harvest_record_types(self) -> Iterable[type[Record]]:
        """Record types that sources of other plugins yield, too."""

    @hookspec
    def harvest_views(self) -> Iterable[View]:
        """Views of this plugin."""

    @hookspec
    def harvest_reports(self) -> Iterable[ReportSpec]:
        """Reports of this plugin."""

    @hookspec
    def harvest_rules(self) -> Iterable[Rule]:
        """Rules of this plugin, which find conclusions in views."""

    @hookspec
    def harvest_exporters(self) -> Iterable[ExporterSpec]:
        """Exporters of this plugin, which write datasets in other forms."""

    @hookspec
    def harvest_engines(self) -> Iterable[EngineSpec]:
        """Engines of this plugin."""

    @hookspec
    def harvest_commands(self) -> Iterable[Command]:
        """Commands of this plugin; the entry points ``harvest.commands`` name them, too.

        These may name a smaller module with this hook, so that help starts faster.
        """

    @hookspec
    def harvest_committed(self, dataset: Any, result: Any) -> None:
        """Called after each commit that changed a dataset, when nothing is locked.

        dataset: the ``harvest.Dataset``, opened in its new state.
        result: the ``harvest.RunResult`` of the run; None after a rollback, which reads nothing.
        Runs, rounds of a watch, replays of rejects, repairs and rollbacks commit.  An exception
        here becomes a remark, and harms nothing.
        """
