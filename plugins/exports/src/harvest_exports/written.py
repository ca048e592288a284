"""An export of changes alone: the check that it is of the latest commit, and what it wrote."""

import attrs

from harvest import Dataset, DatasetChanged
from harvest.toolkit.amounts import count_in_words


def check_current(dataset: Dataset) -> None:
    """Raise DatasetChanged if the dataset has a later commit than the opened one."""
    if not dataset.is_current():
        raise DatasetChanged("the dataset has changed since it was opened", remedy="open it again")


@attrs.define
class Written:
    """Counts of an export: rows written, rows removed, and tables changed."""

    rows: int = 0
    removed: int = 0
    tables: int = 0

    def __str__(self) -> str:
        rows, removed = count_in_words(self.rows, "row"), count_in_words(self.removed, "row")
        tables = count_in_words(self.tables, "table")
        return f"{rows} written and {removed} removed in {tables}"
