"""``python -m harvest.batch``: now ``python -m harvest_batch``."""

import sys

from harvest.moved import moved

if __name__ == "__main__":
    sys.exit(moved("harvest.batch.__main__", "harvest_batch.__main__")("main")())
