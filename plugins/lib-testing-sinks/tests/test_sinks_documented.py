"""Every promise of the kit for sinks is explained to their authors."""

from __future__ import annotations

from pathlib import Path

from harvest_testing_sinks import SinkConformance


def test_every_promise_is_documented():
    page = (Path(__file__).resolve().parents[3] / "docs" / "testing-plugins.md").read_text()
    for name in (n for n in dir(SinkConformance) if n.startswith("test_")):
        assert f"`{name}" in page, f"{name} is not in docs/testing-plugins.md"
