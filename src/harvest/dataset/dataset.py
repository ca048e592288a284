"""Open a dataset, and query its record types, views and SQL."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import polars as pl

from harvest.api.sink import KEPT, PartFile, Sink
from harvest.dataset.holdings import accounts_of, rows_by_type
from harvest.errors import (
    DatasetChanged,
    DatasetError,
    PluginError,
    UnknownTypeError,
    UsageError,
    suggestion,
)
from harvest.findings import Verdict, evaluate
from harvest.model import RecordType
from harvest.model.types import as_recorded
from harvest.pipeline.drift import recorded_types
from harvest.pipeline.exporting import announcing
from harvest.pipeline.rollback import keep_runs, roll_back
from harvest.plugin_code import contained
from harvest.plugins.building import call, names_for
from harvest.plugins.registry import PluginManager, manager
from harvest.storage.files import link_on_the_way
from harvest.storage.history import changed, kept_bytes, located
from harvest.storage.manifest import HISTORY, NAME, Manifest, is_in_force
from harvest.toolkit.amounts import count_in_words
from harvest.toolkit.plain import is_plain, odd
from harvest.toolkit.steps import step
from harvest.toolkit.texts import shell_word

from .description import Description, Nowhere, describe
from .holdings import Holding, holdings, read_runs, settings_used, summary, to_html
from .report import build_report
from .sql import queries as run_queries
from .verify import Problem, problems_of


def open(  # noqa: A001 - harvest.open(...) reads well
    location: str | os.PathLike[str], *, plugins: PluginManager | None = None
) -> Dataset:
    """Open the dataset at a location: the directory or file that a sink wrote.

    >>> ds = harvest.open("out")  # doctest: +SKIP
    >>> ds["dask.transfer"].collect()  # doctest: +SKIP

    Raises DatasetError if no dataset exists, or its manifest is damaged.
    """
    plugins = plugins or manager()
    path = Path(location).expanduser().absolute()
    for state in states_of(path):
        manifest = Manifest.load(state)
        if manifest is not None:
            cls = plugins.sink(manifest.sink)
            return Dataset(cls.configured(path), manifest, plugins)
    raise _no_dataset(path)


def state_at(path: Path) -> Path:
    """Return a dataset's state directory, even if damaged; raise DatasetError as ``open``."""
    for state in states_of(path):
        if os.path.lexists(state / NAME) or any(state.glob(f"{HISTORY}/*.json")):
            return state
    raise _no_dataset(path)


def _no_dataset(path: Path) -> DatasetError:
    if not path.exists():
        return DatasetError("no such dataset", where=str(path), remedy="check the path")
    problem = "this is not a dataset: it has no _harvest manifest"
    remedy = "name the directory or file that `harvest run --sink` wrote"
    return DatasetError(problem, where=str(path), remedy=remedy)


def states_of(path: Path) -> tuple[Path, Path]:
    """Return the possible state directories: inside the dataset, or next to its file."""
    return path / "_harvest", Path(f"{path}._harvest")


class Exported(list[Path]):
    """The files of an export; ``text`` describes an export without files, and is else empty."""

    text: str = ""


