"""``harvest plugins show`` and ``available``: settings of plugins, and plugins to install."""

from pathlib import Path
from typing import Any

from harvest import Setting, UsageError, record_type
from harvest.commands.declared import settings_of
from harvest.commands.tables import print_json, print_table, print_text, values_of
from harvest.plugins import PluginManager, manager

KINDS = ("source", "sink", "engine", "view", "report", "rule", "exporter")
"""Kinds with settings or thresholds; a source and an engine may have the same name."""


def print_plugin(name: str, *, json: bool) -> int:
    """Print the settings of everything with this name, and the record types of a source."""
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


def print_available(*, json: bool) -> int:
    """Print the plugins that the project publishes, and which of them are installed."""
    found = manager().published()
    if json:
        installed = [{"distribution": e.distribution, "installed": version} for e, version in found]
        said = [values_of(each, "doc", "sources", "sinks") for each, _ in found]
        print_json([here | more for here, more in zip(installed, said, strict=True)])
        return 0
    rows = [(each.distribution, version or "no", each.doc) for each, version in found]
    print_table(("distribution", "installed", "what it does"), rows, prose=("what it does",))
    return 0


def _named(found: PluginManager, name: str) -> list[tuple[str, Any]]:
    """Return everything with this name, or all parts of a Python file, each with its kind."""
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
        problem = f"unknown source, sink, engine, view, report, rule or exporter {name!r}"
        raise UsageError(problem, remedy=found.remedy(name, known, *KINDS))
    return [(kind, found.find(kind, name)) for kind in kinds]


def _described(found: PluginManager, kind: str, spec: Any) -> dict[str, Any]:
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
            {"meaning" if key == "doc" else key: value for key, value in each._asdict().items()}
            for each in settings_of(declared)
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
        rows = [(f"{before}{s['name']}", s["value"], s["default"], s["meaning"]) for s in settings]
        first = "threshold" if part["kind"] == "rule" else "setting"
        print_table((first, "value", "default", "meaning"), rows, prose=("meaning",))
    if part.get("record_types"):
        known = manager().record_types(part["record_types"])
        docs = [(n, known[n].doc.partition("\n")[0]) for n in part["record_types"]]
        print()
        print_table(("record type", "description"), docs, prose=("description",))
