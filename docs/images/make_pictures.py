"""Take the pictures of README, where chromium is: ``python docs/images/make_pictures.py``.

A report of the example run, and the first page of ``harvest serve`` of the same dataset, each as a
browser shows it.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path
from typing import Any

import harvest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

WIDTH, HEIGHT, SCALE = 1180, 900, 0.75
TASK_STREAM = (
    "[...document.querySelectorAll('main h2')].find(h => h.innerText == 'Task stream')"
    ".getBoundingClientRect().top + scrollY - 16"
)


def take(browser: Any, name: str, y: float = 0) -> None:
    """Write what a page shows from a height on to a file beside this one."""
    clip = {"x": 0, "y": y, "width": WIDTH, "height": HEIGHT, "scale": SCALE}
    taken = browser.send("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
    (HERE / name).write_bytes(base64.b64decode(taken["data"]))


def main() -> None:
    """Harvest the example, and take both pictures."""
    from browser import Browser  # late: of the folder of tests
    from serving import serving

    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        harvest.run(str(ROOT / "examples" / "dask-run"), f"parquet:{folder / 'tour'}")
        report = folder / "report.html"
        harvest.open(folder / "tour").report("dask.run").write(report)
        with serving(folder / "tour") as server, Browser(folder, (WIDTH, HEIGHT)) as browser:
            browser.open(report.as_uri())
            y = browser.value(TASK_STREAM)
            take(browser, "report.png", y)
            browser.open(f"{server.address}?token={server.token}")
            take(browser, "serve.png")


if __name__ == "__main__":
    main()
