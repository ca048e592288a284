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

pytest.importorskip("harvest_mofka_dask", reason="runs are read by the plugin mofka-dask")
pytest.importorskip("bokeh", reason="bokeh, of the extra 'timeline', is not installed")

from harvest_dask_runs.timeline import write_timeline
from harvest_dask_runs.timeline.slices import Lane, Slices
from harvest_dask_runs.timeline.write import to_page

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed"),
]

MODEL = "Bokeh.documents[0].get_model_by_name('{}')".format
STATE = "document.getElementById('state').textContent"
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
    found = re.findall(r"([\d,]*\d) (?:of|events|drawn|in|marks)", browser.value(STATE))
    numbers = [int(number.replace(",", "")) for number in found]
    return dict(zip(("shown", "events", "alone", "merged", "marks"), numbers, strict=True))


def visible(browser, name):
    """Start and end of one of the page's ranges: ``times`` in seconds, or ``rows``."""
    return browser.value(f"[{MODEL(name)}.start, {MODEL(name)}.end]")


def show(browser, start, end):
    """Zoom to seconds of the run, and wait until the page states what is in view."""
    before = json.dumps(browser.value(STATE))
    browser.value(f"{MODEL('times')}.setv({{start: {start}, end: {end}}}); null")
    browser.wait(f"{STATE} != {before}")


def point(browser, seconds, row):
    """Point at a moment on a row: where that is follows from what two other places are."""
    browser.value(
        f"{MODEL('timeline')}.on_event('mousemove',"
        "event => { window.pointed = [event.x, event.y]; }); null"
    )
    left, top, width, height = browser.value(
        "(box => [box.left, box.top, box.width, box.height])"
        "(document.getElementById('plot').getBoundingClientRect())"
    )
    places = [(left + width * a, top + height * b) for a, b in ((0.4, 0.4), (0.7, 0.6))]
    values = [pointed_at(browser, *place) for place in places]
    x, y = (
        a + (wanted - p) * (b - a) / (q - p)
        for a, b, p, q, wanted in zip(*places, *values, (seconds, row), strict=True)
    )
    assert pointed_at(browser, x, y) == pytest.approx([seconds, row], rel=0.01)


def pointed_at(browser, x, y):
    browser.value("window.pointed = null")
    browser.mouse("mouseMoved", x, y)
    browser.wait("window.pointed")
    return browser.value("window.pointed")


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
    named = rows.filter(pl.col("name") == "thread_name", tid=longest["tid"])
    thread = json.loads(named["args"].item())["name"]
    browser = opened(path)
    labels = browser.value(
        f"[...{MODEL('timeline')}.left[0].major_label_overrides]"
        ".map(([place, label]) => [Number(place), label])"
    )
    (place,) = [place for place, label in labels if label == thread]

    point(browser, (longest["ts"] + longest["dur"] / 2) / SECOND, place)

    words = tip(browser)
    assert longest["name"] in words
    assert json.loads(longest["args"])["key"] in words
    assert f"{longest['dur'] / 1000:,g} ms" in words
    assert "memory" in words
    assert thread in words
    assert quiet(browser, path)


def test_the_wheel_and_keys_zoom(dataset, opened, tmp_path):
    path = tmp_path / "t.html"
    write_timeline(dataset, path)
    browser = opened(path)
    whole = visible(browser, "times")

    spans = []
    for key in ("+", "+", "0"):
        browser.key(key)
        start, end = visible(browser, "times")
        spans.append(end - start)
    assert spans[1] == pytest.approx(spans[0] / 2)
    assert spans[2] == pytest.approx(4 * spans[1])
    assert visible(browser, "times") == pytest.approx(whole)

    browser.mouse("mouseWheel", 600, 400, deltaX=0, deltaY=-200)
    browser.wait(f"{MODEL('times')}.end - {MODEL('times')}.start < {whole[1] - whole[0]}")
    assert quiet(browser, path)


def test_a_page_follows_the_choice_of_dark(dataset, opened, tmp_path):
    path = tmp_path / "t.html"
    write_timeline(dataset, path)
    browser = opened(path)
    ground = f"String({MODEL('timeline')}.background_fill_color)"
    assert browser.value(ground) == "#ffffff"
    browser.dark()
    browser.wait(f"{ground} == '#15181e'")
    assert quiet(browser, path)


def test_io_shows_its_file_and_bytes_and_the_task_around_it(opened, tmp_path):
    # given a task of ten seconds that read for six of them
    args = ['{"key":"load-1"}', '{"path":"/data/a.h5","bytes":4096,"offset":0,"task":"load-1"}']
    rows = events([(0, 1, 0, 10 * SECOND), (0, 0, 2 * SECOND, 6 * SECOND)], args)
    names = pl.DataFrame({"cat": ["io", "task"], "name": ["read", "load"]})
    path = tmp_path / "io.html"
    path.write_text(to_page(made(rows, names, 1)), "utf-8")
    browser = opened(path)

    # when its lower half is pointed at, below the row of the process
    point(browser, 5, 1.75)
    words = tip(browser)
    # then the inner one comes first
    assert words.startswith("read")
    assert words.index("/data/a.h5") < words.index("\nload\n")
    assert "4,096" in words
    assert "duration\n6 s" in words

    # and when reads are hidden, the task alone is there
    browser.value("document.querySelectorAll('#legend input')[1].click()")
    point(browser, 5.1, 1.75)
    browser.wait("document.getElementById('tip').innerText.startsWith('load')")
    assert "/data/a.h5" not in tip(browser)
    assert quiet(browser, path)


