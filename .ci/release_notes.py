"""One version's section of CHANGELOG.md, as the text of its GitLab release.

python .ci/release_notes.py v1.2.3
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def section(changelog: str, version: str) -> str | None:
    """What stands between a version's heading and the next one; None without that heading."""
    found = re.search(
        rf"^## {re.escape(version)} - [^\n]*\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL
    )
    return None if found is None else found[1].strip() + "\n"


if __name__ == "__main__":
    wanted = sys.argv[1].removeprefix("v")
    text = section((ROOT / "CHANGELOG.md").read_text(), wanted)
    if text is None:
        sys.exit(
            f"release_notes: CHANGELOG.md has no section for {wanted}; the job tag-release writes "
            "it with the tag: make tags with that job"
        )
    print(text, end="")
