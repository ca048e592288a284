"""The settings of views and reports have types, defaults and checks, as those of sources have."""

import inspect
import json
import typing
from importlib.metadata import EntryPoint
from pathlib import Path

import polars as pl
import pytest

import harvest
from harvest import ConfigError, Setting, View, declare
from harvest.api.settings import describe
from harvest.plugins.registered import resolve
from harvest.plugins.registry import PluginManager, manager
from harvest.toolkit.settings import at_least, one_of, some_of
from harvest_look.commands import completion
from harvest_look.plugins import print_plugin

asked: list[dict] = []


def build(dataset, **settings):
    asked.append(settings)
    return pl.LazyFrame({"a": [1]})


TYPED = View(
    name="test.typed",
    doc="What it was asked with.",
    build=build,
    settings={
        "limit": Setting("how many", int, 10, at_least(1)),
        "share": Setting("how much of them", float),
        "by": Setting("what by", tuple[str, ...], ("user",), some_of(("user", "day"))),
        "per": Setting("of what", str, "job", one_of(("job", "log"))),
        "strict": Setting("whether to be", bool, False),
        "names": Setting("a file of names", Path),
        "from": Setting("a word that Python keeps for itself", str),
        "old": "what it means, and no type",
    },
)

harvest_views = declare(TYPED)


@pytest.fixture
def dataset():
    """No rows, with the view above."""
    asked.clear()
    plugins = PluginManager([EntryPoint("typed", __name__, "harvest")], disabled="")
    return harvest.Dataset.blank(plugins)


def ask(dataset, **settings):
    dataset.view("test.typed", **settings)
    return asked.pop()


DEFAULTS = {"limit": 10, "by": ("user",), "per": "job", "strict": False}


def test_what_is_not_given_is_its_default_and_the_view_decides_where_there_is_none(dataset):
    assert ask(dataset) == DEFAULTS
    assert ask(dataset, share=None, limit=None) == {**DEFAULTS, "share": None}


GIVEN = [
    ("limit", "3", 3), ("limit", 3, 3),
    ("share", "0.5", 0.5), ("share", 1, 1.0),
    ("by", "user,day", ("user", "day")), ("by", ["day"], ("day",)), ("by", "", ()),
    ("per", "log", "log"),
    ("strict", "on", True), ("strict", True, True),
    ("names", "a/b", Path("a/b")), ("names", Path("a"), Path("a")),
    ("from", "2026", "2026"),
    ("old", "3", "3"), ("old", 3, 3),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "taken"), GIVEN)
def test_text_and_typed_values_are_taken_alike(dataset, name, given, taken):
    found = ask(dataset, **{name: given})
    assert found == {**DEFAULTS, name: taken}
    assert type(found[name]) is type(taken)


REFUSED = [
    ("limit", "abc", "must be a whole number"), ("limit", 2.5, "must be a whole number"),
    ("limit", "0", "must be at least 1, not 0"), ("limit", 0, "must be at least 1, not 0"),
    ("limit", True, "must be a number"),
    ("share", "many", "must be a number"),
    ("by", "user,group", "must be of user, day, not 'group'"),
    ("per", "day", "must be one of job, log, not 'day'"), ("per", ["job"], "must be text"),
    ("strict", "perhaps", "must be true or false"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "why"), REFUSED)
def test_a_value_that_does_not_fit_is_refused_before_anything_is_built(dataset, name, given, why):
    with pytest.raises(ConfigError) as refused:
        dataset.view("test.typed", **{name: given})

    # which setting, what was found, why, what it means
    assert str(refused.value).startswith(f"test.typed.{name}: {given!r} does not fit: {why}")
    assert str(refused.value).endswith(TYPED.settings[name].doc)
    assert asked == []


def test_settings_are_shown_with_what_they_may_be():
    shown = {s.name: (s.value, s.default) for s in describe(TYPED.settings)}
    assert shown == {
        "limit": ("whole number, at least 1", "10"),
        "share": ("number", ""),
        "by": ("texts with commas, of user, day", "user"),
        "per": ("job or log", "job"),
        "strict": ("true or false", "false"),
        "names": ("path", ""),
        "from": ("text", ""),
        "old": ("", ""),
    }


def test_the_command_line_shows_checks_and_completes_them(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    print_plugin("slurm.worst_days", json=False)
    shown = capsys.readouterr().out.splitlines()
    assert any(line.split()[:5] == ["top", "whole", "number,", "0", "to"] for line in shown)

    print_plugin("io.jobs", json=True)
    found = {s["name"]: s for s in json.loads(capsys.readouterr().out)["settings"]}
    assert found["job"]["type"] == "int"
    assert (found["per"]["choices"], found["per"]["default"]) == (["job", "log"], "job")
    assert completion.query_settings("io.jobs.per=") == [
        ("io.jobs.per=job", ""), ("io.jobs.per=log", "")
    ]  # fmt: skip


DECLARED = [
    pytest.param(spec, id=f"{kind} {name}")
    for kind in ("view", "report")
    for name, spec in getattr(manager(), f"{kind}s").items()
]
ANY = {"study", "max_elapsed", "threshold"}
"""Settings of first-party views that Python may give as objects of several types."""


@pytest.mark.parametrize("spec", DECLARED)
def test_first_party_settings_have_types_and_the_defaults_of_their_functions(spec):
    parameters = inspect.signature(resolve(spec.build)).parameters
    for name, setting in spec.settings.items():
        assert setting.type is not typing.Any or name in ANY
        if setting.default is not None and name in parameters:
            # a function may leave the default to the declaration
            assert parameters[name].default in (setting.default, inspect.Parameter.empty)
        if setting.default is not None and setting.check is not None:
            setting.check(setting.default)
    assert harvest.Setting is Setting


def test_words_that_settings_allow_are_those_that_their_views_know():
    # the words stand in the declarations, which import nothing
    from harvest_accounting.views.declared.common import KEYS
    from harvest_gpfs.aggregation.definition import METRICS
    from harvest_gpfs.aggregation.groupings import GROUPINGS
    from harvest_gpfs.views.listed import GROUPS

    def allowed(view: str, setting: str) -> set[str]:
        text = manager().views[view].settings[setting].allowed
        return set(text.removeprefix("of ").split(", "))

    assert allowed("gpfs.usage", "metrics") == set(METRICS)
    assert allowed("gpfs.usage", "by") == set(GROUPINGS) - {"directory"}
    assert allowed("gpfs.change", "by") == set(GROUPS)
    assert allowed("slurm.usage", "by") == set(KEYS)
