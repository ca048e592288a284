"""Arguments and options that several commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import attrs

from harvest.errors import UsageError
from harvest.recipes.recipe import Recipe, parse_setting, run_options
from harvest.toolkit.completion import argument, option, words

from . import complete

__all__ = [
    "DatasetPath", "Exact", "Json", "Settings", "SettingsAgain", "Wait", "Wide",
    "key_values", "plugin_settings", "refuse_without",
]  # fmt: skip

DatasetPath = Annotated[Path, argument("DATASET", "The path that a sink wrote to.", readable=False)]
Exact = Annotated[
    bool,
    option(
        "--exact/--human", "Show full values, or rounded ones with units: 5.00 MiB, 3.5 min, 1,204."
    ),
]
Json = Annotated[bool, option("--json", "Print JSON.")]
RecipeFile = Annotated[Path | None, argument("RECIPE.toml", "A recipe file; options override it.")]
Sources = Annotated[
    list[str] | None,
    option(
        "-s --source NAME:LOCATION",
        "What to read; NAME:- is standard input. Without NAME, every source that recognises "
        "the location reads it. NAME may be a Python file, FILE.py. Repeatable.",
        complete.sources,
    ),
]
Sinks = Annotated[
    list[str] | None,
    option(
        "-k --sink NAME:LOCATION",
        "Where to write. NAME may be a FILE.py. Repeatable.",
        complete.sinks,
    ),
]
_SET = "--set NAME.KEY=VALUE"
Settings = Annotated[
    list[str] | None,
    option(_SET, "A setting of a source, a sink or an engine. Repeatable.", complete.settings),
]
SettingsAgain = Annotated[
    list[str] | None,
    option(
        _SET,
        "A setting for reading again; it overrides the one of the first run. Repeatable.",
        complete.settings,
    ),
]
# hidden: in other commands, -o is the output
_SetByO = Annotated[
    list[str] | None,
    option("-o NAME.KEY=VALUE", "The same as --set.", complete.settings, hidden=True),
]
Wide = Annotated[bool, option("--wide", "Show all columns in full, however long the lines get.")]
Wait = Annotated[
    float, option("--wait SECONDS", "Wait for another run on the dataset to end.", min=0)
]


class RunOptions(NamedTuple):
    """A recipe file and the command-line options that override it.

    run: options of a run by field of the recipe; None if not given.
    """

    file: Path | None
    sources: list[str] | None
    sinks: list[str] | None
    settings: list[str] | None
    wait_s: float
    run: dict[str, Any]

    def recipe(self) -> Recipe:
        """Return the recipe file, or an empty recipe, overridden by the options.

        Raises UsageError or ConfigError for unsuitable options.
        """
        from harvest.plugins.registry import manager
        from harvest.recipes.endpoints import endpoints_of  # late: help needs none of it

        base = Recipe.load(self.file) if self.file is not None else Recipe()
        return base.merged(
            sources=endpoints_of(self.sources or (), "source", manager()),
            sinks=endpoints_of(self.sinks or (), "sink", manager()),
            settings=plugin_settings(self.settings),
            **self.run,
        )

    def hold_secrets(self) -> bool:
        """Return whether the options themselves, not the recipe file, contain a secret."""
        from harvest.pipeline.record import without_secrets  # late: help needs none of it
        from harvest.plugins.registry import manager

        own = self._replace(file=None).recipe()
        return without_secrets(own, manager()) != own


def takes_run_options(
    *, without: Sequence[str] = ()
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Fill a command's first parameter, ``options: RunOptions``, from the command line.

    The options are those that :class:`harvest.recipes.recipe.Recipe` declares, in its order.
    without: fields of options that have no meaning for the command, and ``o`` if its ``-o`` is not
    ``--set``.
    """
    fields = [field for field in run_options().values() if field.name not in without]

    def decorate(command: Callable[..., int]) -> Callable[..., int]:
        def call(**values: Any) -> int:
            options = RunOptions(
                file=values.pop("recipe"),
                sources=values.pop("source"),
                sinks=values.pop("sink"),
                settings=[*(values.pop("settings") or ()), *(values.pop("o", None) or ())],
                wait_s=values.pop("wait"),
                run={field.name: values.pop(field.name) for field in fields},
            )
            return command(options, **values)

        _, *own = inspect.signature(command, eval_str=True).parameters.values()
        call.__doc__ = command.__doc__
        call.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                _parameter("recipe", RecipeFile),
                _parameter("source", Sources),
                _parameter("sink", Sinks),
                _parameter("settings", Settings),
                *([] if "o" in without else [_parameter("o", _SetByO)]),
                *(_parameter(field.name, _annotation(field)) for field in fields),
                _parameter("wait", Wait, 0.0),
                *(parameter.replace(kind=parameter.KEYWORD_ONLY) for parameter in own),
            ]
        )
        return call

    return decorate


def _parameter(name: str, annotation: Any, default: Any = None) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def _annotation(field: attrs.Attribute[Any]) -> Any:
    said = field.metadata
    known: Callable[..., Any] | None = complete.engines if field.name == "engine" else None
    if "words" in said:
        known = words(*said["words"])
    names = f"--{field.name.replace('_', '-')} {said['metavar']}"
    kind: Any = said["kind"]
    return Annotated[kind | None, option(names, said["doc"], known, min=said.get("least"))]


def plugin_settings(texts: Iterable[str] | None) -> dict[str, dict[str, str]]:
    """Parse ``NAME.KEY=VALUE`` texts to settings by plugin; raise ConfigError for other texts."""
    given: dict[str, dict[str, str]] = {}
    for text in texts or ():
        name, key, value = parse_setting(text)
        _take(given.setdefault(name, {}), key, value, f"{name}.{key}")
    return given


def key_values(texts: Iterable[str] | None) -> dict[str, str]:
    """Parse ``KEY=VALUE`` texts to settings; raise UsageError for other texts."""
    given: dict[str, str] = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"{text!r} is not a setting", remedy="write --set KEY=VALUE")
        _take(given, key, value, key)
    return given


def _take(given: dict[str, str], key: str, value: str, shown: str) -> None:
    """Add a setting; raise UsageError if it already has another value."""
    if given.setdefault(key, value) != value:
        problem = f"the setting {shown} is given as {given[key]!r} and as {value!r}"
        raise UsageError(problem, remedy="give it once")


def refuse_without(switch: str, options: Mapping[str, Any]) -> None:
    """Raise UsageError for an option that has no meaning without a switch."""
    for flag, value in options.items():
        if value:
            raise UsageError(f"{flag} needs {switch}")