def test_a_mark_says_for_how_many_events_it_stands(opened, tmp_path):
    # given events of 50 µs every 100 µs from second 4 to 6 of a run of ten
    rows = events(
        [(0, 0, 0, 1), *((0, 0, 4 * SECOND + 100 * i, 50) for i in range(20_000)),
         (0, 0, 10 * SECOND, 1)], ['{"key":"k"}'] * 20_002,
    )  # fmt: skip
    path = tmp_path / "marks.html"
    path.write_text(to_page(made(rows, pl.DataFrame({"cat": ["task"], "name": ["load"]}), 1)))
    browser = opened(path)
    afar = state(browser)
    assert afar["alone"] + afar["merged"] == afar["shown"] == afar["events"] == 20_002
    assert afar["merged"] > 19_900

    # a pixel is about 10 ms, and the bins of the level below it are 4,096 µs: 41 events in each
    point(browser, 5, 1.9)
    words = tip(browser)
    count, busy = re.match(
        r"(\d+) events in one mark; .*busy\n([\d.]+) %", words, re.DOTALL
    ).groups()
    assert int(count) in (40, 41)
    assert float(busy) == pytest.approx(50, abs=2)

    # and nearby each of them is itself
    show(browser, 4.9995, 5.0005)
    near = state(browser)
    assert (near["merged"], near["marks"]) == (0, 0)
    assert near["shown"] in (10, 11)
    assert quiet(browser, path)


def events(drawn, args):
    """Rows of slices: lane, name, start and dur of each, with its args."""
    schema = {"lane": pl.UInt32, "name": pl.UInt32, "start": pl.Int64, "dur": pl.Int64}
    rows = pl.DataFrame(drawn, schema=schema, orient="row").with_columns(args=pl.Series(args))
    return rows.sort("start", "dur", "lane", descending=[False, True, False])


def made(rows, names, lanes):
    """Slices on the lanes of workers with four threads each."""
    threads = [Lane(f"worker {i // 4}", "", f"thread {i % 4}") for i in range(lanes)]
    return Slices("runs/made", 0, rows, names, threads, Counter({"X": rows.height}), {})


def million(workers=64):
    """A million events on the lanes of an hour's run, back to back, of very different lengths."""
    rng = np.random.default_rng(7)
    lanes = 4 * workers
    each = 1_000_000 // lanes
    steps = rng.lognormal(0, 1.5, (lanes, each))
    edges = np.cumsum(steps / steps.sum(axis=1, keepdims=True), axis=1) * 3600 * SECOND
    ends = edges.astype(np.int64)
    starts = np.concatenate([np.zeros((lanes, 1), np.int64), ends[:, :-1]], axis=1)
    durations = ((ends - starts) * rng.uniform(0.2, 0.9, (lanes, each))).astype(np.int64)
    number = pl.Series("number", np.arange(lanes * each))
    rows = pl.DataFrame(
        {
            "lane": np.repeat(np.arange(lanes, dtype=np.uint32), each),
            "name": (number % 20).cast(pl.UInt32),
            "start": starts.ravel(),
            "dur": durations.ravel(),
            "args": '{"key":"(\'load-4f1c\', ' + number.cast(pl.String) + ')","outcome":"memory"}',
        }
    ).sort("start", "dur", "lane", descending=[False, True, False])
    names = pl.DataFrame({"cat": ["task"] * 20, "name": [f"prefix-{i:02d}" for i in range(20)]})
    return made(rows, names, lanes)


@pytest.mark.slow(night=True)
def test_a_million_events_are_marks_from_afar_and_themselves_nearby(opened, tmp_path):
    slices, path = million(), tmp_path / "million.html"
    path.write_text(to_page(slices), "utf-8")
    assert path.stat().st_size < 40e6

    browser = opened(path)
    afar = state(browser)
    assert afar["events"] == slices.rows.height > 999_000
    assert afar["merged"] > 2 * afar["marks"] > 0
    # what is drawn is bounded by the pixels, not by the run
    assert afar["alone"] + afar["marks"] < 100_000

    # given the rows in view, with one for each worker above its four lanes
    show(browser, 1_000.0, 1_000.5)
    bottom, top = visible(browser, "rows")
    lanes = [lane for lane in range(256) if top - 1 < lane + lane // 4 + 1 < bottom]
    wanted = slices.rows.filter(
        pl.col("lane").is_in(lanes),
        pl.col("start") <= 1_000.5 * SECOND,
        pl.col("start") + pl.col("dur") >= 1_000 * SECOND,
    )
    near = state(browser)
    assert near["merged"] == near["marks"] == 0
    assert near["shown"] == near["alone"] == wanted.height > 0

    # what the page unpacked is a part of its data
    browser.send("Performance.enable")
    browser.send("HeapProfiler.collectGarbage")
    metrics = {m["name"]: m["value"] for m in browser.send("Performance.getMetrics")["metrics"]}
    assert metrics["JSHeapUsedSize"] < 400e6
    assert quiet(browser, path)


def test_lanes_that_do_not_fit_are_reached_by_the_scroll_bar(opened, tmp_path):
    rows = events([(lane, 0, lane, 5) for lane in range(300)], ['{"key":"k"}'] * 300)
    path = tmp_path / "lanes.html"
    path.write_text(to_page(made(rows, pl.DataFrame({"cat": ["task"], "name": ["load"]}), 300)))
    browser = opened(path)
    _, top = visible(browser, "rows")
    assert top == 0
    browser.value(
        "(bar => { bar.scrollTop = bar.scrollHeight; })(document.getElementById('lanes'))"
    )
    browser.wait(f"Math.abs({MODEL('rows')}.start - 375) < 1")
    assert quiet(browser, path)
