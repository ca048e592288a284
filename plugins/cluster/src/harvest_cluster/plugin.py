"""Entry point of the plugin for harvest: two engines."""

from collections.abc import Iterable

from harvest import EngineSpec, hookimpl

harvest_api = 1


@hookimpl
def harvest_engines() -> Iterable[EngineSpec]:
    """Return the engines ``dask`` and ``slurm``."""
    return [
        EngineSpec(
            name="dask",
            doc="a Dask cluster: a running one, one on this machine, or one in Slurm jobs",
            factory="harvest_cluster.dask.engine:DaskEngine",
        ),
        EngineSpec(
            name="slurm",
            doc="an array of Slurm batch jobs",
            factory="harvest_cluster.slurm.engine:SlurmEngine",
        ),
    ]
