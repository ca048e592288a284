"""Recipes: TOML files that say what the command line says."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest.errors import ConfigError, UsageError
from harvest.recipes.recipe import Endpoint, Recipe, parse_setting

names = st.sampled_from(["mofka-dask", "slurm", "parquet"])
texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)
endpoints = st.lists(st.builds(Endpoint, st.none() | names, texts), max_size=3).map(tuple)
values = texts | st.booleans() | st.integers(-(2**60), 2**60) | st.lists(texts, max_size=3)
keys = st.text("abcdefgh_", min_size=1, max_size=8)
recipes = st.builds(
    Recipe,
    sources=endpoints,
    sinks=endpoints,
    settings=st.dictionaries(names, st.dictionaries(keys, values, min_size=1), max_size=2),
    commands=st.dictionaries(
        st.just("serve"), st.dictionaries(st.just("set"), values, max_size=1), max_size=1
    ),
    engine=st.sampled_from(["local", "dask"]),
    workers=st.none() | st.integers(1, 64),
    on_error=st.sampled_from(["reject", "fail"]),
    max_rejects=st.none() | st.integers(0, 10**9),
    limit=st.none() | st.integers(1, 10**9),
)


@pytest.mark.slow
@given(recipe=recipes)
def test_a_recipe_survives_being_written_and_read(recipe, tmp_path_factory):
    path = tmp_path_factory.mktemp("recipe") / "r.toml"
    path.write_text(recipe.to_toml(), encoding="utf-8")
    assert Recipe.load(path) == recipe


def test_a_byte_order_mark_is_no_part_of_a_recipe(tmp_path):
    path = tmp_path / "r.toml"
    path.write_text("[run]\nworkers = 4\n", encoding="utf-8-sig")
    assert Recipe.load(path).workers == 4


def test_the_command_line_goes_on_top_of_the_recipe(tmp_path):
    path = tmp_path / "r.toml"
    path.write_text(
        """
        [run]
        workers = 4
        [[source]]
        name = "slurm"
        location = "dump.txt"
        [[sink]]
        location = "out.jsonl"
        [set.slurm]
        timezone = "UTC"
        [set.ncem.clock_offset]
        1 = "-27ms"
        """
    )
    merged = Recipe.load(path).merged(
        workers=2, settings={"slurm": {"started": "yes"}}, sources=(), limit=None
    )
    assert merged == Recipe(
        sources=(Endpoint("slurm", "dump.txt"),),
        sinks=(Endpoint(None, "out.jsonl"),),
        workers=2,
        settings={
            "slurm": {"timezone": "UTC", "started": "yes"},
            "ncem": {"clock_offset.1": "-27ms"},
        },
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[runn]\n", r"unknown table 'runn'; did you mean 'run'\?"),
        ("[run]\nworker = 1\n", r"key of \[run\] 'worker'; did you mean 'workers'\?"),
        ("[run]\nworkers = 'x'\n", "workers 'x' is not a whole number of at least 1"),
        ("[run]\nengine = 1\n", "engine 1 is not text"),
        ("[run]\nexport = 'a:b'\n", "export 'a:b' is not a list of texts"),
        ("[run]\nworkers = 0\n", "workers 0 is not a whole number of at least 1"),
        ("[run]\nlimit = 9223372036854775808\n", "limit 9223372036854775808 does not fit"),
        ("[run]\non-error = 'ignore'\n", "on-error 'ignore' is unknown"),
        ("run = 1\n", r"\[run\] must be a table"),
        ("[srve]\n", r"unknown table 'srve'; did you mean 'serve'"),
        ("[source]\nname = 'x'\n", r"write \[\[source\]\]"),
        ("[[source]]\nname = 'x'\n", r"a \[\[source\]\] needs a location"),
        ("[set]\nslurm = 1\n", r"\[set.slurm\] must be a table"),
        ("[run\n", "invalid TOML"),
    ],
)
def test_a_wrong_recipe_is_refused_with_file_and_remedy(tmp_path, text, message):
    path = tmp_path / "r.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message) as caught:
        Recipe.load(path)
    assert caught.value.where == str(path)


def test_a_recipe_that_is_not_there_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="No such file"):
        Recipe.load(tmp_path / "none.toml")


@pytest.mark.parametrize("text", ["slurm.timezone", "timezone=UTC", "slurm.=1", ".x=1", ""])
def test_a_setting_needs_name_key_and_value(text):
    with pytest.raises(ConfigError, match=r"write NAME\.KEY=VALUE"):
        parse_setting(text)


def test_a_setting_may_hold_dots_and_equal_signs():
    assert parse_setting("ncem.clock_offset.1=a=b") == ("ncem", "clock_offset.1", "a=b")
