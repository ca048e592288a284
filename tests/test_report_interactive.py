"""A plot of a page that a reader points at and zooms into, in a real browser."""

import shutil
import time

import polars as pl
import pytest

from harvest_report import MOST_MARKS, Column, Marks, Plot, Report

pytest.importorskip("bokeh", reason="bokeh, of the extra 'report', is not installed")

NASTY = "</script><b>task</b>"


def page_of(tasks: int) -> Report:
    """A report with one plot: tasks one after the other, each of a second."""
    rows = pl.DataFrame({"left": range(tasks)}).select(
        pl.col("left").cast(pl.Float64),
        right=pl.col("left") + 1.0,
        bottom=0.5,
        top=-0.5,
        colour=pl.lit("C0"),
        task=pl.lit(NASTY),
        took=1.0,
    )
    tips = (Column("task"), Column("took", unit="s"))
    plot = Plot(
        "stream",
        lambda figure: figure.subplots().plot([0, tasks]),
        "Task stream",
        "All tasks.",
        marks=lambda: Marks(rows, tips, "seconds since start", {0.0: "worker 1"}),
    )
    return Report("Run", sections=[plot])


@pytest.mark.slow
def test_a_plot_of_too_many_marks_stays_a_picture():
    few, many = page_of(2).html(), page_of(MOST_MARKS + 1).html()

    assert "script-src 'sha256-" in few
    assert "<script" not in many
    assert "<svg" in few
    assert "<svg" in many


def test_where_no_script_may_run_the_page_has_none():
    page = page_of(2).html(interactive=False)

    assert "<script" not in page
    assert "script-src" not in page
    assert "<svg" in page


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_what_is_pointed_at_is_shown_as_text(tmp_path):
    from browser import Browser

    path = tmp_path / "run.html"
    path.write_text(page_of(4).html())
    try:
        browser = Browser(tmp_path)
    except RuntimeError as error:
        pytest.skip(f"chromium cannot run here: {error}")
    with browser:
        # when the page is open, then the interactive plot is in the picture's place
        browser.open(path.as_uri())
        browser.wait("document.querySelector('figure svg').style.display == 'none'")
        left, top, width, height = browser.value(
            "(r => [r.left, r.top, r.width, r.height])"
            "(document.getElementById('stream--marks').getBoundingClientRect())"
        )

        # when a mark is pointed at, then it is described, and its text is no markup
        shown = """(function text(node) {
          return (node.shadowRoot ? text(node.shadowRoot) : "") +
            [...node.childNodes].filter((each) => each.nodeName != "SCRIPT")
              .map((each) => each.nodeType == 3 ? each.data : text(each)).join("");
        })(document.body)"""
        for _ in range(100):  # until it follows the mouse
            browser.mouse("mouseMoved", left + width * 0.4, top + height / 2)
            browser.mouse("mouseMoved", left + width * 0.41, top + height / 2)
            if NASTY in browser.value(shown):
                break
            time.sleep(0.1)
        assert NASTY in browser.value(shown)
        assert [said for said in browser.complaints if "setting log level" not in said] == []
        assert browser.requests == [path.as_uri()]
