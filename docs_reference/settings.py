"""The page about settings: of a run, of every source, sink and engine."""

from harvest.api.settings import describe
from harvest.plugins.registry import manager
from harvest.recipes.recipe import run_options
from harvest_look.markdown import table

from .commands import commands

__all__ = ["page"]

_INTRODUCTION = """# Settings

Generated from the program and its installed plugins.

What a run does stands on the command line, in a recipe (TOML), or in both; the command line
prevails. `harvest run ... --print-config` prints the recipe of a command line, and
`harvest plugins show NAME` the settings of one plugin.

- A plugin's setting: `--set NAME.KEY=VALUE`, or `KEY = VALUE` below `[set.NAME]` in a recipe. Lists
  are texts separated by commas, or TOML lists. A key of a mapping follows after a dot:
  `--set ncem.clock_offset.1=-27ms`.
- A source: `-s NAME:LOCATION`, or `[[source]]` with `name` and `location`; with `plugin` too, it is
  that of a Python file (`FILE.py`, relative to the recipe) or of one of several distributions.
- A sink: `-k NAME:LOCATION`, or `[[sink]]` with the same keys.
- A setting of views and reports in the browser: `[serve.set.NAME]`; `harvest serve RECIPE.toml`
  reads it.

A setting that does not exist, or whose value does not fit, ends the run with exit code 2 before
anything is read.
"""


def page() -> str:
    """Every setting with its type, default and meaning."""
    lines = [_INTRODUCTION, "## The run: `[run]`", ""]
    lines += table(("key", "option", "default", "meaning"), _run())
    found = manager()
    kinds = (
        ("Sources", found.sources, found.source),
        ("Sinks", found.sinks, found.sink),
        ("Engines", found.engines, found.engine),
    )
    for title, declared, load in kinds:
        lines += [f"## {title}", ""]
        for name in sorted(declared):
            lines += [f"### {name}", "", declared[name].doc, ""]
            rows = [
                (f"`{name}.{s.name}`", s.value, f"`{s.default}`" if s.default else "", s.doc)
                for s in describe(load(name).Config)
            ]
            lines += table(("setting", "value", "default", "meaning"), rows)
            lines += [] if rows else ["No settings.", ""]
    return "\n".join(lines)


def _run() -> list[tuple[str, str, str, str]]:
    (run,) = (c for c in commands() if c.words == ("run",))
    meaning = {names.split(" ")[0]: text for names, text in run.options}
    rows = []
    for word, field in run_options().items():
        default = "" if field.default is None else f"`{field.default}`"
        rows.append((f"`{word}`", f"`--{word}`", default, meaning[f"--{word}"]))
    return rows
