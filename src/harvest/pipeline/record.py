"""The record of a run: user, time, inputs, plugins, settings and counts.

It is stored with the dataset. ``harvest verify --repair`` and ``harvest rejects --replay`` use it
to read inputs again. It contains no secrets: sources redact their locations, and secret settings
are hidden.
"""

from __future__ import annotations

import getpass
import hashlib
import os
import re
import socket
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import orjson

from harvest.api.sink import Sink
from harvest.api.source import Source
from harvest.errors import DatasetError
from harvest.plugins.registry import PluginManager
from harvest.recipes.endpoints import SourceUse
from harvest.recipes.recipe import Endpoint, Recipe, is_since_last, run_options
from harvest.storage.commit import RUNS
from harvest.storage.manifest import GIVEN_UP, Manifest
from harvest.storage.part import Part, plain
from harvest.storage.target import manifest_of
from harvest.toolkit.plain import read_plain
from harvest.toolkit.texts import printable

from .exporting import without_password
from .result import account_of

if TYPE_CHECKING:
    from .prepare import PreparedRun

HIDDEN = "***"
"""Placeholder for the value of a secret setting."""

_SECRET = re.compile(r"password|passwd|passphrase|secret|token|credential|api_?key|private_?key")


def describe_run(
    prepared: PreparedRun,
    run: str,
    started: datetime,
    sink: Sink,
    parts: Collection[Part],
    counts: Mapping[str, int],
) -> bytes:
    """Encode the record of a run that harvested; counts: parts that it replaced and dropped."""
    recipe, uses = prepared.recipe, prepared.uses
    sources = [use.source for use in uses]
    account = account_of(parts, ())
    return _encode(
        {
            **_of_run(run, prepared.action, started),
            "sources": [
                {**described(use), **({"plugin": printable(use.plugin)} if use.plugin else {})}
                for use in uses
            ],
            "redacted": sorted({s.name for s in sources if s.redact(s.location) != s.location}),
            "source_plugins": {use.source.name: use.version for use in uses},
            "sink": {"name": sink.name, "location": printable(_absolute(sink.location))},
            "plugins": sorted({part.plugin for part in parts}),
            "settings": _without_secrets(recipe.settings, sources),
            **{
                field.name: getattr(recipe, field.name)
                for field in run_options().values()
                if field.metadata["recorded"]
            },
            "force": prepared.force,
            "no_files": {printable(path): kind for path, kind in prepared.no_files.items()},
            "partitions": len(parts),
            **counts,
            "exit_code": 3 if account.rejected else 0,
            "account": plain(list(account.sources.values())),
        }
    )


def read_record(sink: Sink, manifest: Manifest, run: str) -> dict[str, Any]:
    """Read a run's record; raise DatasetError if it is missing, damaged or given up."""
    path = sink.state / RUNS / f"{run}.json"
    expected = manifest.records.get(run)
    if expected == GIVEN_UP:
        raise _no_record(path, "was lost, and given up")
    try:
        data = read_plain(path)
        record: dict[str, Any] = orjson.loads(data)
    except FileNotFoundError as error:
        raise _no_record(path, "is missing") from error
    except DatasetError as error:
        raise _no_record(path, f"cannot be read: {error.message}") from error
    except orjson.JSONDecodeError as error:
        raise _no_record(path, "is damaged") from error
    if expected is not None and hashlib.sha256(data).hexdigest() != expected:
        raise _no_record(path, "is damaged (checksum)")
    return record


def _no_record(path: Path, what: str) -> DatasetError:
    remedy = "what it read must be named again: harvest run --force -s NAME:LOCATION ..."
    return DatasetError(f"the record of a run {what}", where=str(path), remedy=remedy)


def without_secrets(recipe: Recipe, plugins: PluginManager) -> Recipe:
    """Return the recipe for display: redact locations and hide secret settings.

    A location whose source is unknown or still to be detected is redacted by every source.
    """
    own = [_class(endpoint, plugins) for endpoint in recipe.sources]
    known = plugins.sources
    names = known if None in own else recipe.settings.keys() & known.keys()
    classes = [*filter(None, own), *(plugins.source(name) for name in names)]

    def redact(endpoint: Endpoint, cls: type[Source] | None) -> Endpoint:
        if cls is not None:
            return attrs.evolve(endpoint, location=cls.redact(endpoint.location))
        whole = str(endpoint)  # the name may be the scheme of a URI
        for each in classes:
            whole = each.redact(whole)
        return attrs.evolve(endpoint, location=whole.removeprefix(f"{endpoint.name}:"))

    exports = [without_password(text) for text in recipe.export]
    return attrs.evolve(
        recipe,
        sources=tuple(map(redact, recipe.sources, own)),
        settings=_without_secrets(recipe.settings, classes),
        # if there is nothing to hide, keep the same list or tuple: callers compare recipes
        export=recipe.export if exports == list(recipe.export) else exports,
    )


