"""Pages of the site that are notebooks: executed when the site is built, with what they showed.

The repository holds them without outputs, so that nothing on the site is older than the program.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

__all__ = ["NOTEBOOKS", "executed", "page"]

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
SECONDS = 300


def executed(path: Path, directory: Path) -> Any:
    """The notebook with its outputs, executed in an empty directory that gets the examples.

    Raises nbclient's CellExecutionError where a cell fails.
    """
    import nbclient  # of the extra dev
    import nbformat  # of the extra dev

    (directory / "examples").symlink_to(ROOT / "examples")
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    client = nbclient.NotebookClient(notebook, timeout=SECONDS, kernel_name="python3")
    client.execute(cwd=str(directory))
    return notebook


def page(notebook: Any, name: str) -> str:
    """An executed notebook as Markdown; name: of its file."""
    pieces = [piece for cell in notebook.cells for piece in _cell(cell)]
    pieces.insert(1, f'<p><a href="{name}" download>Download this notebook</a></p>')
    return "\n\n".join(pieces) + "\n"


def _cell(cell: Any) -> Iterator[str]:
    if cell.cell_type == "markdown":
        yield cell.source
        return
    yield f"```python\n{cell.source}\n```"
    for output in cell.outputs:
        yield from _output(output)


def _output(output: Any) -> Iterator[str]:
    data = output.get("data", {})
    if "text/html" in data:
        lines = (line for line in data["text/html"].splitlines() if line.strip())
        yield "\n".join(('<div class="notebook-output">', *lines, "</div>"))
    elif "image/png" in data:
        picture = data["image/png"].replace("\n", "")
        yield f'<img alt="{data["text/plain"]}" src="data:image/png;base64,{picture}">'
    else:
        text = output.text if output.output_type == "stream" else data["text/plain"]
        yield f"```text\n{text.rstrip()}\n```"
