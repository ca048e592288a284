"""The scripts of ``examples/``, run in this process."""

import runpy
import sys
from pathlib import Path
from unittest import mock


def run_script(path: Path, *arguments: object) -> None:
    """Run a script as ``python PATH ARGUMENTS...`` does."""
    with (
        mock.patch.object(sys, "argv", [path.name, *map(str, arguments)]),
        mock.patch.object(sys, "path", [str(path.parent), *sys.path]),
    ):
        runpy.run_path(str(path), run_name="__main__")
