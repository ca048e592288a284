"""Settings of the source ``darshan``: limits per log."""

import attrs

from harvest.toolkit.settings import positive, setting


@attrs.frozen(kw_only=True)
class DarshanConfig:
    """Settings of the source ``darshan``."""

    max_inflated_bytes: int = setting(
        "Most inflated bytes of the regions of one log; more is a reject.", 16 << 30, positive
    )
    max_ratio: int = setting(
        "Largest ratio of inflated to compressed size, above 64 MiB.", 500, positive
    )
    max_seconds: float = setting(
        "Longest time to check one log, in seconds; more is a reject.", 600.0, positive
    )
