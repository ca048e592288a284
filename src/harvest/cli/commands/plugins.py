"""``harvest plugins``: what is installed, and what is wrong with it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = ["app"]

app = typer.Typer(
    help="List plugins; show, check or begin one.",
    invoke_without_command=True,
    no_args_is_help=False,
)

JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@app.callback()
def plugins(ctx: typer.Context, json: JsonOption = False) -> int | None:
    """List plugins; show, check or begin one."""
    if ctx.invoked_subcommand is None:
        return list_plugins(json=json)
    return None


@app.command("list")
def list_plugins(json: JsonOption = False) -> int:
    """List the plugins and what each offers, and those that cannot be used, with the remedy."""
    from harvest.cli.tables import print_json, print_table
    from harvest.plugins.registry import manager

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
        return 0
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
    )
    for broken in found.broken.values():
        print(f"\ncannot be used: {broken.name} ({broken.distribution} {broken.version})")
        print(f"  cause:  {broken.cause}")
        print(f"  remedy: {broken.remedy}")
    if found.disabled:
        print(f"\ndisabled by HARVEST_DISABLE_PLUGINS: {', '.join(found.disabled)}")
    return 0


def _offers(found: Any) -> dict[str, dict[str, list[str]]]:
    offers: dict[str, dict[str, list[str]]] = {}
    for kind in ("sources", "sinks", "views", "reports", "engines", "commands"):
        for name, spec in getattr(found, kind).items():
            offers.setdefault(found.owner(spec).name, {}).setdefault(kind, []).append(name)
    return offers


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A source or a sink.")],
    json: JsonOption = False,
) -> int:
    """Show a source or sink: its settings, and the record types it yields."""
    from harvest.api.settings import describe
    from harvest.cli.tables import print_json, print_table
    from harvest.errors import UsageError, suggestion
    from harvest.model import record_type
    from harvest.plugins.registry import manager

    found = manager()
    if name not in found.sources and name not in found.sinks:
        if name in found.broken:
            found.source(name)  # raises with cause and remedy
        raise UsageError(
            f"there is no source or sink {name!r}",
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
        return 0
    print(f"{'source' if is_source else 'sink'} {name}: {spec.doc}\n{found.version_of(spec)}\n")
    if settings:
        print_table(
            ("setting", "type", "default", "meaning"),
            [(f"{name}.{key}", kind, default, doc) for key, kind, default, doc in settings],
        )
    else:
        print("no settings")
    if types:
        print()
        print_table(
            ("record type", "description"), [(t.name, t.doc.partition("\n")[0]) for t in types]
        )
    return 0


@app.command("check")
def check(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME...", help="Plugins; all when left out.")
    ] = None,
    sample: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Input that the plugin's sources can read, to try more."),
    ] = None,
    json: JsonOption = False,
) -> int:
    """Check a plugin's declarations, and try what it promises. Ends with 1 on a problem.

    It is the quick part of the conformance kit for plugins' own tests, harvest.testing.
    """
    from harvest.cli.tables import print_json
    from harvest.errors import UsageError, suggestion
    from harvest.plugins.registry import manager
    from harvest.testing.check import check_promises

    found = manager()
    known = [*found.plugins, *found.broken]
    for name in names or ():
        if name not in known:
            raise UsageError(f"there is no plugin {name!r}", remedy=suggestion(name, known))
    if sample is not None and len(names or ()) != 1:
        raise UsageError("a sample is for one plugin", remedy="name the plugin that can read it")
    results: dict[str, list[Any]] = {}
    for name in sorted(names or known):
        results[name] = []
        for finding in check_promises(found, name, sample=sample):
            results[name].append(finding)
            shown = ("kept", "broken") if names else ("broken",)
            if not json and finding.result in shown:
                _tell(name, finding)
        if not json:
            _sum_up(name, results[name], reasons=bool(names))
    if json:
        keys = ("about", "promise", "result", "detail")
        print_json(
            {n: [{k: getattr(f, k) for k in keys} for f in all_] for n, all_ in results.items()}
        )
    return 1 if any(f.result == "broken" for all_ in results.values() for f in all_) else 0


def _tell(name: str, finding: Any) -> None:
    from harvest.toolkit.texts import printable_line

    word = {"kept": "ok", "broken": "FAILED"}[finding.result]
    print(printable_line(f"{word:<8} {name}: {finding.about}: {finding.promise}"))
    for line in finding.detail.splitlines():
        print(printable_line(f"{'':<8} {line}"))


def _sum_up(name: str, findings: list[Any], *, reasons: bool) -> None:
    from collections import Counter

    from harvest.toolkit.texts import printable_line

    count = Counter(finding.result for finding in findings)
    if reasons:
        untried = Counter((f.about, f.detail) for f in findings if f.result == "skipped")
        for (about, why), times in untried.items():
            print(printable_line(f"{'skipped':<8} {name}: {about}: {times} promises: {why}"))
    print(
        f"{name}: {count['kept']} promises kept, {count['broken']} broken, "
        f"{count['skipped']} not tried"
    )


@app.command("new")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Of the plugin, such as my-format.")],
    kind: Annotated[
        str, typer.Option(metavar="KIND", help="source, sink, view or report.")
    ] = "source",
    directory: Annotated[
        Path, typer.Option("-C", "--directory", metavar="DIR", help="Where to put the project.")
    ] = Path(),
) -> int:
    """Begin a plugin: a project that installs and passes its tests as it is."""
    from harvest.plugins.scaffold import scaffold

    for path in scaffold(name, kind, directory):
        print(path)
    print(f"\nnext: pip install -e '{directory / f'harvest-{name}'}[test]' && harvest plugins")
    return 0
