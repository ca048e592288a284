"""Entry point of the program: ``python -m harvest``; ``main`` is the console script ``harvest``.

Signal handlers are installed before anything large is imported.
"""

import os
import sys

from harvest import UNSUPPORTED

if UNSUPPORTED:
    sys.exit(f"harvest: {UNSUPPORTED}")
try:
    from harvest import interrupt

    interrupt.install()
except KeyboardInterrupt:  # Python raises it until the handlers are installed
    os.write(2, b"harvest: interrupted; nothing was begun\n")
    os._exit(130)


def main() -> None:
    """Run the command line and exit with one of its documented codes."""
    from harvest.cli.main import main as run  # late: signal handlers come first

    run()


if __name__ == "__main__":
    main()
