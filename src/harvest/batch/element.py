"""What scripts call that were submitted before ``harvest_batch.element`` was it."""

import sys

from harvest.moved import moved

if __name__ == "__main__":
    sys.exit(moved("harvest.batch.element", "harvest_batch.element")("main")())
