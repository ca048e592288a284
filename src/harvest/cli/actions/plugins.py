"""``harvest plugins``, its list, one of them in detail, and a new one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from harvest.api.settings import describe
from harvest.cli.tables import print_json, print_table
from harvest.errors import UsageError, suggestion
from harvest.model import RecordType, record_type
from harvest.plugins.registry import PluginManager, manager
from harvest.plugins.scaffold import scaffold

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


def print_plugin(name: str, *, json: bool) -> int:
    """Print a source's or sink's settings, and the record types it yields."""
    found = manager()
    if name not in found.sources and name not in found.sinks:
        if name in found.broken:
            found.source(name)  # raises with cause and remedy
        raise UsageError(
            f"unknown source or sink {name!r}",
            remedy=suggestion(name, [*found.sources, *found.sinks]),
        )
    is_source = name in found.sources
    spec: Any = found.sources[name] if is_source else found.sinks[name]
    cls: Any = found.source(name) if is_source else found.sink(name)
    settings = describe(cls.Config)
    types = [record_type(c) for c in cls.record_types] if is_source else []
    if json:
        keys = ("name", "type", "default", "meaning")
        print_json(
            {
                "name": name,
                "kind": "source" if is_source else "sink",
                "doc": spec.doc,
                "plugin": found.version_of(spec),
                "settings": [dict(zip(keys, row, strict=True)) for row in settings],
                "record_types": [t.name for t in types],
            }
        )
    else:
        print(f"{'source' if is_source else 'sink'} {name}: {spec.doc}\n{found.version_of(spec)}\n")
        _print_settings(name, settings)
        _print_record_types(types)
    return 0


def _print_settings(name: str, settings: Sequence[Sequence[str]]) -> None:
    if not settings:
        print("no settings")
        return
    print_table(
        ("setting", "type", "default", "meaning"),
        [(f"{name}.{key}", kind, default, doc) for key, kind, default, doc in settings],
        prose=("meaning",),
    )


def _print_record_types(types: Sequence[RecordType]) -> None:
    if types:
        print()
        print_table(
            ("record type", "description"),
            [(t.name, t.doc.partition("\n")[0]) for t in types],
            prose=("description",),
        )


def begin_plugin(name: str, kind: str, directory: Path) -> int:
    """Write the project of a new plugin."""
    for path in scaffold(name, kind, directory):
        print(path)
    print(f"\nnext: pip install -e '{directory / f'harvest-{name}'}[test]' && harvest plugins")
    return 0
