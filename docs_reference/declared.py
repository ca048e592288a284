"""Pages about what plugins declare: hooks, record types, views and reports."""

import inspect
from typing import Any

import attrs

from harvest.api import spec
from harvest.api.rule import Finding, Rule, Threshold
from harvest.api.settings import describe
from harvest.api.view import Setting, View
from harvest.plugins.registry import manager
from harvest_look.markdown import markdown, table
from harvest_look.schema import view_schema

from .python import paragraph

__all__ = ["hooks", "record_types", "rules", "views_and_reports"]

_DECLARATIONS = (
    spec.SourceSpec,
    spec.SinkSpec,
    View,
    spec.ReportSpec,
    Setting,
    Rule,
    Threshold,
    Finding,
    spec.ExporterSpec,
    spec.EngineSpec,
    spec.Command,
)

_COMMON = {
    "name": "what users type",
    "doc": "a line of documentation",
    "factory": "the class, or `package.module:Class`, imported when first used",
    "requires": "record types that it reads",
    "fewest": "how many of these a dataset must hold to be offered it",
    "settings": "settings by name: a Setting, or its meaning as text, for values of any type",
}
"""Fields that several declarations have, where their docstrings leave them out."""


def hooks() -> str:
    """The hooks that a plugin may implement, and the declarations that they give."""
    lines = [
        "# Hooks",
        "",
        "Generated from `harvest.api.spec`. [Writing a plugin](../plugins.md) shows how they "
        "are used.",
        "",
        f"A plugin is an entry point in the group `{spec.GROUP}`. Its module implements any of "
        "the hooks below, each marked with `@harvest.hookimpl`; it may state the plugin API that "
        f"it is written for as `harvest_api`, at present {spec.API_VERSION}. A `Source` or `Sink` "
        "class may be an entry point by itself.",
        "",
    ]
    for name in (n for n in vars(spec.Hooks) if n.startswith("harvest_")):
        hook = getattr(spec.Hooks, name)
        signature = inspect.signature(hook)
        given = ", ".join(each for each in signature.parameters if each != "self")
        returns = str(signature.return_annotation).strip("'\"")
        lines += [f"## {name}", "", f"`{name}({given}) -> {returns}`", "", paragraph(hook), ""]
    lines += ["## Declarations", ""]
    for cls in _DECLARATIONS:
        lines += [f"### harvest.{cls.__name__}", "", paragraph(cls), ""]
        meanings = {**_COMMON, **_field_meanings(cls)}
        lines += table(
            ("field", "default", "meaning"),
            [
                (f"`{a.name}`", _default(a.default), meanings[a.name].rstrip("."))
                for a in attrs.fields(cls)
            ],
        )
    return "\n".join(lines)


def _field_meanings(cls: type) -> dict[str, str]:
    """Fields that a docstring explains, as ``name: meaning`` with further lines indented."""
    meanings: dict[str, str] = {}
    name = ""
    for line in inspect.cleandoc(cls.__doc__ or "").splitlines():
        word, colon, rest = line.partition(": ")
        if colon and word.strip("`").isidentifier():
            name = word.strip("`")
            meanings[name] = rest.replace("``", "`")
        elif name and line.startswith("    "):
            meanings[name] += " " + line.strip().replace("``", "`")
        else:
            name = ""
    return meanings


def _default(value: Any) -> str:
    if value is attrs.NOTHING:
        return "required"
    if isinstance(value, attrs.Factory):  # type: ignore[arg-type]
        value = value.factory()
    return f"`{value!r}`" if value else ""


def record_types() -> str:
    """Every record type with its columns, their types, units and roles."""
    lines = ["# Record types", "", "Generated: `harvest schema --format markdown`.", ""]
    return "\n".join([*lines, *(markdown(kind) for kind in manager().record_types().values())])


def views_and_reports() -> str:
    """Every view and report with what it reads and its settings."""
    lines = [
        "# Views and reports",
        "",
        "Generated from what the installed plugins declare. A view is a table "
        "(`harvest view NAME DATASET`), a report is tables and plots "
        "(`harvest report NAME DATASET`). Settings are given with `--set KEY=VALUE`. "
        "`harvest schema VIEW` shows the columns of a view too.",
        "",
        "## Views",
        "",
    ]
    found = manager()
    lines += [view_schema(view, found).markdown("###") for _, view in sorted(found.views.items())]
    lines += ["## Reports", ""]
    for name in sorted(found.reports):
        lines += _section(name, found.reports[name])
    lines += ["## Exporters", "", "`harvest export DATASET TARGET --as NAME`.", ""]
    for name, exporter in sorted(found.exporters.items()):
        lines += _section(name, exporter)
    return "\n".join(lines)


def rules() -> str:
    """Every rule with its condition, thresholds, advice and source."""
    lines = [
        "# Rules",
        "",
        "Generated from what the installed plugins declare. `harvest findings DATASET` checks all "
        "of them; `--set RULE.THRESHOLD=NUMBER` changes a threshold. "
        "[Findings](../how-to/findings.md) shows how they are read.",
        "",
    ]
    for name, rule in sorted(manager().rules.items()):
        given = ", ".join(f"{key}={value}" for key, value in rule.settings.items())
        lines += [
            f"## {name}",
            "",
            " ".join(rule.doc.split()),
            "",
            f"Checks `{rule.view}`{f' ({given})' if given else ''}{_among(rule)} where "
            f"`{' '.join(rule.where.split())}`.",
            "",
            *_basis(rule),
            *table(
                ("threshold", "default", "meaning"),
                [(f"`{key}`", f"{t.value:g}", t.doc) for key, t in rule.thresholds.items()],
            ),
            f"Try: {' '.join(rule.advice.split())}",
            "",
            f"Source: {' '.join(rule.reference.split())}",
            "",
        ]
    return "\n".join(lines)


def _among(rule: Rule) -> str:
    return f", among rows with `{' '.join(rule.among.split())}`," if rule.among else ""


def _basis(rule: Rule) -> list[str]:
    """What the check is based on, as a table."""
    if not rule.numerator:
        return []
    rows = [
        ("numerator", rule.numerator),
        ("denominator", rule.denominator or "none: compared with the threshold alone"),
        ("checked", rule.judged),
        ("lacks data", rule.unable),
    ]
    return table(("the check", "is based on"), rows)


def _section(name: str, what: Any) -> list[str]:
    needs = ", ".join(f"`{kind}`" for kind in getattr(what, "requires", ()))
    settings = [
        (f"`{s.name}`", s.value, f"`{s.default}`" if s.default else "", s.doc)
        for s in describe(what.settings)
    ]
    return [
        f"### {name}",
        "",
        " ".join(what.doc.split()),
        "",
        *([f"Reads {needs}.", ""] if needs else []),
        *table(("setting", "value", "default", "meaning"), settings),
    ]
