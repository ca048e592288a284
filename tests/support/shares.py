"""Shares in rows of views, against what they are a part of."""

import pytest


def check_share(share: float | None, part: float | None, whole: float | None) -> None:
    """The share is the part of the whole; null where one is not known or the whole is 0."""
    if share is None:
        assert part is None or not whole
    else:
        assert whole
        assert share == pytest.approx(part / whole)