class Dataset:
    """The committed rows of one sink, read-only, in the state in which it was opened.

    ``dataset["dask.transfer"]`` is a polars LazyFrame. Iteration yields the names of the record
    types that have rows. After later commits, this state stays readable while it is kept; then
    reading raises DatasetChanged.

    sink: the sink that wrote it, with its ``location``.
    manifest: ``token`` identifies the commit of this state, ``runs`` lists all runs, oldest first.
    plugins: the plugins that read it: ``sources`` by name, the class ``source(name)``, all
        ``record_types()`` by name, and ``broken`` plugins by name, with cause and remedy.
    """

    def __init__(self, sink: Sink, manifest: Manifest, plugins: PluginManager):
        self.sink = sink
        self.manifest = manifest
        self.plugins = plugins
        # caches: a view reads the same record types repeatedly
        self._files: dict[str, list[PartFile]] = {}
        self._kinds: dict[str, RecordType] = {}

    @classmethod
    def blank(cls, plugins: PluginManager | None = None) -> Dataset:
        """Return a dataset without rows or location, in which views show their columns."""
        sink = Nowhere("nowhere")
        manifest = Manifest(sink=sink.name, location=sink.location)
        return Dataset(sink, manifest, plugins or manager())

    def __repr__(self) -> str:
        kinds = self.record_types
        rows = count_in_words(sum(kinds.values()), "row")
        held = count_in_words(len(kinds), "record type")
        return f"<Dataset {str(self.sink.location)!r}: {rows} of {held}>"

    def _repr_html_(self) -> str:
        return to_html(self)

    @property
    def record_types(self) -> dict[str, int]:
        """Number of rows of each record type in the dataset."""
        return self.manifest.record_types()

    @property
    def notes(self) -> list[str]:
        """Notes that sources made while reading, each with its input."""
        noted = self.manifest.parts.with_notes()
        return [f"{part.origin}: {note}" for part in noted for note in part.notes]

    def holdings(self) -> list[Holding]:
        """Return for each record type its rows, origins, sources, and first and last time.

        >>> [(held.record_type, held.rows) for held in ds.holdings()]  # doctest: +SKIP
        [('dask.transfer', 24), ('dask.worker', 4)]
        """
        with self.reading():
            return holdings(self)

    def accounts(self) -> pl.DataFrame:
        """Return one row per partition, in the dataset's order, with these columns.

        source, origin: the source and its input; plugin, run: the plugin's version, and the run.
        written: number of rows; rejected: number of unreadable units; failed: whether all were.
        """
        return accounts_of(self.manifest.parts).drop("rows")

    def unread(self, kinds: Collection[str] = ()) -> tuple[str, ...]:
        """Say in a line how many input units could not be read; no line if all were read.

        kinds: only units that may hold these record types; without any, all units.
        """
        if not self.manifest.parts.total("rejected"):
            return ()
        brings = {source for kind in kinds for source in self.plugins.sources_of(kind)}
        others = self.plugins.sources.keys() - brings if kinds else ()
        concerned = ~pl.col("source").is_in(list(others))
        count = int(self.accounts().filter(concerned)["rejected"].sum())
        command = f"harvest rejects {shell_word(str(self.sink.location))}"
        units = count_in_words(count, "input unit")
        return (f"{units} could not be read: {command}",) if count else ()

    @property
    def parts(self) -> list[Any]:
        """The partitions of the dataset, with their accounts."""
        return list(self.manifest)

    def parts_in(self, files: Iterable[PartFile]) -> Iterator[Any]:
        """Yield the partitions that have rows in these files, in the dataset's order."""
        keys = self.manifest.files.users_of({file.path for file in files})
        return self.manifest.parts.at(self.manifest.parts.rows_picked(keys))

    def __iter__(self) -> Iterator[str]:
        return iter(self.record_types)

    def __contains__(self, name: object) -> bool:
        return self.record_types.get(str(name), 0) > 0

    def __getitem__(self, name: str) -> pl.LazyFrame:
        """Return all rows of a record type, in the dataset's order.

        Raises UnknownTypeError, a KeyError, when no installed plugin declares the type.
        """
        return self.rows_of(name, self.files(name))

    def rows_of(self, name: str, files: Sequence[PartFile]) -> pl.LazyFrame:
        """Return the rows of a record type in some of its ``files``, in the order given."""
        step(f"reading {name}")
        kind = self.record_type(name)
        with self.reading():
            now = self._other_state()
            while True:
                there = files if now is None else located(self.sink, files, now)
                frame = self.sink.scan(there, kind)
                before, now = now, self._other_state()
                # a commit in between may have replaced files: locate them again
                if (before and before.token) == (now and now.token):
                    return frame

    def is_current(self) -> bool:
        """Return whether the opened state is the current state."""
        return self._other_state() is None

    def _other_state(self) -> Manifest | None:
        """Return the manifest in force if a commit has replaced the opened state, else None."""
        if is_in_force(self.manifest, self.sink.state):
            return None
        now = Manifest.load(self.sink.state)
        return None if now is None or now.token == self.manifest.token else now

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Raise DatasetChanged if reading fails since a commit removed files of this state."""
        try:
            with contained():
                yield
        except Exception as error:
            if isinstance(error, UsageError | DatasetChanged) or self.is_current():
                raise
            raise changed(self.sink) from error

    def record_type(self, name: str) -> RecordType:
        """Return a declared record type; raise UnknownTypeError, a KeyError, for an unknown one.

        A column has the dataset's type if that type has values which the declared type lacks.
        """
        if name in self._kinds:
            return self._kinds[name]
        known = self.plugins.record_types([name])
        if name not in known:
            names = self.plugins.record_type_names()
            raise UnknownTypeError(
                f"no installed plugin declares the record type {name!r}",
                remedy=self._plugin_for(name) or self.plugins.remedy(name, names, "record type"),
            )
        recorded = recorded_types(self.manifest, name)
        self._kinds[name] = as_recorded(known[name], recorded) if recorded else known[name]
        return self._kinds[name]

    def _plugin_for(self, name: str) -> str:
        """Say how to get the plugin that wrote a record type's rows; empty without rows."""
        held = rows_by_type(accounts_of(self.manifest.parts)).to_dicts()
        plugins = next((row["plugins"] for row in held if row["of"] == name), ())
        if not plugins:
            return ""
        writers = {plugin.rpartition(" ")[0] for plugin in plugins}
        remedy = " or ".join(map(self.plugins.how_to_have, sorted(writers)))
        return f"{remedy}, which wrote its rows{self.plugins.unless_disabled()}"

    def files(self, name: str) -> list[PartFile]:
        """Return committed files with rows of a record type, each once, in the dataset's order."""
        if name not in self._files:
            self._files[name] = self.manifest.files.of_type(name)
        return list(self._files[name])

    def view(self, name: str, /, **settings: Any) -> pl.LazyFrame:
        """Return the rows of a view; settings by name, as the view declares them.

        Raises UsageError for an unknown view, or for an unknown or unsuitable setting.
        """
        with self.reading():
            view = self.plugins.view(name)
            build = self.plugins.load_part(view, view.build, f"the view {name!r}")
            rows = call("view", view, build, (self,), settings)
            if not isinstance(rows, pl.LazyFrame):
                raise PluginError(
                    f"the view {name!r} returned {type(rows).__name__} instead of a LazyFrame",
                    remedy=f"ask the author of {self.plugins.owner(view).distribution}",
                )
            return rows

    def summary(self) -> dict[str, Any]:
        """Return what ``harvest show --json`` prints: rows, inputs, runs, types, views, reports."""
        with self.reading():
            return summary(self)

    def views(self) -> list[str]:
        """Return the names of views that this dataset can serve, those with complete data first."""
        return names_for(self.plugins.views, self)

    def describe(self, name: str, /, **settings: Any) -> Description:
        """Describe the columns of a record type, or of a view with these settings.

        >>> ds.describe("dask.tasks")  # doctest: +SKIP

        Raises UsageError for an unknown name, or for a setting that the view does not have.
        """
        return describe(self, name, settings)

    def report(self, name: str, /, **settings: Any) -> Any:
        """Build a report on this dataset; settings by name, as the report declares them.

        Returns a ``harvest_report.Report``, or the plugin's own class.

        Raises UsageError for an unknown report, or for an unknown or unsuitable setting. Raises
        DatasetError if the dataset lacks the record types that the report reads.
        """
        with self.reading():
            return build_report(self, name, settings)

    def export(self, name: str, target: str | os.PathLike[str], /, **settings: Any) -> Exported:
        """Write the dataset in another form, as ``harvest export`` does; return the files.

        name: name of the exporter; settings by name, as it declares them.

        >>> ds.export("ro-crate", "crate", license="CC-BY-4.0")  # doctest: +SKIP

        Raises UsageError for an unknown exporter, an unknown or unsuitable setting, or a target to
        which it does not write.
        """
        with self.reading():
            exporter = self.plugins.exporter(name)
            given = (self, os.fspath(target))
            written = call("exporter", exporter, exporter.write, given, settings)
            files = Exported([] if isinstance(written, str) else sorted(map(Path, written)))
            files.text = written if isinstance(written, str) else ""
            return files

    def findings(
        self,
        rules: Iterable[str] | None = None,
        *,
        thresholds: Mapping[str, Mapping[str, float]] | None = None,
        **settings: Any,
    ) -> Verdict:
        """Check the rules of installed plugins; return their findings, each with its evidence.

        rules: names of the rules to check; by default all.
        thresholds: by rule and name, instead of the declared ones.
        settings: settings of views, for example ``run``; each is passed to the views that have it.

        Raises UsageError for an unknown rule or threshold, a setting that no view has, or settings
        for which all rules lack data.
        """
        chosen = [self.plugins.rule(name) for name in rules or self.plugins.rules]
        views = [self.plugins.views[r.view] for r in chosen if r.view in self.plugins.views]
        for key in settings:
            if not any(key in view.settings for view in views):
                raise UsageError(
                    f"no view that these rules look at has a setting {key!r}",
                    remedy=suggestion(key, {name for view in views for name in view.settings}),
                )
        with self.reading():
            verdict = evaluate(
                self, self.plugins, rules=chosen, thresholds=thresholds, settings=settings
            )
        if settings and verdict.unjudged and not (verdict.found or verdict.passed):
            raise UsageError(verdict.unjudged[0][1], where=", ".join(settings))
        return verdict

    def sql(
        self, query: str, *, settings: Mapping[str, Mapping[str, Any]] | None = None
    ) -> pl.DataFrame:
        """Return the result of an SQL query, with record types and views as tables.

        Names contain a dot, so write them in quotes or as ``schema.table``: ``"dask.transfer"`` or
        ``dask.transfer``; ``show tables`` lists them. Needs the extra ``sql`` (duckdb).

        settings: settings of views, by the view's name: ``{"dask.tasks": {"run": "R1"}}``.
        """
        found = self.sql_all(query, settings=settings)
        if len(found) != 1:
            remedy = "make one call per query"
            raise UsageError(f"{len(found)} statements where one query is expected", remedy=remedy)
        return found[0]

    def sql_all(
        self, queries: str, *, settings: Mapping[str, Mapping[str, Any]] | None = None
    ) -> list[pl.DataFrame]:
        """Return the results of several SQL queries, separated by semicolons; see ``sql``."""
        with self.reading():
            return run_queries(self, queries, settings or {})

    def rejects(self) -> Iterator[dict[str, Any]]:
        """Yield every unreadable input unit: source, origin, position, raw, reason."""
        for part in self.manifest.parts.with_rejects():
            yield from self.rejects_of(part)

    def rejects_of(self, part: Any) -> Iterator[dict[str, Any]]:
        """Yield the rejects of one partition, given as an element of ``parts``."""
        if part.rejects is None:
            return
        places = [part.rejects.path, f"{KEPT}/{part.rejects.sha256}"]
        path = next((p for p in places if is_plain(self.sink.state / p)), places[0])
        with self.reading():
            link = link_on_the_way(self.sink.state, path)
            if link is not None:
                raise odd(link, "a symbolic link, which may lead out of the dataset")
            read_rejects = resolve_name("harvest.storage.rejects:read_rejects")  # few ask for them
            rows = read_rejects(self.sink.state / path, part.rejects.size_bytes)
        while True:
            with self.reading():  # not while the caller prints what it gets
                some = list(itertools.islice(rows, 256))
            if not some:
                return
            yield from some

    def runs(self, skip: int = 0) -> list[dict[str, Any]]:
        """Return records of runs, oldest first without ``skip`` of them, with their states."""
        return read_runs(self.sink, self.manifest, skip)

    def keep_runs(self, count: int, *, wait_s: float = 0) -> None:
        """Keep ``count`` earlier states from now on; remove older ones immediately.

        wait_s: seconds to wait for another run on the dataset to end.
        """
        keep_runs(self.sink, count, wait_s=wait_s)

    def kept_bytes(self) -> int:
        """Return the size of the kept earlier states in bytes."""
        return kept_bytes(self.sink.state)

    def harvested_with(self, source: str, setting: str) -> list[Any]:
        """Return the values of a source's setting when its rows in this dataset were harvested.

        Each value occurs once, in the order of the runs. If the setting was not given, its default
        counts. Raises DatasetError when the record of a run is missing or damaged.
        """
        config = self.plugins.source(source).Config
        return settings_used(self.sink, self.manifest, source, setting, config)

    def verify(self) -> list[str]:
        """Check all files; return a sentence for each problem, an empty list if there are none."""
        return [problem.text for problem in self.problems()]

    def problems(self) -> list[Problem]:
        """Check all files; return the problems, each with a ``text`` that names the file.

        `harvest verify --repair` cannot fix a problem that is ``lasting``. All files are read
        twice, to verify checksums and to count rows. Unfinished work of a run in progress is not
        checked.
        """
        return problems_of(self)[0]

    def replay(self, **which: Any) -> Any:
        """Read partitions with rejects again, as ``harvest rejects --replay`` does.

        source, reason: only rejects of this source, or whose reason contains this text.
        settings: override those of the first run; wait_s: as for ``rollback``.
        Returns the numbers of rejects ``before`` and ``left``, and ``again``: its ``result`` is the
        RunResult, and ``gone`` has the parts whose input is gone, each with the reason.
        """
        return resolve_name("harvest.dataset.repair:replay")(self, **which)  # imports this module

    def rollback(self, run: str, *, wait_s: float = 0) -> str | None:
        """Restore the state that an earlier run left, as ``harvest rollback`` does.

        wait_s: seconds to wait for another run on the dataset to end.
        Returns the id of the new run, or None if that state is already in force. This object keeps
        the state in which it was opened.
        Raises DatasetError if the state is not kept, or one of its files is damaged.
        """
        with announcing(self.plugins) as committed:
            made = roll_back(self.sink, run, wait_s=wait_s)
            if made is not None:
                committed(self.sink, None)
            return made
