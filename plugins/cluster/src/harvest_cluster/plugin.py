"""Entry point of the plugin for harvest: two engines."""

from harvest import EngineSpec, declare

harvest_engines = declare(
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
)
