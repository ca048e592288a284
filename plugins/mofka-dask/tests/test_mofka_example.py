"""The example run is what its script makes."""

from pathlib import Path

from scripts import run_script

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
RUN = EXAMPLES / "dask-run/D2024-05-06_07:08:09_R1_W4"


def contents(directory: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in sorted(directory.iterdir())}


def test_the_script_makes_the_shipped_files(tmp_path):
    run_script(EXAMPLES / "make_run.py", tmp_path)
    assert contents(tmp_path / RUN.name) == contents(RUN)
