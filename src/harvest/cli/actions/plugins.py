"""``harvest plugins``, its list, and one of them in detail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harvest.api.setting import Setting
from harvest.api.settings import describe
from harvest.commands.tables import print_json, print_table, print_text
from harvest.errors import UsageError, suggestion
from harvest.model import record_type
from harvest.plugins.claims import DISABLE_VARIABLE, PREFER_VARIABLE
from harvest.plugins.known import KNOWN, canonical
from harvest.plugins.registry import PluginManager, manager

__all__ = ["print_available", "print_declared", "print_plugin", "print_plugins"]


KINDS = ("source", "sink", "engine", "view", "report", "rule", "exporter")
"""What has settings or thresholds; a source and an engine may have the same name."""
OFFERED = (*KINDS, "command")


def print_plugins(*, json: bool) -> int:
    """Print what each plugin offers, which cannot be used, and which names several declare."""
    found = manager()
    offers = _offers(found)
    if json:
        keys = ("name", "distribution", "version")
        print_json(
            {
                "plugins": [{**_values(p, keys), "offers": offers.get(p.name, {})} for p in found],
                "broken": [_values(b, (*keys, "cause", "remedy")) for b in found.broken.values()],
                "disabled": list(found.disabled),
                "contested": [
                    _values(c, ("kind", "name", "distributions", "chosen", "because"))
                    for c in found.claims.contested()
                ],
            }
        )
    else:
        _print_plugins(found, offers)
    return 0


def _values(item: Any, names: tuple[str, ...]) -> dict[str, Any]:
    return {name: getattr(item, name) for name in names}


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
    for contested in found.claims.contested():
        chosen = contested.chosen
        owners = " and ".join(contested.distributions)
        print(f"\n{contested.kind} {contested.name!r} is declared by {owners}")
        print(f"  used:   {f'{chosen} ({contested.because})' if chosen else 'neither'}")
        print(f"  remedy: {contested.choice()}")
    if found.disabled:
        print(f"\ndisabled by {DISABLE_VARIABLE}: {', '.join(found.disabled)}")
    there = {canonical(plugin.distribution) for plugin in found}
    for name in found.claims.preferred:
        if canonical(name) not in there:
            print(f"\n{PREFER_VARIABLE} names {name}, which is not installed")


def print_available(*, json: bool) -> int:
    """Print the plugins that the project publishes, and which of them are installed."""
    found = manager()
    there = {canonical(p.distribution): p.version for p in found}
    there |= {canonical(b.distribution): b.version for b in found.broken.values()}
    rows = [(k.distribution, there.get(k.distribution), k.doc) for k in KNOWN]
    if json:
        keys = ("distribution", "installed", "doc")
        print_json(
            [
                {**dict(zip(keys, row, strict=True)), **_values(known, ("sources", "sinks"))}
                for row, known in zip(rows, KNOWN, strict=True)
            ]
        )
        return 0
    print_table(
        ("distribution", "installed", "what it does"),
        [(name, version or "no", doc) for name, version, doc in rows],
        prose=("what it does",),
    )
    return 0


def _offers(found: PluginManager) -> dict[str, dict[str, list[str]]]:
    offers: dict[str, dict[str, list[str]]] = {}
    for kind in (f"{kind}s" for kind in OFFERED):
        for name, spec in getattr(found, kind).items():
            offers.setdefault(found.owner(spec).name, {}).setdefault(kind, []).append(name)
    for listener in found.listeners():
        offers.setdefault(listener, {})["hears"] = ["commits"]
    return offers


def print_declared(kind: str, *, json: bool) -> int:
    """Print all that plugins offer of a kind: names, whose they are, and what they are for."""
    if kind not in OFFERED:
        raise UsageError(f"unknown kind {kind!r}", remedy=suggestion(kind, OFFERED))
    found = manager()
    rows = [(n, found.owner(spec).name, spec.doc) for n, spec in getattr(found, f"{kind}s").items()]
    if json:
        print_json([dict(zip(("name", "plugin", "doc"), row, strict=True)) for row in rows])
    else:
        print_table((kind, "plugin", "description"), rows, prose=("description",))
    return 0


def print_plugin(name: str, *, json: bool) -> int:
    """Print the settings of all that has a name, and the record types that a source yields."""
    found = manager()
    parts = [_described(found, kind, spec) for kind, spec in _named(found, name)]
    if json:
        first, *others = parts
        print_json({**first, "others": others} if others else first)
        return 0
    for number, part in enumerate(parts):
        if number:
            print()
        _print_described(part)
    return 0


def _named(found: PluginManager, name: str) -> list[tuple[str, Any]]:
    """What has a name, each with its kind; of a Python file, all that is in it."""
    if name.endswith(".py"):
        plugin = found.add_file(Path(name))
        declared = [(kind, spec) for kind in KINDS for spec in getattr(found, f"{kind}s").values()]
        return [(kind, spec) for kind, spec in declared if found.owner(spec) == plugin]
    plain = name.rpartition(":")[2]
    kinds = [kind for kind in KINDS if found.claims.of(f"{kind}s", plain)]
    if not kinds:
        if name in found.broken:
            found.source(name)  # raises with cause and remedy
        known = [name for kind in KINDS for name in getattr(found, f"{kind}s")]
        raise UsageError(
            f"unknown source, sink, engine, view, report, rule or exporter {name!r}",
            remedy=found.remedy(name, known, *KINDS),
        )
    return [(kind, found.find(kind, name)) for kind in kinds]


def _described(found: PluginManager, kind: str, spec: Any) -> dict[str, Any]:
    """What is printed of a source, sink, engine, view, report, rule or exporter."""
    part = {"name": spec.name, "kind": kind, "doc": spec.doc, "plugin": found.version_of(spec)}
    more: dict[str, Any]
    if kind == "rule":
        declared = {n: Setting(t.doc, float, t.value) for n, t in spec.thresholds.items()}
        more = {"requires": list(spec.requires), "view": spec.view}
    elif kind == "exporter":
        declared, more = spec.settings, {}
    elif kind in ("view", "report"):
        declared, more = spec.settings, {"requires": list(spec.requires)}
    else:
        cls = found.load(spec)
        types = [record_type(c) for c in cls.record_types] if kind == "source" else []
        declared, more = cls.Config, {"record_types": [t.name for t in types]}
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
            for setting in describe(declared)
        ],
        **more,
    }


def _print_described(part: dict[str, Any]) -> None:
    name, settings = part["name"], part["settings"]
    print_text(f"{part['kind']} {name}: {part['doc']}")
    print(f"{part['plugin']}\n")
    if not settings:
        print("no thresholds" if part["kind"] == "rule" else "no settings")
    else:
        before = "" if part["kind"] in ("view", "report", "exporter") else f"{name}."
        print_table(
            ("threshold" if part["kind"] == "rule" else "setting", "value", "default", "meaning"),
            [(f"{before}{s['name']}", s["value"], s["default"], s["meaning"]) for s in settings],
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
