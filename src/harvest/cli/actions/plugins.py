"""``harvest plugins``, its list, one of them in detail, and a new one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harvest.api.settings import describe
from harvest.cli.tables import print_json, print_table, print_text
from harvest.errors import UsageError, suggestion
from harvest.model import record_type
from harvest.plugins.registry import PluginManager, manager
from harvest.plugins.scaffold import add_kinds, scaffold

__all__ = ["begin_plugin", "print_plugin", "print_plugins"]


def print_plugins(*, json: bool) -> int:
    """Print what each plugin offers, and which cannot be used."""
    found = manager()
    offers = _offers(found)
    if json:
        print_json(
            {
                "plugins": [
                    {
                        "name": p.name,
                        "distribution": p.distribution,
                        "version": p.version,
                        "offers": offers.get(p.name, {}),
                    }
                    for p in found
                ],
                "broken": [
                    {
                        "name": b.name,
                        "distribution": b.distribution,
                        "version": b.version,
                        "cause": b.cause,
                        "remedy": b.remedy,
                    }
                    for b in found.broken.values()
                ],
                "disabled": list(found.disabled),
            }
        )
    else:
        _print_plugins(found, offers)
    return 0


def _print_plugins(found: PluginManager, offers: dict[str, dict[str, list[str]]]) -> None:
    print_table(
        ("plugin", "version", "offers"),
        [
            (
                p.name,
                p.version,
                "; ".join(f"{k}: {', '.join(v)}" for k, v in offers.get(p.name, {}).items()),
            )
            for p in found
        ],
        prose=("offers",),
    )
    for broken in found.broken.values():
        print(f"\ncannot be used: {broken.name} ({broken.distribution} {broken.version})")
        print(f"  cause:  {broken.cause}")
        print(f"  remedy: {broken.remedy}")
    if found.disabled:
        print(f"\ndisabled by HARVEST_DISABLE_PLUGINS: {', '.join(found.disabled)}")


def _offers(found: PluginManager) -> dict[str, dict[str, list[str]]]:
    offers: dict[str, dict[str, list[str]]] = {}
    for kind in ("sources", "sinks", "views", "reports", "engines", "commands"):
        for name, spec in getattr(found, kind).items():
            offers.setdefault(found.owner(spec).name, {}).setdefault(kind, []).append(name)
    return offers


KINDS = ("source", "sink", "engine", "view", "report")
"""What has settings; a source and an engine may have the same name."""


def print_plugin(name: str, *, json: bool) -> int:
    """Print the settings of all that has a name, and the record types that a source yields."""
    found = manager()
    kinds = [kind for kind in KINDS if name in getattr(found, f"{kind}s")]
    if not kinds:
        if name in found.broken:
            found.source(name)  # raises with cause and remedy
        known = [name for kind in KINDS for name in getattr(found, f"{kind}s")]
        raise UsageError(
            f"unknown source, sink, engine, view or report {name!r}",
            remedy=suggestion(name, known),
        )
    parts = [_described(found, kind, name) for kind in kinds]
    if json:
        first, *others = parts
        print_json({**first, "others": others} if others else first)
        return 0
    for number, part in enumerate(parts):
        if number:
            print()
        _print_described(part)
    return 0


def _described(found: PluginManager, kind: str, name: str) -> dict[str, Any]:
    """What is printed of a source, sink, engine, view or report."""
    spec = getattr(found, f"{kind}s")[name]
    part = {"name": name, "kind": kind, "doc": spec.doc, "plugin": found.version_of(spec)}
    if kind in ("view", "report"):
        settings = [{"name": key, "meaning": doc} for key, doc in spec.settings.items()]
        return {**part, "settings": settings, "requires": list(spec.requires)}
    cls = getattr(found, kind)(name)
    types = [record_type(c) for c in cls.record_types] if kind == "source" else []
    return {
        **part,
        "settings": [
            {
                "name": setting.name,
                "type": setting.type,
                "default": setting.default,
                "meaning": setting.doc,
                "value": setting.value,
                "choices": list(setting.choices),
            }
            for setting in describe(cls.Config)
        ],
        "record_types": [t.name for t in types],
    }


def _print_described(part: dict[str, Any]) -> None:
    name, settings = part["name"], part["settings"]
    print_text(f"{part['kind']} {name}: {part['doc']}")
    print(f"{part['plugin']}\n")
    if not settings:
        print("no settings")
    elif part["kind"] in ("view", "report"):
        print_table(
            ("setting", "meaning"),
            [(s["name"], s["meaning"]) for s in settings],
            prose=("meaning",),
        )
    else:
        print_table(
            ("setting", "value", "default", "meaning"),
            [(f"{name}.{s['name']}", s["value"], s["default"], s["meaning"]) for s in settings],
            prose=("meaning",),
        )
    if part.get("record_types"):
        known = manager().record_types()
        print()
        print_table(
            ("record type", "description"),
            [(n, known[n].doc.partition("\n")[0]) for n in part["record_types"]],
            prose=("description",),
        )


def begin_plugin(
    name: str, kinds: list[str], directory: Path, *, columnar: bool, url: str, add: bool
) -> int:
    """Write the project of a new plugin, or add kinds to one."""
    chosen = [kind.strip() for text in kinds for kind in text.split(",")]
    if add:
        if url:
            raise UsageError("--url is for a new project", remedy="write it into pyproject.toml")
        written = add_kinds(name, chosen, directory, columnar=columnar)
    else:
        written = scaffold(name, chosen, directory, columnar=columnar, url=url)
    for path in written:
        print(path)
    print(f"\nnext: pip install -e '{directory / f'harvest-{name}'}[dev]' && harvest plugins")
    return 0
