"""What this plugin does after a commit."""

import hashlib
import os
import time
from pathlib import Path

from harvest import Dataset, hookimpl
from harvest.toolkit.files import replacing

harvest_api = 1

VARIABLE = "HARVEST_FRESHNESS"
"""Environment variable with the folder of the files."""


@hookimpl
def harvest_committed(dataset: Dataset) -> None:
    """Write how fresh a dataset is, and how much it holds."""
    folder = os.environ.get(VARIABLE)
    if not folder:
        return
    place = str(Path(dataset.sink.location).absolute())
    name = hashlib.sha256(os.fsencode(place)).hexdigest()[:16]
    with replacing(Path(folder) / f"harvest_{name}.prom") as file:
        file.write_text("\n".join(_metrics(dataset, _label(place))) + "\n", encoding="utf-8")


def _metrics(dataset: Dataset, place: str) -> list[str]:
    rejects = int(dataset.accounts()["rejected"].sum())
    return [
        f'harvest_committed_timestamp_seconds{{dataset="{place}"}} {time.time():.0f}',
        *(
            f'harvest_rows{{dataset="{place}",record_type="{name}"}} {rows}'
            for name, rows in dataset.record_types.items()
        ),
        f'harvest_rejects{{dataset="{place}"}} {rejects}',
    ]


def _label(text: str) -> str:
    """A label's value: bytes that are no UTF-8 as what they stand for, and no quote as such."""
    shown = text.encode("utf-8", "backslashreplace").decode()
    return shown.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
