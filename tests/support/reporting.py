"""The page of a report without what rules conclude, which costs most of its time."""

from typing import Any

from harvest import Dataset
from harvest.plugins.building import call


def page_of(dataset: Dataset, name: str, /, **settings: Any) -> Any:
    """What the report's own function makes, for tests of its words, tables and plots."""
    spec = dataset.plugins.report(name)
    return call("report", spec, spec.build, (dataset,), settings)
