"""Settings of the source ``ncem``."""

from __future__ import annotations

import re

import attrs

from harvest.toolkit.settings import setting, time_zone

from .durations import microseconds

DEFAULT_ZONE = "America/Los_Angeles"


def _offsets(
    instance: object, attribute: attrs.Attribute[dict[str, str]], value: dict[str, str]
) -> None:
    for key, text in value.items():
        if not re.fullmatch(r"\d+|ncem|nersc", key):
            raise ValueError(
                f"clock_offset.{key}: no such clock; name a receiver by its number, "
                "or a site: ncem, nersc"
            )
        try:
            microseconds(text)
        except ValueError as error:
            raise ValueError(f"clock_offset.{key}: {error}") from error


@attrs.frozen(kw_only=True)
class NcemConfig:
    """Settings for clocks and for times without a zone."""

    timezone: str = setting(
        "IANA zone of times that carry none, as in the CSV tables", DEFAULT_ZONE, time_zone
    )
    clock_offset: dict[str, str] = attrs.field(
        factory=dict,
        validator=_offsets,
        metadata={
            "doc": "per receiver (clock_offset.1=-27ms) and site (.ncem, .nersc): what is added "
            "to the clock's reading to get the true time; units us, ms, s, m, h"
        },
    )

    def receiver_offset(self, receiver: int) -> int:
        """Return microseconds to add to a receiver's clock: its own offset, else its site's."""
        own = self.clock_offset.get(str(receiver))
        return microseconds(own) if own is not None else self.site_offset("ncem")

    def site_offset(self, site: str) -> int:
        """Return microseconds to add to the file times of a site."""
        return microseconds(self.clock_offset.get(site, "0"))
