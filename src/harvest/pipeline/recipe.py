"""What a run is asked to do: from the command line, from a recipe file, and back to one.

A recipe is TOML::

    [run]
    workers = 4

    [[source]]
    name = "mofka-dask"
    location = "runs/R1"

    [[sink]]
    name = "parquet"
    location = "out"

    [set.mofka-dask]
    timezone = "America/Chicago"
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import tomli_w

from harvest.errors import ConfigError, UsageError, suggestion

__all__ = ["Endpoint", "Recipe", "load_recipe", "parse_setting"]

ON_ERROR = ("reject", "fail")
DELETED = ("keep", "drop")
SCHEMA_DRIFT = ("evolve", "freeze", "reject")


@attrs.frozen
class Endpoint:
    """A source or a sink of a run: name (None: to be detected) and location."""

    name: str | None
    location: str

    def __str__(self) -> str:
        return f"{self.name}:{self.location}" if self.name else self.location


@attrs.frozen(kw_only=True)
class Recipe:
    """Everything a run needs to know.

    settings: plugin name -> key -> value.
    workers: None for as many as make sense on this machine.
    max_rejects, limit: None for no bound.
    deleted: what becomes of rows whose input is gone: keep or drop.
    keep_runs: earlier states that the dataset keeps; None for as many as it did before.
    schema_drift: what becomes of columns that are not those of the dataset: evolve, freeze, reject.
    """

    sources: tuple[Endpoint, ...] = ()
    sinks: tuple[Endpoint, ...] = ()
    settings: Mapping[str, Mapping[str, Any]] = attrs.field(factory=dict)
    engine: str = "local"
    workers: int | None = attrs.field(default=None)
    on_error: str = "reject"
    max_rejects: int | None = None
    limit: int | None = None
    deleted: str = "keep"
    keep_runs: int | None = None
    schema_drift: str = "evolve"

    def __attrs_post_init__(self) -> None:
        if self.on_error not in ON_ERROR:
            raise ConfigError(f"on-error {self.on_error!r} is unknown", remedy="use reject or fail")
        if self.deleted not in DELETED:
            raise ConfigError(f"deleted {self.deleted!r} is unknown", remedy="use keep or drop")
        if self.schema_drift not in SCHEMA_DRIFT:
            raise ConfigError(
                f"schema-drift {self.schema_drift!r} is unknown",
                remedy="use evolve, freeze or reject",
            )
        for name, least in (("workers", 1), ("max_rejects", 0), ("limit", 1), ("keep_runs", 0)):
            value = getattr(self, name)
            if value is None:
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                option = name.replace("_", "-")
                raise ConfigError(f"{option} {value!r} is not a whole number of at least {least}")

    def merged(self, **changes: Any) -> Recipe:
        """This recipe with what the command line says on top; None and empty say nothing."""
        given = {k: v for k, v in changes.items() if v is not None and v != () and v != {}}
        settings = {name: dict(values) for name, values in self.settings.items()}
        for name, values in given.pop("settings", {}).items():
            settings.setdefault(name, {}).update(values)
        return attrs.evolve(self, settings=settings, **given)

    def to_toml(self) -> str:
        """The recipe as TOML that ``load_recipe`` reads back to an equal one."""
        document: dict[str, Any] = {}
        blank = Recipe()
        run = {
            name.replace("_", "-"): getattr(self, name)
            for name in (key.replace("-", "_") for key in _RUN_KEYS)
            if getattr(self, name) is not None and getattr(self, name) != getattr(blank, name)
        }
        if run:
            document["run"] = run
        for key, endpoints in (("source", self.sources), ("sink", self.sinks)):
            if endpoints:
                document[key] = [
                    {k: v for k, v in attrs.asdict(e).items() if v is not None} for e in endpoints
                ]
        if self.settings:
            document["set"] = {name: dict(values) for name, values in self.settings.items()}
        return tomli_w.dumps(document)


_RUN_KEYS = {
    "engine": str,
    "workers": int,
    "on-error": str,
    "max-rejects": int,
    "limit": int,
    "deleted": str,
    "keep-runs": int,
    "schema-drift": str,
}


def load_recipe(path: Path) -> Recipe:
    """Read a recipe; raises ConfigError naming what is wrong in it."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise UsageError(f"the recipe cannot be read: {error.strerror}", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise ConfigError("the recipe is not UTF-8 text", where=str(path)) from error
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"invalid TOML: {error}", where=str(path)) from error
    _check_keys(document, ("run", "source", "sink", "set"), path, "table")
    run = document.get("run", {})
    _check_keys(run, tuple(_RUN_KEYS), path, "key of [run]")
    for key, kind in _RUN_KEYS.items():
        if key in run and (not isinstance(run[key], kind) or isinstance(run[key], bool)):
            raise ConfigError(
                f"[run] {key} = {run[key]!r} is not of type {kind.__name__}", where=str(path)
            )
    settings = document.get("set", {})
    for name, values in settings.items():
        if not isinstance(values, dict):
            raise ConfigError(f"[set.{name}] must be a table", where=str(path))
    try:
        return Recipe(
            sources=_endpoints(document.get("source", []), "source", path),
            sinks=_endpoints(document.get("sink", []), "sink", path),
            settings={name: _flat(values) for name, values in settings.items()},
            **{key.replace("-", "_"): value for key, value in run.items()},
        )
    except ConfigError as error:
        raise ConfigError(error.message, where=str(path), remedy=error.remedy) from error


def _flat(values: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested tables as dotted keys, the way the command line spells them."""
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
        _check_keys(item, ("name", "location"), path, f"key of [[{kind}]]")
        if not isinstance(item.get("location"), str):
            raise ConfigError(f"a [[{kind}]] needs a location", where=str(path))
        made.append(Endpoint(item.get("name"), item["location"]))
    return tuple(made)


def _check_keys(table: Mapping[str, Any], names: Sequence[str], path: Path, what: str) -> None:
    for key in table:
        if key not in names:
            raise ConfigError(
                f"there is no {what} {key!r}", where=str(path), remedy=suggestion(key, names)
            )


def parse_setting(text: str) -> tuple[str, str, str]:
    """Split ``NAME.KEY=VALUE``; raises ConfigError when it is none."""
    key, equals, value = text.partition("=")
    name, dot, rest = key.partition(".")
    if not (equals and dot and name and rest):
        raise ConfigError(
            f"{text!r} is not a setting", remedy="write NAME.KEY=VALUE, e.g. slurm.timezone=UTC"
        )
    return name, rest, value
