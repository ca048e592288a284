"""The conformance kit for exporters: a dataset is written as a whole, or nothing of it is.

``ExporterConformance`` is tests that an author's class inherits, and ``BrokenPromise`` how one
fails.
"""

from harvest_testing import BrokenPromise

from .kit import ExporterConformance

__all__ = ["BrokenPromise", "ExporterConformance"]
