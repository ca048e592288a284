"""What all engines promise, by those for clusters."""

import os
from typing import ClassVar

import pytest
from clusters import real_slurm

from harvest_cluster.dask.engine import DaskEngine
from harvest_cluster.slurm.engine import SlurmEngine

testing = pytest.importorskip("harvest_testing", reason="hpc-harvest-testing is not installed")


@pytest.mark.slow
class TestDask(testing.EngineConformance):
    engine = DaskEngine
    settings: ClassVar = {"retries": 0}  # Dask itself tries four times

    @pytest.fixture(autouse=True)
    def _dask(self):
        pytest.importorskip("distributed", reason="the package distributed is not installed")


@pytest.mark.slow
class TestSlurm(testing.EngineConformance):
    engine = SlurmEngine
    settings: ClassVar = {"memory": "300M", "time": "5"}

    @pytest.fixture(autouse=True, scope="class")
    def _slurm(self):
        with real_slurm() as env, pytest.MonkeyPatch.context() as patch:
            for name in env.keys() - os.environ.keys():
                patch.setenv(name, env[name])
            yield
