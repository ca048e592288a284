"""The conformance kit for engines: what each of them does as the engine ``local`` does it.

``EngineConformance`` is tests that an author's class inherits, and ``BrokenPromise`` how one fails.
"""

from harvest_testing import BrokenPromise

from .kit import EngineConformance

__all__ = ["BrokenPromise", "EngineConformance"]
