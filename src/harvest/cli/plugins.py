"""``harvest plugins``: the installed plugins, and what each offers."""

from harvest.api.spec import KINDS
from harvest.commands.tables import print_json, print_table, values_of
from harvest.errors import UsageError, suggestion
from harvest.plugins.claims import DISABLE_VARIABLE, PREFER_VARIABLE
from harvest.plugins.known import canonical
from harvest.plugins.registry import PluginManager, manager


def print_plugins(*, json: bool) -> int:
    """Print the offers of each plugin, unusable plugins, and names that several declare."""
    found = manager()
    offers = _offers(found)
    if json:
        keys = ("name", "distribution", "version")
        contest = ("kind", "name", "distributions", "chosen", "because")
        document = {
            "plugins": [{**values_of(p, *keys), "offers": offers.get(p.name, {})} for p in found],
            "broken": [values_of(b, *keys, "cause", "remedy") for b in found.broken.values()],
            "disabled": list(found.disabled),
            "contested": [values_of(each, *contest) for each in found.claims.contested()],
        }
        print_json(document)
    else:
        _print_plugins(found, offers)
    return 0


def _print_plugins(found: PluginManager, offers: dict[str, dict[str, list[str]]]) -> None:
    rows = []
    for plugin in found:
        kinds = offers.get(plugin.name, {}).items()
        said = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds)
        rows.append((plugin.name, plugin.version, said))
    print_table(("plugin", "version", "offers"), rows, prose=("offers",))
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


def _offers(found: PluginManager) -> dict[str, dict[str, list[str]]]:
    offers: dict[str, dict[str, list[str]]] = {}
    for kind in (f"{kind}s" for kind in KINDS):
        for name, spec in getattr(found, kind).items():
            offers.setdefault(found.owner(spec).name, {}).setdefault(kind, []).append(name)
    for listener in found.listeners():
        offers.setdefault(listener, {})["hears"] = ["commits"]
    return offers


def print_declared(kind: str, *, json: bool) -> int:
    """Print all declarations of one kind: name, plugin and description."""
    if kind not in KINDS:
        raise UsageError(f"unknown kind {kind!r}", remedy=suggestion(kind, KINDS))
    found = manager()
    rows = [(n, found.owner(spec).name, spec.doc) for n, spec in getattr(found, f"{kind}s").items()]
    if json:
        print_json([dict(zip(("name", "plugin", "doc"), row, strict=True)) for row in rows])
    else:
        print_table((kind, "plugin", "description"), rows, prose=("description",))
    return 0
