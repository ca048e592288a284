"""Check what a plugin declares: parts that can be imported, documentation, types, defaults."""

import inspect
from collections import Counter
from collections.abc import Iterator
from typing import Any

import attrs
import polars as pl

from harvest import ConfigError, PluginError, Rule, Sink, Source
from harvest.commands.declared import columns_of
from harvest.model import RecordTypeError, record_type
from harvest.plugins import PluginManager


def check_plugin(plugins: PluginManager, name: str) -> list[str]:
    """Return the problems of a plugin's declarations, one sentence each."""
    if name in plugins.broken:
        broken = plugins.broken[name]
        return [f"{broken.cause}; {broken.remedy}"]
    problems: list[str] = []
    for kind, base in (("sources", Source), ("sinks", Sink)):
        for spec in owned(plugins, kind, name):
            try:
                cls = plugins.load(spec)
                problems += _check_class(cls, spec, base)
            except PluginError as error:
                problems.append(str(error))
    targets = {"views": "build", "reports": "build", "rules": "judge", "exporters": "write"}
    for kind, attribute in {**targets, "engines": "factory", "commands": "app"}.items():
        for spec in owned(plugins, kind, name):
            problems += _check_target(plugins, spec, attribute)
    for rule in owned(plugins, "rules", name):
        problems += _check_rule(plugins, rule)
    return problems


def _check_rule(plugins: PluginManager, rule: Rule) -> Iterator[str]:
    for name in rule.reports:
        if name not in plugins.reports:
            yield f"{rule.name}: unknown report {name!r}"
    if rule.view not in plugins.views:
        yield f"{rule.name}: unknown view {rule.view!r}"
        return
    try:
        condition = pl.sql_expr(rule.condition({n: t.value for n, t in rule.thresholds.items()}))
    except (KeyError, pl.exceptions.PolarsError) as error:
        yield f"{rule.name}: {rule.among} {rule.where} is not a condition: {error}"
        return
    known = columns_of(plugins.views[rule.view], plugins)
    for name in dict.fromkeys((*condition.meta.root_names(), *rule.columns)):
        if name not in known:
            yield f"{rule.name}: unknown column {name!r} of {rule.view}"


def class_problems(cls: type[Source] | type[Sink]) -> Iterator[str]:
    """Yield what a source or sink class does not declare or document, one sentence each."""
    if inspect.isabstract(cls):
        yield f"{cls.name}: it lacks {' and '.join(sorted(cls.__abstractmethods__))}"
    if not attrs.has(cls.Config):
        yield f"{cls.name}: Config is not an attrs class"
    else:
        for a in attrs.fields(cls.Config):
            if not a.metadata.get("doc"):
                yield f"{cls.name}: setting {a.name!r} has no documentation (metadata 'doc')"
        if not inspect.isabstract(cls):
            yield from _problems_of_defaults(cls)
    names = Counter[str]()
    for record_class in getattr(cls, "record_types", ()):
        try:
            kind = record_type(record_class)
            _ = kind.arrow_schema  # raises when a column has no Arrow type
        except RecordTypeError as error:
            yield str(error)
            continue
        names[kind.name] += 1
        if not kind.doc:
            yield f"{kind.name}: the record class has no docstring"
        for c in kind.columns:
            if not c.doc:
                yield f"{kind.name}.{c.name}: no documentation"
            if c.role in ("subject", "pid", "thread", "job") and c.python_type is float:
                yield f"{kind.name}.{c.name}: ids of the role {c.role!r} are int or str, not float"
    for name, count in names.items():
        if count > 1:
            yield f"{cls.name}: two record types are called {name}"


def _problems_of_defaults(cls: type[Source] | type[Sink]) -> Iterator[str]:
    """Yield problems of defaults, for example one that a user could not give as the value."""
    for name, default in ((d.name, d.default) for d in attrs.fields(cls.Config)):
        if isinstance(default, attrs.Factory):  # type: ignore[arg-type]
            if default.takes_self:
                continue
            default = default.factory()
        if default is attrs.NOTHING:
            yield f"{cls.name}: setting {name!r} has no default"
            continue
        try:
            given = getattr(cls.configured("nowhere", **{name: default}).config, name)
        except ConfigError as error:
            yield f"{cls.name}: the default of setting {name!r}: {error}"
            continue
        if given != default:
            yield f"{cls.name}: the default {default!r} of setting {name!r} is read as {given!r}"


def owned(plugins: PluginManager, kind: str, name: str) -> list[Any]:
    """Return a plugin's declarations of one kind: ``sources``, ``views`` and so on."""
    return [s for s in getattr(plugins, kind).values() if plugins.owner(s).name == name]


def _check_class(cls: Any, spec: Any, base: type) -> Iterator[str]:
    fits: bool = isinstance(cls, type) and issubclass(cls, base)
    if not fits:
        yield f"{spec.name}: {cls!r} is not a subclass of harvest.{base.__name__}"
        return
    if cls.name != spec.name:
        yield f"{spec.name}: its class calls itself {cls.name!r}"
    yield from class_problems(cls)


def _check_target(plugins: PluginManager, spec: Any, attribute: str) -> Iterator[str]:
    try:
        plugins.load_part(spec, getattr(spec, attribute), spec.name)
    except PluginError as error:
        yield f"{spec.name}: {type(error.__cause__).__name__}: {error.__cause__}"
