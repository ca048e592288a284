"""Take the pictures of README, where chromium is: ``python docs/images/make_pictures.py``.

A report of the example run, and the first page of ``harvest serve`` of the same dataset, each as a
browser shows it.
"""

import base64
import sys
import tempfile
from pathlib import Path
from typing import Any

import harvest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "tests" / "support"))

WIDTH, HEIGHT, SCALE = 1180, 760, 0.75


def take(browser: Any, name: str) -> None:
    """Write what a page shows first to a file next to this one."""
    clip = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT, "scale": SCALE}
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
            browser.wait("document.querySelector('figure svg').style.display == 'none'")
            take(browser, "report.png")
            browser.open(f"{server.address}?token={server.token}")
            take(browser, "serve.png")


if __name__ == "__main__":
    main()
