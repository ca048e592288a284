"""The engine planted-threads, and what every engine promises."""

from __future__ import annotations

from planted_engine import ThreadsEngine

from harvest_testing import EngineConformance


class TestThreads(EngineConformance):
    engine = ThreadsEngine
