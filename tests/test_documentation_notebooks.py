"""The notebooks of the documentation: each runs from its first cell to its last, and shows."""

import json
from pathlib import Path

import pytest
from html_shown import Shown

from docs_reference.notebooks import NOTEBOOKS, executed, page

EXPECTED = {
    # text of the outputs that is known beforehand: 24 loads, 4 counts and their sum; the dump's
    # 243 jobs with 723 steps, and its one bad line
    "dask-run": ['"load"', "24", '"count"', "4", '"sum"', "1", "Dask run R1"],
    "slurm-usage": ["slurm.job", "243", "slurm.step", "723", "CPU hours used and wasted"],
}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_repository_holds_a_notebook_without_outputs(path: Path) -> None:
    cells = json.loads(path.read_text("utf-8"))["cells"]

    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(code) >= 5
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_html(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("nbclient", reason="nbclient is not installed")
    pytest.importorskip("ipykernel", reason="ipykernel is not installed")
    for library in ("distributed", "harvest_dask", "matplotlib", "jinja2"):
        pytest.importorskip(library)

    notebook = executed(path, tmp_path)  # an error in a cell is raised

    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    kinds = [set(output.get("data", {})) for output in outputs]
    assert sum("text/html" in kind for kind in kinds) >= 3
    found = Shown(
        "".join(o["data"]["text/html"] for o in outputs if "text/html" in o.get("data", {}))
    )
    assert "svg" in found.tags
    texts = iter(found.texts)
    assert [text for text in EXPECTED[path.stem] if text not in texts] == []
    written = page(notebook, path.name)
    assert written.startswith("# Notebook: ")
    assert written.count("```python") == sum(c.cell_type == "code" for c in notebook.cells)
