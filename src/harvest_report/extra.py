"""Import libraries of the extra ``report`` when they are first needed."""

import importlib
from typing import Any

from harvest.errors import HarvestError


def need(module: str, purpose: str) -> Any:
    """Import a module of the extra ``report``; raises HarvestError with what to install."""
    library = module.partition(".")[0]
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if error.name is not None and error.name.partition(".")[0] != library:
            raise
        problem = f"{purpose} needs {library}, which is not installed"
        raise HarvestError(problem, remedy="install hpc-harvest with the extra 'report'") from error
