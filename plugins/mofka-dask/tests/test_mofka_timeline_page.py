"""The timeline page in a browser: it opens from a file, zooms, and shows what is pointed at."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import harvest

pytest.importorskip("bokeh", reason="bokeh, of the extra 'timeline', is not installed")

from harvest_mofka_dask.timeline import write_timeline
from harvest_mofka_dask.timeline.slices import Lane, Slices
from harvest_mofka_dask.timeline.write import to_page

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed"),
]

RUN = Path(__file__).resolve().parents[3] / "examples/dask-run/D2024-05-06_07:08:09_R1_W4"
SECOND = 1_000_000


@pytest.fixture
def opened(tmp_path):
    """Opens a page in a browser, and waits until it is drawn."""
    from browser import Browser

    try:
        browser = Browser(tmp_path)
    except RuntimeError as error:
        pytest.skip(f"chromium cannot run here: {error}")

    def open_page(path):
        browser.open(path.as_uri())
        browser.wait("document.getElementById('state').textContent != ''")
        return browser

    with browser:
        yield open_page


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    out = tmp_path_factory.mktemp("run") / "out"
    harvest.run(sources=[f"mofka-dask:{RUN}"], sinks=[f"parquet:{out}"])
    return harvest.open(out)


def state(browser):
    """The numbers that the page states: in view, in all, drawn as themselves, merged, marks."""
    words = browser.value("document.getElementById('state').textContent")
    numbers = [int(n.replace(",", "")) for n in re.findall(r"([\d,]*\d) (?:of|events|drawn|in|marks)", words)]
    return dict(zip(("shown", "events", "alone", "merged", "marks"), numbers, strict=True))


def settled(browser, script):
    """Do something, and wait until the page states other numbers."""
    before = json.dumps(browser.value("document.getElementById('state').textContent"))
    browser.value(f"{script}; null")
    browser.wait(f"document.getElementById('state').textContent != {before}")


def range_of(seconds):
    start, end = seconds
    return f"Bokeh.documents[0].get_model_by_name('times').setv({{start: {start}, end: {end}}})"


def position(browser, seconds, row):
    """Where on the page a moment on a row is drawn: from what two other points are."""
    browser.value(
        "Bokeh.documents[0].get_model_by_name('timeline').on_event('mousemove',"
        "event => { window.pointed = [event.x, event.y]; }); null"
    )
    points = [(500, 300), (700, 400)]
    values = []
    for point in points:
        browser.value("window.pointed = null")
        browser.mouse("mouseMoved", *point)
        browser.wait("window.pointed")
        values.append(browser.value("window.pointed"))
    return [
        a + (wanted - p) * (b - a) / (q - p)
        for a, b, p, q, wanted in zip(*points, *values, (seconds, row), strict=True)
    ]


def tip(browser):
    browser.wait("!document.getElementById('tip').hidden")
    return browser.value("document.getElementById('tip').innerText")


def quiet(browser, path):
    """Nothing is fetched, refused or wrong."""
    said = [words for words in browser.complaints if "setting log level" not in words]
    return said == [] and browser.requests == [path.as_uri()]


def test_pointing_at_an_execution_shows_its_key(dataset, opened, tmp_path):
    path = tmp_path / "t.html"
    write_timeline(dataset, path)
    # given the longest execution, and the row on which its thread is drawn
    rows = dataset.view("dask.trace").collect()
    longest = rows.filter(cat="task").sort("dur").row(-1, named=True)
    thread = json.loads(
        rows.filter(pl.col("name") == "thread_name", tid=longest["tid"])["args"].item()
    )["name"]

    browser = opened(path)
    labels = browser.value(
        "[...Bokeh.documents[0].get_model_by_name('timeline').left[0].major_label_overrides]"
        ".map(([place, label]) => [Number(place), label])"
    )
    (place,) = [place for place, label in labels if label == thread]
    middle = (longest["ts"] + longest["dur"] / 2) / SECOND
    x, y = position(browser, middle, place)
    browser.mouse("mouseMoved", x - 1, y)
    browser.mouse("mouseMoved", x, y)

    words = tip(browser)
    assert longest["name"] in words
    assert json.loads(longest["args"])["key"] in words
    assert f"{longest['dur'] / 1000:,g} ms" in words
    assert "memory" in words
    assert thread in words
    assert quiet(browser, path)


def test_keys_zoom_in_and_back(dataset, opened, tmp_path):
    path = tmp_path / "t.html"
    write_timeline(dataset, path)
    browser = opened(path)
    whole = state(browser)
    spans = []
    for key in ("+", "+", "0"):
        browser.key(key)
        spans.append(
            browser.value(
                "(() => { const r = Bokeh.documents[0].get_model_by_name('times');"
                "return r.end - r.start; })()"
            )
        )
    first, second, last = spans
    assert second == pytest.approx(first / 2)
    assert last == pytest.approx(4 * second)
    browser.wait(f"document.getElementById('state').textContent.includes('{whole['shown']} of')")
    assert quiet(browser, path)


def test_a_hidden_kind_is_not_pointed_at_and_the_page_follows_the_dark(dataset, opened, tmp_path):
    path = tmp_path / "t.html"
    write_timeline(dataset, path)
    browser = opened(path)
    ground = "String(Bokeh.documents[0].get_model_by_name('timeline').background_fill_color)"
    light = browser.value(ground)
    browser.dark()
    browser.wait(f"({ground}) != {json.dumps(light)}")
    browser.value("document.querySelector('#legend input').click()")
    assert browser.value("Bokeh.documents[0].get_model_by_name('kind-0').visible") is False
    assert quiet(browser, path)


def million(workers=64, hours=1):
    """A run of a million events on lanes of its workers, back to back, of very different lengths.

    Gives the slices; each lane has as many, so that their number is known beforehand.
    """
    rng = np.random.default_rng(7)
    lanes = 4 * workers
    each = 1_000_000 // lanes
    steps = rng.lognormal(0, 1.5, (lanes, each))
    edges = np.cumsum(steps / steps.sum(axis=1, keepdims=True), axis=1) * hours * 3600 * SECOND
    start = np.concatenate([np.zeros((lanes, 1)), edges[:, :-1]], axis=1).astype(np.int64)
    dur = ((edges.astype(np.int64) - start) * rng.uniform(0.2, 0.9, (lanes, each))).astype(np.int64)
    number = np.arange(lanes * each)
    rows = pl.DataFrame(
        {
            "lane": np.repeat(np.arange(lanes, dtype=np.uint32), each),
            "name": (number % 20).astype(np.uint32),
            "start": start.ravel(),
            "dur": dur.ravel(),
            "args": pl.Series([f'{{"key":"(\'load-4f1c\', {i})","outcome":"memory"}}' for i in number]),
        }
    ).sort("start", "dur", "lane", descending=[False, True, False])  # fmt: skip
    names = pl.DataFrame({"cat": ["task"] * 20, "name": [f"prefix-{i:02d}" for i in range(20)]})
    threads = [Lane(f"worker {i // 4}", "", f"thread {i % 4}") for i in range(lanes)]
    events = Counter({"X": rows.height, "M": 4 * lanes})
    return Slices("runs/million", 0, rows, names, threads, events, {})


def test_a_million_events_are_marks_from_afar_and_themselves_nearby(opened, tmp_path):
    slices = million()
    path = tmp_path / "million.html"
    path.write_text(to_page(slices), "utf-8")
    # 24 bytes of numbers and about 45 of text for each event, compressed
    assert path.stat().st_size < 40e6

    browser = opened(path)
    afar = state(browser)
    assert afar["events"] == slices.rows.height > 999_000
    assert afar["merged"] > 2 * afar["marks"] > 0
    # what is drawn is bounded by the pixels, not by the run
    assert afar["alone"] + afar["marks"] < 100_000

    settled(browser, range_of((1_000.0, 1_000.5)))
    near = state(browser)
    assert near["merged"] == near["marks"] == 0
    # given the lanes that fit on the page, those events that overlap the range
    rows = browser.value(
        "(() => { const r = Bokeh.documents[0].get_model_by_name('rows'); return [r.end, r.start]; })()"
    )
    lanes = [i for i in range(256) if rows[0] - 1 < i + i // 4 + 1 < rows[1]]
    wanted = slices.rows.filter(
        pl.col("lane").is_in(lanes),
        pl.col("start") <= 1_000.5 * SECOND,
        pl.col("start") + pl.col("dur") >= 1_000 * SECOND,
    )
    assert near["shown"] == near["alone"] == wanted.height > 0

    # all blocks are never unpacked at once
    browser.send("Performance.enable")
    browser.send("HeapProfiler.collectGarbage")
    metrics = {m["name"]: m["value"] for m in browser.send("Performance.getMetrics")["metrics"]}
    assert metrics["JSHeapUsedSize"] < 400e6
    assert quiet(browser, path)


def test_lanes_that_do_not_fit_are_reached_by_the_scroll_bar(opened, tmp_path):
    path = tmp_path / "lanes.html"
    path.write_text(to_page(lanes_of(300)), "utf-8")
    browser = opened(path)
    rows = "Bokeh.documents[0].get_model_by_name('rows')"
    assert browser.value(f"{rows}.end") == 0
    browser.value("{ const bar = document.getElementById('lanes'); bar.scrollTop = bar.scrollHeight; }")
    browser.wait(f"Math.abs({rows}.start - {rows}.bounds[1]) < 1")
    assert quiet(browser, path)


def lanes_of(count):
    """One event on each of many lanes."""
    rows = pl.DataFrame(
        {"lane": range(count), "name": 0, "start": range(count), "dur": 5, "args": '{"key":"k"}'},
        schema={"lane": pl.UInt32, "name": pl.UInt32, "start": pl.Int64, "dur": pl.Int64,
                "args": pl.String},
    )  # fmt: skip
    names = pl.DataFrame({"cat": ["task"], "name": ["load"]})
    lanes = [Lane("worker 0", "", f"thread {i}") for i in range(count)]
    return Slices("runs/lanes", 0, rows, names, lanes, Counter({"X": count}), {})
