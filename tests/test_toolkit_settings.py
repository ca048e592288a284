"""Settings that say what is wrong with a value, by the setting's name."""

import attrs
import pytest

from harvest import ConfigError
from harvest.api.settings import describe, structure
from harvest.toolkit.settings import (
    allows,
    at_least,
    matches,
    one_of,
    positive,
    setting,
    time_zone,
    within,
)


@attrs.frozen(kw_only=True)
class Config:
    rows: int = setting("Rows at a time.", 10, at_least(2))
    seconds: float = setting("Seconds to wait.", 1.5, positive)
    level: int | None = setting("Level of compression.", check=within(1, 9))
    codec: str = setting("Compression.", "none", one_of(["none", "gzip"]))
    zone: str = setting("Zone of times.", "UTC", time_zone)
    sizes: tuple[str, ...] = setting(
        "Sizes.", ("1x1",), matches(r"\d+x\d+", "write it like 128x128"), converter=tuple
    )
    plain: dict[str, str] = setting("Anything.", attrs.Factory(dict))  # noqa: RUF009


def test_defaults_and_good_values_are_taken():
    assert attrs.asdict(Config()) == {
        "rows": 10,
        "seconds": 1.5,
        "level": None,
        "codec": "none",
        "zone": "UTC",
        "sizes": ("1x1",),
        "plain": {},
    }
    Config(rows=2, seconds=0.1, level=9, codec="gzip", zone="Europe/Berlin", sizes=["2x3", "4x5"])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("rows", 1, "rows must be at least 2, not 1"),
        ("seconds", 0, "seconds must be greater than 0, not 0"),
        ("seconds", float("nan"), "seconds must be greater than 0, not nan"),
        ("level", 10, "level must be 1 to 9, not 10"),
        ("level", 0, "level must be 1 to 9, not 0"),
        ("codec", "lzma", "codec must be one of none, gzip, not 'lzma'"),
        ("zone", "Mars/Olympus", "zone 'Mars/Olympus' is not a known IANA zone"),
        ("zone", "../etc/passwd", "zone '../etc/passwd' is not a known IANA zone"),
        ("sizes", ["2x3", "x\n"], r"sizes 'x\n' is not valid; write it like 128x128"),
    ],
)
def test_a_bad_value_is_refused_by_the_name_of_its_setting(name, value, message):
    with pytest.raises(ValueError) as caught:
        Config(**{name: value})
    assert str(caught.value).startswith(message)
    with pytest.raises(ConfigError) as told:
        structure(Config, {name: value}, plugin="demo")
    assert told.value.where == f"demo.{name}"


def test_what_is_allowed_is_shown_to_users():
    shown = {setting.name: (setting.value, setting.choices) for setting in describe(Config)}
    assert shown == {
        "rows": ("whole number, at least 2", ()),
        "seconds": ("number, more than 0", ()),
        "level": ("whole number, 1 to 9", ()),
        "codec": ("none or gzip", ("none", "gzip")),
        "zone": ("text, an IANA time zone", ()),
        "sizes": ("texts with commas", ()),
        "plain": ("text by key", ()),
    }


def test_a_hidden_setting_is_accepted_and_not_shown():
    @attrs.frozen
    class Fewer:
        rows: int = setting("Rows at a time.", 10)
        pace: str | None = setting("No longer does anything.", hidden=True)

    assert [each.name for each in describe(Fewer)] == ["rows"]
    assert structure(Fewer, {"pace": "slow"}, plugin="demo") == Fewer(pace="slow")


def test_a_check_of_one_s_own_says_what_it_allows():
    @allows("an even number")
    def even(value):
        if value % 2:
            raise ValueError(f"must be even, not {value}")

    @attrs.frozen
    class Pairs:
        count: int = setting("How many.", 2, even)
        open: bool = setting("Whether.", False)

    count, opened = describe(Pairs)
    assert count.value == "whole number, an even number"
    assert (opened.value, opened.default) == ("true or false", "false")
    with pytest.raises(ConfigError, match="count must be even, not 3"):
        structure(Pairs, {"count": "3"}, plugin="demo")
