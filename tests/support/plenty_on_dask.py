"""What it takes to harvest very many rows by four workers of a Dask cluster, and to sum them up.

``python plenty_on_dask.py FOLDER DATASET`` prints it as JSON.
"""

import json
import resource
import sys
from pathlib import Path

import polars as pl

import harvest
from harvest.engines import Progress
from harvest.pipeline.prepare import Observer
from harvest.pipeline.session import execute
from harvest.plugins.registry import manager
from harvest.recipes.endpoints import endpoint_of
from harvest.recipes.recipe import Recipe


class Watching(Observer):
    """Adds up what is reported while a run goes on."""

    def __init__(self) -> None:
        self.reports = self.rows = 0

    def progressed(self, progress: Progress) -> None:
        self.reports += 1
        self.rows += progress.rows


def peak_mb(who: int) -> int:
    """Most memory that this process had, or the largest of those that it started."""
    return resource.getrusage(who).ru_maxrss >> 10


def main() -> None:
    folder, dataset = sys.argv[1:]
    source, plugins = Path(__file__).with_name("plenty.py"), manager()
    recipe = Recipe(
        sources=(endpoint_of(f"{source}:{folder}", "source", plugins),),
        sinks=(endpoint_of(f"parquet:{dataset}", "sink", plugins),),
        engine="dask",
        workers=4,
    )
    watching, before_mb = Watching(), peak_mb(resource.RUSAGE_SELF)
    result = execute(recipe, plugins, observer=watching)
    harvested_mb = peak_mb(resource.RUSAGE_SELF)
    rows = harvest.open(dataset)["plenty.row"]
    sums = rows.group_by(pl.col("position") % 10).agg(pl.len()).collect(engine="streaming")
    found = {
        "rows": sum(part.written for part in result.parts),
        "summed": sums["len"].to_list(),
        "reports": watching.reports,
        "reported": watching.rows,
        "before_mb": before_mb,
        "harvested_mb": harvested_mb,
        "summed_mb": peak_mb(resource.RUSAGE_SELF),
        "worker_mb": peak_mb(resource.RUSAGE_CHILDREN),
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
