"""The conformance kit for engines: what each of them does as the engine ``local`` does it."""

from .kit import EngineConformance

__all__ = ["EngineConformance"]
