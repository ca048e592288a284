"""The conformance kit for engines: each must give the same dataset as the engine ``local``."""

from .kit import EngineConformance

__all__ = ["EngineConformance"]