def _class(endpoint: Endpoint, plugins: PluginManager) -> type[Source] | None:
    if endpoint.made is not None:
        return type(endpoint.made)
    if endpoint.plugin is not None:
        cls: type[Source] = plugins.load(plugins.find_of("source", endpoint.plugin, endpoint.name))
        return cls
    known = endpoint.name is not None and endpoint.name in plugins.sources
    return plugins.source(str(endpoint.name)) if known else None


def described(use: SourceUse) -> dict[str, str]:
    """Describe a source for a record: its name and its redacted location."""
    source = use.source
    location = _absolute(source.location) if use.pipe is None else use.pipe.location
    return {"name": source.name, "location": printable(source.redact(location))}


def describe_rollback(
    *, run: str, started: datetime, sink: Sink, to: str, counts: Mapping[str, int]
) -> bytes:
    """Encode the record of a run that rolled back to run ``to``; counts as in ``describe_run``."""
    document = {
        **_of_run(run, "rollback", started),
        "to": to,
        "sources": [],
        "sink": {"name": sink.name, "location": printable(_absolute(sink.location))},
        "plugins": [],
        "settings": {},
        **counts,
        "exit_code": 0,
        "account": [],
    }
    return _encode(document)


def _of_run(run: str, action: str, started: datetime) -> dict[str, str]:
    return {
        "run": run,
        "action": action,
        "started": started.isoformat(),
        "ended": datetime.now(UTC).isoformat(),
        "user": _user(),
        "host": socket.gethostname(),
        "harvest": version("hpc-harvest"),
    }


def recipe_of(record: Mapping[str, Any], sink: Endpoint, more: Mapping[str, Any]) -> Recipe:
    """Build the recipe in a run's record, for this sink; ``more`` settings override its own."""
    settings = Recipe(settings=record["settings"]).merged(settings=more).settings
    for source in record["sources"]:
        if source["name"] in record["redacted"]:
            raise DatasetError(
                f"run {record['run']} read {source['name']}:{source['location']} with a secret, "
                "which is not kept",
                remedy="use `harvest run --force` with the full location",
            )
    for name, values in settings.items():
        for key, value in values.items():
            if value == HIDDEN:
                raise DatasetError(
                    f"run {record['run']} had a secret setting {name}.{key}, which is not kept",
                    remedy=f"give it with --set {name}.{key}=VALUE",
                )
    return Recipe(
        sources=tuple(Endpoint(s["name"], s["location"]) for s in record["sources"]),
        sinks=(sink,),
        settings=settings,
        limit=record["limit"],
        schema_drift=record.get("schema_drift", "evolve"),
    )


def _without_secrets(
    settings: Mapping[str, Mapping[str, Any]], sources: Iterable[Source | type[Source]]
) -> dict[str, dict[str, Any]]:
    """Return settings with the secret ones hidden.

    A setting is secret if its field (``metadata={"secret": True}``) or its name says so.
    """
    declared = {
        (source.name, field.name)
        for source in sources
        for field in attrs.fields(source.Config)
        if field.metadata.get("secret")
    }

    def hide(name: str, key: str, value: Any) -> Any:
        field = key.replace("-", "_").partition(".")[0]
        if (name, field) in declared or _SECRET.search(key.lower().replace("-", "_")):
            return HIDDEN
        return value

    return {
        name: {key: hide(name, key, value) for key, value in values.items()}
        for name, values in settings.items()
    }


def _absolute(location: str) -> str:
    path = Path(location).expanduser()
    return os.path.abspath(path) if path.exists() else location  # noqa: PTH100 - keeps links


def _encode(document: Mapping[str, Any]) -> bytes:
    return orjson.dumps(document, option=orjson.OPT_INDENT_2, default=str)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # an account without a name
        return str(os.getuid())


def last_day(uses: Sequence[SourceUse], sinks: Sequence[Sink]) -> date | None:
    """Return the local day of the last run of these sources into these datasets.

    For several pairs, returns the earliest day. Returns None if a source was never read into a
    dataset, or if that is unknown because a run's record was given up. Runs that looked at only
    some inputs do not count, except runs with ``--since last``.
    """
    days = [_last_day(use, sink) for use in uses for sink in sinks]
    return None if None in days else min(filter(None, days), default=None)


def _last_day(use: SourceUse, sink: Sink) -> date | None:
    manifest = manifest_of(sink)
    runs = manifest.runs
    # a run whose record was given up may have been a rollback: stop there
    while runs and manifest.records.get(runs[-1]) != GIVEN_UP:
        record = read_record(sink, manifest, runs[-1])
        runs = runs[:-1]
        if record["action"] == "rollback":  # runs after that state no longer count
            runs = runs[: runs.index(record["to"]) + 1]
        elif _looked_at_all(record) and described(use) in [
            {"name": source["name"], "location": source["location"]} for source in record["sources"]
        ]:
            return datetime.fromisoformat(record["started"]).astimezone().date()
    return None


def _looked_at_all(record: dict[str, Any]) -> bool:
    since = record.get("since")
    some = record.get("changed") or record["limit"] or not (since is None or is_since_last(since))
    return record["action"] == "run" and not some
