"""The recipe of a run, from the command line or a recipe file, and its form as TOML.

``docs/how-to/recipe.md`` shows a recipe.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from pathlib import Path
from typing import Any, Final

import attrs
import tomli_w

import harvest.plugins
from harvest.errors import ConfigError, UsageError, suggestion
from harvest.reading.pipes import STDIN, Pipe, names_pipe
from harvest.toolkit.texts import printable_line

DELETED: Final = ("keep", "drop")

_TABLES: Final = ("run", "source", "sink", "set")  # and those of plugins' commands
_KEYS: Final = ("plugin", "name", "location")
"""Keys of a source or sink in a recipe."""


@attrs.frozen
class Endpoint:
    """A source or sink of a run: name (None: to be detected) and location.

    plugin: distribution, or absolute path of a Python file, that defines the name; None if the name
        is enough. With a file, the name may be a class name, or None if the file has one source or
        sink.
    made: the source or sink object, if a program gives one.
    pipe: the pipe that a source reads, once detected; None for other locations.
    """

    name: str | None
    location: str
    plugin: str | None = None
    made: Any = None
    pipe: Pipe | None = None

    @property
    def reference(self) -> str:
        """Name by which a plugin manager finds the source or sink."""
        return f"{self.plugin}:{self.name}" if self.plugin else str(self.name)

    @property
    def place(self) -> str:
        """Path that a source reads; for a pipe, the file with its content."""
        pipe = self.pipe
        if pipe is not None and pipe.file is not None:
            return str(pipe.file)
        # an input has one path, so that it is not read again under another; behind a link, ..
        # leads to another directory
        path = Path(self.location).expanduser()
        plain = Path(os.path.abspath(path))  # noqa: PTH100 - no link is followed
        known = ".." in path.parts and path.exists() and plain.exists()
        return str(plain) if known and plain.samefile(path) else self.location

    def __str__(self) -> str:
        return f"{self.name}:{self.location}" if self.name else self.location


def _option(
    doc: str,
    metavar: str,
    *,
    kind: Any = str,
    default: Any = None,
    recorded: bool = True,
    **more: Any,
) -> Any:
    """Declare an option of a run.

    recorded: whether the run's record contains it; more: limits for ``_check``.
    """
    said = {"kind": kind, "doc": doc, "metavar": metavar, "recorded": recorded, **more}
    return attrs.field(default=default, validator=_check, metadata=said)


def _word(doc: str, *words: str) -> Any:
    """Declare an option of a run that takes one of these words; the first is the default."""
    return _option(doc, "|".join(words), default=words[0], words=words)


def _number(doc: str, *, metavar: str = "N", least: int, recorded: bool = True) -> Any:
    """Declare an option of a run that is a whole number of at least ``least``, or None."""
    return _option(doc, metavar, kind=int, least=least, recorded=recorded)


def _check(_: Recipe, field: attrs.Attribute[Any], value: Any) -> None:
    words, kind = field.metadata.get("words"), field.metadata["kind"]
    option = f"{field.name.replace('_', '-')} {value!r}"
    if words and value not in words:
        remedy = f"use {', '.join(words[:-1])} or {words[-1]}"
        raise ConfigError(f"{option} is unknown", remedy=remedy)
    if value is None:
        return
    if kind is int:
        least = field.metadata["least"]
        if type(value) is not int or value < least:
            raise ConfigError(f"{option} is not a whole number of at least {least}")
        if value.bit_length() > 63:
            raise ConfigError(f"{option} does not fit into 64 bits")
        return
    texts = [value] if kind is str else value
    listed = isinstance(texts, list | tuple)
    if not (listed and all(isinstance(text, str) for text in texts)):
        raise ConfigError(f"{option} is not {'text' if kind is str else 'a list of texts'}")


@attrs.frozen(kw_only=True)
class Recipe:
    """All settings of a run.

    Each option of a run is declared only here, with its help and its valid values. The command
    line, recipe files, the record of a run and the documentation derive from it.

    settings: plugin name -> key -> value.
    commands: what tables of a recipe file hold for plugins' commands: command -> key -> value.
    """

    sources: tuple[Endpoint, ...] = ()
    sinks: tuple[Endpoint, ...] = ()
    settings: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    commands: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    engine: str = _option(
        "Where inputs are read: local (the default), dask, slurm, or an engine of a plugin.",
        "NAME",
        default="local",
    )
    workers: int | None = _number(
        "Worker processes. [default: chosen by CPUs and input size]", least=1
    )
    on_error: str = _word(
        "What to do with unreadable input: reject (the default: keep it aside, go on) or fail.",
        "reject",
        "fail",
    )
    max_rejects: int | None = _number("Commit nothing if there are more rejects.", least=0)
    limit: int | None = _number("Read at most so many rows per source.", metavar="ROWS", least=1)
    deleted: str = _word("Rows whose input is gone: keep (the default) or drop.", *DELETED)
    keep_runs: int | None = _number(
        "How many earlier states to keep for `harvest rollback`. [default: as before, at first 1]",
        least=0,
        recorded=False,
    )
    schema_drift: str = _word(
        "When columns differ from the dataset's: evolve (the default: add or widen columns), "
        "freeze (put new columns into 'extra') or reject (refuse the run).",
        *("evolve", "freeze", "reject"),
    )
    since: str | None = _option(
        "Skip directories named for an earlier day (YYYY/M/D, YYYY-MM-DD, YYYYMMDD): "
        "2026-11-03, 7d (days ago), last (day of the last run) or last-7d. Their rows stay.",
        "DAY",
    )
    changed: str | None = _option(
        "Read only the files of this list (one per line, or ended by NUL). Other rows stay.", "LIST"
    )
    export: Sequence[str] = _option(
        "Export the dataset afterwards, as `harvest export` does. Repeatable.",
        "NAME:TARGET",
        kind=list[str],
        default=(),
        recorded=False,
    )

    def __attrs_post_init__(self) -> None:
        if self.since is not None and not (is_since_last(self.since) or day_of(self.since)):
            raise ConfigError(
                f"since {self.since!r} is not a day", remedy="write 2026-11-03, 7d or last"
            )
        given = [name for name in ("since", "changed") if getattr(self, name) is not None]
        if len(given) > 1:
            raise ConfigError("since and changed exclude each other", remedy="give one of them")
        if given and self.deleted == "drop":
            raise ConfigError(
                f"deleted 'drop' needs a list of all inputs, and {given[0]!r} limits it",
                remedy="leave out --deleted drop here; use it in a run over all inputs",
            )

    @classmethod
    def load(cls, path: str | Path) -> Recipe:
        """Read a recipe file; raise ConfigError for an error in it, UsageError if unreadable."""
        path = Path(path)
        try:
            text = path.read_text(encoding="utf-8-sig")
        except OSError as error:
            problem = f"the recipe cannot be read: {error.strerror}"
            raise UsageError(problem, where=str(path), remedy="check the path") from error
        except UnicodeDecodeError as error:
            raise ConfigError("the recipe is not UTF-8 text", where=str(path)) from error
        try:
            document = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"invalid TOML: {error}", where=str(path)) from error
        others = {key: value for key, value in document.items() if key not in _TABLES}
        commands = {name: _of_command(name, table, path) for name, table in others.items()}
        run = _table(document.get("run", {}), "run", path)
        _check_keys(run, tuple(run_options()), path, "key of [run]")
        settings = _table(document.get("set", {}), "set", path)
        try:
            return cls(
                sources=_endpoints(document.get("source", []), "source", path),
                sinks=_endpoints(document.get("sink", []), "sink", path),
                settings={
                    name: _flat(_table(values, f"set.{name}", path))
                    for name, values in settings.items()
                },
                commands=commands,
                **{key.replace("-", "_"): value for key, value in run.items()},
            )
        except ConfigError as error:
            raise ConfigError(error.message, where=str(path), remedy=error.remedy) from error

    def refuse_pipes(self, what: str) -> None:
        """Raise UsageError if a source reads a pipe: ``what`` would read it later or again."""
        for endpoint in self.sources:
            if endpoint.location != STDIN and names_pipe(endpoint.location):
                problem = f"{what} cannot read a pipe, which can be read only once"
                remedy = "save it to a file first and name the file"
                raise UsageError(problem, where=printable_line(endpoint.location), remedy=remedy)

    @property
    def since_last(self) -> bool:
        """Whether the inputs to look at depend on the last run."""
        return self.since is not None and is_since_last(self.since)

    def merged(self, **changes: Any) -> Recipe:
        """Return this recipe with changes, for example from the command line; ignore empty ones."""
        given = {k: v for k, v in changes.items() if v not in (None, (), {}, [])}
        settings = {name: dict(values) for name, values in self.settings.items()}
        for name, values in given.pop("settings", {}).items():
            settings.setdefault(name, {}).update(values)
        return attrs.evolve(self, settings=settings, **given)

    def to_toml(self) -> str:
        """Return the recipe as TOML; ``load`` restores an equal recipe."""
        document: dict[str, Any] = {}
        run = {
            word: value
            for word, field in run_options().items()
            if (value := getattr(self, field.name)) not in (None, field.default)
        }
        if run:
            document["run"] = run
        for key, endpoints in (("source", self.sources), ("sink", self.sinks)):
            if endpoints:
                document[key] = [
                    {k: v for k in _KEYS if (v := getattr(e, k)) is not None} for e in endpoints
                ]
        if self.settings:
            document["set"] = {name: dict(values) for name, values in self.settings.items()}
        return tomli_w.dumps(document | dict(self.commands))


def run_options() -> dict[str, attrs.Attribute[Any]]:
    """Return the recipe's fields that are options of a run, by their words in a recipe file."""
    fields = attrs.fields(Recipe)
    return {field.name.replace("_", "-"): field for field in fields if "kind" in field.metadata}


