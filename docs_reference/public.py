"""The page about public names of the kernel, and who uses each."""

import ast
import importlib
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from .python import MODULES

__all__ = ["KERNEL", "imported", "page", "used"]

ROOT = Path(__file__).resolve().parents[1]

KERNEL = tuple(name for name in MODULES if name.split(".")[0] == "harvest")
"""The public modules that come with the kernel; the others are libraries next to it."""


def page() -> str:
    """A table for each public module of the kernel: its names, and who uses them."""
    lines = [
        "# Public names",
        "",
        "Generated from `__all__` of the kernel's public modules and from the imports of plugins, "
        "libraries, examples and pages of the documentation. What a name means is in "
        "[Python](python.md).",
        "",
    ]
    users = used()
    for module in KERNEL:
        lines += [f"## {module}", "", "| name | used by |", "|---|---|"]
        for name in sorted(importlib.import_module(module).__all__, key=str.casefold):
            lines.append(f"| `{name}` | {', '.join(sorted(users[module, name]))} |")
        lines.append("")
    return "\n".join(lines)


@cache
def used() -> Mapping[tuple[str, str], set[str]]:
    """Who uses a name of a public module: folders of plugins, ``examples``, ``docs``.

    A name that several modules offer is used in each of them.
    """
    found: dict[tuple[str, str], set[str]] = defaultdict(set)
    for user, module, name in (*imported(), *_in_pages()):
        found[module, name].add(user)
    everywhere: dict[int, set[str]] = defaultdict(set)
    for (module, name), users in found.items():
        if module in KERNEL and name in importlib.import_module(module).__all__:
            value = getattr(importlib.import_module(module), name)
            if callable(value):  # constants of one value are not one name
                everywhere[id(value)] |= users
    for module in KERNEL:
        for name in importlib.import_module(module).__all__:
            value = getattr(importlib.import_module(module), name)
            found[module, name] |= everywhere[id(value)]
            if isinstance(value, type) and issubclass(value, Exception):
                found[module, name].add("whoever catches it")
    return found


@cache
def imported() -> tuple[tuple[str, str, str], ...]:
    """User, module and name for what plugins and examples import of the kernel, tests aside."""
    return tuple(
        (user, module, name)
        for folder, user in _places()
        for path in sorted(folder.rglob("*.py"))
        if "tests" not in path.relative_to(folder).parts
        for module, name in _names(ast.parse(path.read_text("utf-8")))
    )


def _places() -> Iterator[tuple[Path, str]]:
    for package in sorted(ROOT.glob("src/harvest_*")):
        yield package, package.name
    for project in sorted(ROOT.glob("plugins/*/src")):
        yield project, project.parent.name
    yield ROOT / "examples", "examples"


def _names(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Module and name, for ``from module import name`` and for ``module.name``."""
    modules: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {a.asname or a.name: a.name for a in node.names if _is_ours(a.name)}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and _is_ours(node.module or ""):
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if whole in KERNEL:
                    modules[alias.asname or alias.name] = whole
                else:
                    yield node.module or "", alias.name
    if not modules:
        return
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        of = node.value
        if isinstance(of, ast.Name | ast.Attribute) and (module := modules.get(ast.unparse(of))):
            yield module, node.attr


def _is_ours(module: str) -> bool:
    return module.split(".")[0] == "harvest"


def _in_pages() -> Iterator[tuple[str, str, str]]:
    """What pages of the documentation name, but those that are generated from the code."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    for path in pages:
        if path.parent.name == "reference" or path.name == "CHANGELOG.md":
            continue
        text = path.read_text("utf-8")
        for module, names in re.findall(r"from (harvest[\w.]*) import \(?([\w, \n]+)", text):
            for name in re.findall(r"\w+", names):
                yield "docs", module, name
        for path in set(re.findall(r"\bharvest(?:\.\w+)+", text)):
            words = path.split(".")
            for end in range(1, len(words)):
                yield "docs", ".".join(words[:end]), words[end]
