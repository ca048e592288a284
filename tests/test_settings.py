"""From text and TOML values to a plugin's settings."""

from datetime import UTC, datetime

import attrs
import pytest

from harvest.api.settings import structure
from harvest.errors import ConfigError
from harvest.pipeline.prepare import PreparedRun, prepare_sources
from harvest.plugins.registry import manager
from harvest.recipes.recipe import Endpoint, Recipe


def at_least_one(instance, attribute, value):
    if value < 1:
        raise ValueError("must be at least 1")


@attrs.frozen(kw_only=True)
class Settings:
    timezone: str = attrs.field(default="UTC", metadata={"doc": "Zone of naive times."})
    workers: int = attrs.field(default=1, validator=at_least_one)
    ratio: float = 0.5
    strict: bool = False
    columns: tuple[str, ...] = ()
    since: datetime | None = None
    limit: int | None = None
    clock_offset: dict[str, str] = attrs.field(factory=dict)


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("timezone", "Europe/Berlin", "Europe/Berlin"),
        ("workers", "4", 4),
        ("workers", 4, 4),
        ("ratio", "0.25", 0.25),
        ("strict", "yes", True),
        ("strict", "off", False),
        ("strict", True, True),
        ("columns", "a, b,c", ("a", "b", "c")),
        ("columns", ["a", "b"], ("a", "b")),
        ("columns", [" a", "b ", " ", 7], ("a", "b", "7")),
        ("since", "2024-04-19T19:01:00+00:00", datetime(2024, 4, 19, 19, 1, tzinfo=UTC)),
        ("limit", "3", 3),
    ],
)
def test_text_and_typed_values_become_settings(key, value, expected):
    assert getattr(structure(Settings, {key: value}, plugin="demo"), key) == expected


def test_dotted_keys_fill_a_mapping():
    made = structure(
        Settings, {"clock_offset.1": "-27ms", "clock-offset.nersc": "1s"}, plugin="ncem"
    )
    assert made.clock_offset == {"1": "-27ms", "nersc": "1s"}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"timezon": "UTC"}, r"has no setting 'timezon'; did you mean 'timezone'\?"),
        ({"workers": "many"}, "demo.workers: 'many' does not fit: must be a whole number"),
        ({"workers": "0"}, "must be at least 1"),
        ({"workers": "9223372036854775808"}, "must fit into 64 bits"),
        ({"strict": "perhaps"}, "must be true or false"),
        ({"since": "yesterday"}, "demo.since"),
        ({"workers": 1.5}, "must be a whole number"),
        ({"columns": {"a": "b"}}, "must be a list, or texts with commas"),
        ({"columns": 5}, "must be a list, or texts with commas"),
        ({"clock_offset": "5ms"}, "must be given by key: clock_offset.KEY=VALUE"),
    ],
)
def test_a_wrong_setting_is_named_with_what_to_do(values, message):
    with pytest.raises(ConfigError, match=message) as caught:
        structure(Settings, values, plugin="demo")
    assert caught.value.exit_code == 2


@attrs.frozen(kw_only=True)
class Range:
    """Two settings, one of which limits the other."""

    lowest: int = attrs.field(default=0)
    tags: list[str] = attrs.field(factory=list)
    highest: int = attrs.field(default=10)

    @highest.validator
    def _fits(self, _, value):
        if value < self.lowest + len(self.tags):
            raise ValueError(f"highest must be at least {self.lowest}, not {value}")


def test_a_setting_may_be_checked_against_others():
    assert structure(Range, {"highest": "3", "lowest": "3"}, plugin="demo").highest == 3
    with pytest.raises(ConfigError, match="highest must be at least 5, not 3") as caught:
        structure(Range, {"highest": "3", "lowest": "5"}, plugin="demo")
    assert caught.value.where == "demo.highest"


def prepared(**settings):
    """The source and the engine of a recipe that names both ``slurm``, with these settings."""
    pytest.importorskip("harvest_slurm")
    recipe = Recipe(
        sources=(Endpoint("slurm", "dump.txt"),), engine="slurm", settings={"slurm": settings}
    )
    (use,) = prepare_sources(recipe, manager())
    run = PreparedRun(recipe=recipe, plugins=manager(), uses=[use], listed=(), sinks=[])
    return use, run.engine()


def test_a_source_and_an_engine_of_one_name_get_each_their_own_settings():
    # when both take part in a run, with settings of both
    use, engine = prepared(timezone="Asia/Tokyo", **{"env-setup": "module load python"})

    # then neither is refused for what is the other's
    assert use.settings == {"timezone": "Asia/Tokyo"}
    assert use.source.config.timezone == "Asia/Tokyo"
    assert engine.config.env_setup == "module load python"


def test_a_setting_that_neither_has_is_refused():
    with pytest.raises(ConfigError, match="has no setting 'timezon'; did you mean 'timezone'"):
        prepared(timezon="UTC")
