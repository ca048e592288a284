"""The conformance kit for engines: what each of them does as the engine ``local`` does it.

``EngineConformance`` is tests that an author's class inherits.
"""

from .kit import EngineConformance

__all__ = ["EngineConformance"]
