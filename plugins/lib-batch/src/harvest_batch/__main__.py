"""``python -m harvest_batch status|wait|cancel DIRECTORY``."""

from __future__ import annotations

import sys

from harvest import HarvestError
from harvest.toolkit.texts import printable_line

from .app import app


def main() -> int:
    """Call a command; errors become one line and an exit code."""
    try:
        return int(app(standalone_mode=False) or 0)
    except HarvestError as error:
        print(f"harvest: {printable_line(str(error))}", file=sys.stderr)
        return error.exit_code


if __name__ == "__main__":
    sys.exit(main())
