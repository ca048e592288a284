"""The engine futures, and what every engine promises."""

from planted_engine import FuturesEngine

from harvest_testing import EngineConformance


class TestFutures(EngineConformance):
    engine = FuturesEngine
    limit_s = 100