def _of_command(name: str, table: Any, path: Path) -> Mapping[str, Any]:
    found = _table(table, name, path)
    plugins = harvest.plugins.manager()
    keys = {spec.name: spec.recipe_keys for spec in plugins.commands.values() if spec.recipe_keys}
    if name not in keys:
        remedy = suggestion(name, (*_TABLES, *keys))
        if missing := plugins.missing("command", name):
            remedy += f"; {missing} brings a command of this name"
        raise ConfigError(f"unknown table {name!r}", where=str(path), remedy=remedy)
    _check_keys(found, keys[name], path, f"key of [{name}]")
    return found


def _table(value: Any, name: str, path: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"[{name}] must be a table", where=str(path))
    return value


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten nested tables to dotted keys, as on the command line."""
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, Mapping):
            flat.update(_flat(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def _endpoints(items: Any, kind: str, path: Path) -> tuple[Endpoint, ...]:
    if not isinstance(items, list):
        raise ConfigError(f"write [[{kind}]], with double brackets", where=str(path))
    made = []
    for item in items:
        _check_keys(_table(item, f"[{kind}]", path), _KEYS, path, f"key of [[{kind}]]")
        if not isinstance(item.get("location"), str):
            raise ConfigError(f"a [[{kind}]] needs a location", where=str(path))
        for key in ("plugin", "name"):
            if not isinstance(item.get(key, ""), str):
                raise ConfigError(f"[[{kind}]] {key} = {item[key]!r} is not text", where=str(path))
        plugin = item.get("plugin")
        if plugin is not None and plugin.endswith(".py"):  # relative to the recipe file
            plugin = str(path.absolute().parent / Path(plugin).expanduser())
        made.append(Endpoint(item.get("name"), item["location"], plugin))
    return tuple(made)


def _check_keys(keys: Iterable[str], names: Sequence[str], path: Path, what: str) -> None:
    for key in keys:
        if key not in names:
            raise ConfigError(
                f"unknown {what} {key!r}", where=str(path), remedy=suggestion(key, names)
            )


def parse_setting(text: str) -> tuple[str, str, str]:
    """Split ``NAME.KEY=VALUE``; raise ConfigError for any other form."""
    key, equals, value = text.partition("=")
    name, dot, rest = key.partition(".")
    if not (equals and dot and name and rest):
        raise ConfigError(
            f"{text!r} is not a setting", remedy="write NAME.KEY=VALUE, e.g. slurm.timezone=UTC"
        )
    return name, rest, value


_DAYS_AGO = re.compile(r"([0-9]{1,5})d")
_LAST = re.compile(r"last(?:-([0-9]{1,5})d)?")
_DAY = re.compile(r"([0-9]{4})-([0-9]{2})-([0-9]{2})|([0-9]{4})([0-9]{2})([0-9]{2})")
_NESTED = re.compile(r"([0-9]{4})/([0-9]{1,2})/([0-9]{1,2})")


def day_of(text: str, last: date | None = None) -> date | None:
    """Return the day for ``2026-11-03``, ``7d`` (days ago), ``last`` or ``last-7d``, or None.

    last: the day of the last run.
    """
    ago, before_last = _DAYS_AGO.fullmatch(text), _LAST.fullmatch(text)
    if ago is not None:
        return _earlier(datetime.now().astimezone().date(), int(ago[1]))
    if before_last is not None:
        return None if last is None else _earlier(last, int(before_last[1] or 0))
    found = _DAY.fullmatch(text)
    return _date(found) if found else None


def is_since_last(text: str) -> bool:
    """Return whether a text gives a day relative to the last run."""
    return _LAST.fullmatch(text) is not None


def day_of_directory(path: str) -> date | None:
    """Return the day in a directory's name, or in its name and the two above it; else None."""
    *_, year, month, day = ("", "", "", *path.split("/"))
    found = _DAY.fullmatch(day) or _NESTED.fullmatch(f"{year}/{month}/{day}")
    return _date(found) if found else None


def _earlier(day: date, days: int) -> date:
    return date.fromordinal(max(1, day.toordinal() - days))


def _date(found: re.Match[str]) -> date | None:
    try:
        return date(*(int(text) for text in found.groups() if text is not None))
    except ValueError:
        return None
