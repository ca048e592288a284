"""The example's study, made and harvested once; helpers beside the tests can be imported."""

import shutil
import sys
from pathlib import Path

import pytest
from scripts import run_script

import harvest

sys.path.insert(0, str(Path(__file__).parent))

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "ncem-study"


def harvest_study(inputs: Path, out: Path) -> harvest.Dataset:
    """What is there of the inputs that the example's script writes."""
    parts = {"slurm": "sacct.csv", "distiller": "distiller", "ncem": "ncem"}
    harvest.run(
        [f"{name}:{inputs / part}" for name, part in parts.items() if (inputs / part).exists()],
        f"parquet:{out}",
        settings={"slurm": {"timezone": "America/Los_Angeles"}},
        workers=1,
    )
    return harvest.open(out)


@pytest.fixture(scope="session")
def inputs(tmp_path_factory) -> Path:
    """The inputs that the example's script writes."""
    folder = tmp_path_factory.mktemp("study")
    run_script(EXAMPLE / "make_study.py", folder)
    return folder


@pytest.fixture(scope="session")
def example(inputs, tmp_path_factory) -> harvest.Dataset:
    """The inputs of the example's study, harvested."""
    return harvest_study(inputs, tmp_path_factory.mktemp("example") / "out")


@pytest.fixture(scope="session")
def example_without(inputs, tmp_path_factory):
    """The example's inputs without one kind of them, and the dataset that they give."""

    def build(kind: str):
        less = tmp_path_factory.mktemp("less") / "study"
        shutil.copytree(inputs, less)
        for path in less.glob(kind):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        return less, harvest_study(less, less.parent / "out")

    return build
