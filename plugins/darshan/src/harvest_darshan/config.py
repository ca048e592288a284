"""Settings of the source ``darshan``: how much work one log may cause."""

from __future__ import annotations

import attrs

from harvest.toolkit.settings import positive, setting


@attrs.frozen(kw_only=True)
class DarshanConfig:
    """Settings of the source ``darshan``."""

    max_inflated_bytes: int = setting(
        "Bytes that the regions of one log may inflate to; beyond, a reject.", 16 << 30, positive
    )
    max_ratio: int = setting(
        "How many times its size a region over 64 MiB may inflate to.", 500, positive
    )
    max_seconds: float = setting(
        "Seconds that checking one log may take; beyond, a reject.", 600.0, positive
    )
