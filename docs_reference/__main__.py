"""Print one page of the reference."""

import sys

from . import PAGES

if len(sys.argv) != 2 or sys.argv[1] not in PAGES:
    sys.exit(f"say which page: {', '.join(PAGES)}")
print(PAGES[sys.argv[1]](), end="")
