"""The page about what Python code may import."""

import abc
import importlib
import inspect
import re
from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin

from typer.models import OptionInfo

import harvest

__all__ = ["MODULES", "page", "paragraph"]

MODULES = (
    "harvest",
    "harvest.columns",
    "harvest.model",
    "harvest.model.arrow",
    "harvest.model.describe",
    "harvest.model.frames",
    "harvest.model.json",
    "harvest.model.events",
    "harvest.plugins",
    "harvest.commands",
    "harvest.commands.asking",
    "harvest.commands.complete",
    "harvest.commands.declared",
    "harvest.commands.inputs",
    "harvest.commands.options",
    "harvest.commands.outcome",
    "harvest.commands.progress",
    "harvest.commands.tables",
    "harvest.engines",
    "harvest.errors",
    "harvest.interrupt",
    "harvest.findings",
    "harvest.plugin_code",
    "harvest.toolkit.amounts",
    "harvest.toolkit.completion",
    "harvest.fault",
    "harvest.toolkit.files",
    "harvest.toolkit.frames",
    "harvest.toolkit.html",
    "harvest.toolkit.layout",
    "harvest.toolkit.plain",
    "harvest.toolkit.settings",
    "harvest.toolkit.steps",
    "harvest.toolkit.texts",
    "harvest_cluster.batch",
    "harvest_dask_runs",
    "harvest_dask_runs.memory",
    "harvest_dask.records.arrays",
    "harvest_dask.records.key_columns",
    "harvest_dask.records.kinds",
    "harvest_dask.records.literals",
    "harvest_dask_runs.trace",
    "harvest_report",
    "harvest_report.over_time",
    "harvest_report.table_files",
    "harvest_report.records",
    "harvest_report.values",
    "harvest_testing",
    "harvest_toolkit.choices",
    "harvest_toolkit.clocks",
    "harvest_toolkit.csv_header",
    "harvest_toolkit.delimited",
    "harvest_toolkit.frames",
    "harvest_toolkit.headless",
    "harvest_toolkit.hosts",
    "harvest_toolkit.json_pieces",
    "harvest_toolkit.line_blocks",
    "harvest_toolkit.line_source",
    "harvest_toolkit.lines",
    "harvest_toolkit.pairs",
    "harvest_toolkit.spans",
    "harvest_toolkit.streams",
    "harvest_toolkit.values",
    "harvest_toolkit.yaml_stream",
)
"""Modules whose ``__all__`` is public."""

_PLAIN = (type(None), bool, int, float, str, tuple)


def page() -> str:
    """Every public name with its parameters and the first words of its docstring."""
    lines = [
        "# Python",
        "",
        "Generated from `__all__` of the public modules and their docstrings, whose rest "
        "`help(name)` shows. What may be relied on, and for how long, is in "
        "[compatibility](../compatibility.md).",
        "",
    ]
    for name in MODULES:
        module = importlib.import_module(name)
        lines += [f"## {name}", "", paragraph(module), ""]
        shared = set(module.__all__) & set(harvest.__all__) if module is not harvest else set()
        known = {word for word in shared if getattr(module, word) is getattr(harvest, word)}
        if known:
            same = ", ".join(f"`{word}`" for word in sorted(known, key=_order))
            lines += [f"As in `harvest`: {same}.", ""]
        for word in sorted(set(module.__all__) - known, key=_order):
            lines += _entry(word, getattr(module, word))
    return "\n".join(lines)


def paragraph(thing: Any) -> str:
    """The first paragraph of a docstring, its markup as Markdown's; empty where there is none."""
    text = (inspect.getdoc(thing) or "").partition("\n\n")[0]
    text = re.sub(r":\w+:`~?(?:[\w.]*\.)?(\w+)`", r"`\1`", text.replace("``", "`"))
    return " ".join(text.split()).removesuffix("::").rstrip(":")


def _order(name: str) -> tuple[str, str]:
    return name.casefold(), name


def _entry(name: str, value: Any) -> list[str]:
    return [f"### {name}", "", *_description(name, value), ""]


def _description(name: str, value: Any) -> list[str]:
    if get_origin(value) is Annotated and isinstance(made := get_args(value)[1], OptionInfo):
        return [f"An annotation of a command's parameters: the option `{made.default}`."]
    if get_origin(value) is Annotated:
        return [f"An annotation of columns: `{get_args(value)[0].__name__}`, kept as `{name}`."]
    if get_origin(value) is Literal or isinstance(value, tuple):
        return [f"One of {', '.join(f'`{word}`' for word in get_args(value) or value)}."]
    if isinstance(value, UnionType):
        return [f"Any of {', '.join(f'`{kind.__name__}`' for kind in get_args(value))}."]
    if inspect.isclass(value):
        shown = "" if issubclass(value, BaseException) else _parameters(value)
        methods = [f"- `{call}`: {doc}" for call, doc in _methods(value)]
        return [
            f"`class {name}{shown}`",
            "",
            paragraph(value),
            *(["", *methods] if methods else []),
        ]
    if inspect.ismodule(value):  # one that is called: its own name is the function's
        value = getattr(value, f"{value.__name__.rpartition('.')[2]}")
    if callable(value):
        return [f"`{name}{_parameters(value)}`", "", paragraph(value)]
    if isinstance(value, _PLAIN):
        return [f"A constant: `{value!r}`."]
    return [f"A constant of the type `{type(value).__name__}`."]


def _methods(cls: type) -> Iterator[tuple[str, str]]:
    """Public documented methods and properties that the class itself defines, but no tests.

    With those of its base where that is abstract and not public itself.
    """
    bases = [b for b in cls.__bases__ if inspect.isabstract(cls) and abc.ABC in b.__bases__]
    for name, member in [item for each in (*bases, cls) for item in vars(each).items()]:
        function = getattr(member, "__func__", getattr(member, "fget", member))
        plain = not name.startswith(("_", "test_")) and inspect.isfunction(function)
        if plain and inspect.getdoc(function):
            if isinstance(member, property):
                yield name, paragraph(member)
            else:
                first = "cls" if isinstance(member, classmethod) else "self"
                yield f"{name}{_parameters(function, without=first)}", paragraph(function)


def _parameters(thing: Any, without: str = "") -> str:
    """Names and plain defaults in brackets; nothing for what is not ours or has no signature."""
    ours = str(getattr(thing, "__module__", "")).startswith("harvest")
    if not ours or getattr(thing, "_is_protocol", False):
        return ""
    try:
        found = list(inspect.signature(thing).parameters.values())
    except ValueError:
        return ""
    shown: list[str] = []
    for parameter in found:
        if parameter.name == without:
            continue
        starred = any(s.startswith("*") for s in shown)
        if parameter.kind is parameter.KEYWORD_ONLY and not starred:
            shown.append("*")
        text = str(parameter.replace(annotation=parameter.empty, default=parameter.empty))
        if parameter.default is not parameter.empty:
            plain = isinstance(parameter.default, _PLAIN)
            text += f"={parameter.default!r}" if plain else "=..."
        shown.append(text)
    return f"({', '.join(shown)})"
