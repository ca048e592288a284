"""The timeline page: all events of the view, levels of detail that lose none, nothing fetched."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import struct
import sys
from collections import Counter, defaultdict
from html.parser import HTMLParser
from pathlib import Path

import polars as pl
import pytest
from dask_rows import harvested_run, write_run
from hypothesis import given
from hypothesis import strategies as st

import harvest
from harvest import HarvestError, UsageError
from harvest.cli import main
from harvest_dask_runs.record_names import CATEGORIES
from harvest_dask_runs.timeline import write_timeline
from harvest_dask_runs.timeline.figure import WAITS
from harvest_dask_runs.timeline.slices import MARK, collect, levels
from harvest_dask_runs.timeline.write import to_page
from harvest_dask_runs.trace.tracks import EVENT, Tracks, event_rows

pytest.importorskip("bokeh", reason="bokeh, of the extra 'timeline', is not installed")

REPOSITORY = Path(__file__).resolve().parents[3]


class Page(HTMLParser):
    """The texts of a page's elements, its scripts apart, as a browser reads them."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.data, self.scripts, self.policy, self.words = Counter(), {}, [], "", ""
        self.addresses, self._script = [], None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.tags[tag] += 1
        self.addresses += [given[name] for name in ("src", "href") if name in given]
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]
        if tag == "script":
            self._script = [given.get("type"), given.get("id"), ""]

    def handle_data(self, data):
        if self._script is None:
            self.words += data
        else:
            self._script[2] += data

    def handle_endtag(self, tag):
        if tag == "script":
            kind, name, text = self._script
            if kind is None:
                self.scripts.append(text)
            else:
                self.data[name] = text
            self._script = None

    @property
    def index(self):
        return json.loads(self.data["index"])

    def block(self, number):
        return unpacked(self.data[f"block-{number}"], **self.index["blocks"][number])


def unpacked(data, kind, rows, **_):
    """The columns, or the lines, of a block: as its documentation says they lie."""
    raw = gzip.decompress(base64.b64decode(data))
    if kind == "args":
        return raw.decode().split("\n")
    names = ["start", "dur", "lane", "name"]
    form = f"<{rows}d{rows}d{rows}I{rows}I"
    if kind == "merged":
        names = ["start", "dur", "busy", "lane", "name", "count"]
        form = f"<{rows}d{rows}d{rows}d{rows}I{rows}I{rows}I"
    values = struct.unpack(form, raw)
    return {name: values[i * rows : (i + 1) * rows] for i, name in enumerate(names)}


@pytest.fixture(scope="module", params=["example", pytest.param("R1", marks=pytest.mark.slow)])
def dataset(request, tmp_path_factory):
    return harvested_run(request.param, tmp_path_factory)


@pytest.fixture(scope="module")
def written(dataset, tmp_path_factory):
    path = tmp_path_factory.mktemp("timeline") / "timeline.html"
    write_timeline(dataset, path)
    return path


@pytest.fixture(scope="module")
def page(written):
    return Page(written.read_text("utf-8"))


# all that the view holds is there


def test_the_page_holds_every_slice_of_the_view(dataset, page):
    # given the slices of the view, each with the names of its process and thread
    rows = dataset.view("dask.trace").collect()
    names = {
        (what, pid, tid): json.loads(args)["name"]
        for what, pid, tid, args in rows.filter(
            pl.col("name").is_in(["process_name", "thread_name"]), ph="M"
        )
        .select("name", "pid", "tid", "args")
        .iter_rows()
    }
    slices = rows.filter(ph="X").select("pid", "tid", "cat", "name", "ts", "dur", "args")
    wanted = Counter(
        (names["process_name", pid, None], names["thread_name", pid, tid], *rest)
        for pid, tid, *rest in slices.iter_rows()
    )

    # then the page has the same, each once
    assert page_events(page) == wanted
    assert page.index["events"] == wanted.total()


def page_events(page):
    """What the page's blocks hold: process, thread, category, name, start, duration, args."""
    index, found = page.index, Counter()
    for number, head in enumerate(index["blocks"]):
        if head["kind"] == "alone":
            part, lines = page.block(number), page.block(number + 1)
            columns = (part["lane"], part["name"], part["start"], part["dur"], lines)
            for lane, name, start, dur, args in zip(*columns, strict=True):
                process, _, thread = index["lanes"][lane]
                found[process, thread, *index["names"][name], start, dur, args] += 1
    return found


def test_the_words_of_the_page_account_for_every_row_of_the_view(dataset, page):
    rows = dataset.view("dask.trace").collect()
    by_phase = Counter(rows["ph"])
    (said,) = re.findall(
        r"has ([\d,]+) rows .*?\. ([\d,]+) are events .*?: (.*?)\. ([\d,]+) are ends of "
        r"arrows.*?; ([\d,]+) name lanes", page.words, re.DOTALL,
    )  # fmt: skip
    total, events, kinds, arrows, lanes = said
    numbers = [int(n.replace(",", "")) for n in (total, events, arrows, lanes)]
    assert numbers == [rows.height, by_phase["X"], by_phase["s"] + by_phase["f"], by_phase["M"]]
    assert sum(int(n.replace(",", "")) for n in re.findall(r"([\d,]*\d) ", kinds)) == numbers[1]


def test_every_level_shows_every_event_once(page):
    index = page.index
    for level, _ in enumerate(index["widths"]):
        alone = sum(
            h["rows"] for h in index["blocks"] if h["kind"] == "alone" and h["level"] <= level
        )
        merged = sum(
            sum(page.block(number)["count"])
            for number, head in enumerate(index["blocks"])
            if head["kind"] == "merged" and head["level"] == level
        )
        assert alone + merged == index["events"]


class Trace:
    """What the page needs of a run's trace: its events, in batches of any size."""

    run, start = "runs/drawn", 1_700_000_000_000_000

    def __init__(self, slices, batch):
        self.left_out = Counter({"executions without time": 2, "transfers without time": 0})
        self.tracks = Tracks(self.run)
        self.rows, self.batch = [], batch
        for process, thread, category, name, ts, dur, args in slices:
            pid = self.tracks.process((process,), f"worker {process}", -process)
            tid = self.tracks.thread(pid, (thread,), f"thread {thread}", -thread)
            self.rows.append({"name": name, "cat": category, "ph": "X", "ts": ts, "dur": dur,
                              "pid": pid, "tid": tid, "args": args})  # fmt: skip

    def events(self):
        schema = {key: kind for key, kind in EVENT.items() if key not in ("run", "id", "bp")}
        for i in range(0, len(self.rows), self.batch):
            part = self.rows[i : i + self.batch]
            yield event_rows(pl.DataFrame(part, schema=schema), self.run)
        yield self.tracks.news()


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
ARGS = TEXTS.map(lambda text: json.dumps({"key": text}, ensure_ascii=False))
# a name is any text, but of the waits of the critical path
NAMED = st.sampled_from([*CATEGORIES]).flatmap(
    lambda cat: st.tuples(st.just(cat), st.sampled_from([*WAITS]) if cat == "path.wait" else TEXTS)
)
EVENTS = st.tuples(
    st.integers(0, 2), st.integers(0, 2), NAMED,
    st.integers(0, 50) | st.integers(0, 10**9), st.integers(0, 9) | st.integers(0, 10**9), ARGS,
).map(lambda drawn: (*drawn[:2], *drawn[2], *drawn[3:]))  # fmt: skip


@pytest.mark.slow
@given(st.lists(EVENTS, max_size=40), st.integers(1, 50))
def test_a_page_holds_any_trace(drawn, batch):
    page = Page(to_page(collect(Trace(drawn, batch))))
    index = page.index
    # lanes are in the order that the trace wants: here the last worker and thread first
    used = sorted({(-process, -thread) for process, thread, *_ in drawn})
    assert index["lanes"] == [[f"worker {-p}", "", f"thread {-t}"] for p, t in used]
    assert page_events(page) == Counter(
        (f"worker {process}", f"thread {thread}", *rest) for process, thread, *rest in drawn
    )
    assert "Not drawn: 2 executions without time." in page.words


def test_a_run_without_events_is_a_page_too():
    page = Page(to_page(collect(Trace([], 1))))
    assert page.index["events"] == 0
    assert "0 are events and are all here: none." in page.words


def test_the_prefixes_with_the_most_time_have_a_colour_of_their_own():
    # given 13 prefixes of 1 to 13 µs, and I/O
    slices = [(0, 0, "task", f"p{i:02d}", 100 * i, i, '{"key":"k"}') for i in range(1, 14)]
    slices.append((0, 0, "io", "read", 0, 1, "{}"))
    index = Page(to_page(collect(Trace(slices, 5)))).index
    # then as in the report dask.run eleven have their own, from the longest
    labels = [label for label, _, _ in index["kinds"]]
    assert labels == [f"p{i:02d}" for i in range(13, 2, -1)] + [
        "2 other kinds of tasks",
        "I/O: read",
    ]
    kind_of = {
        name: labels[kind]
        for (_, name), kind in zip(index["names"], index["kind_of_name"], strict=True)
    }
    assert kind_of["p13"] == "p13"
    assert kind_of["p01"] == kind_of["p02"] == "2 other kinds of tasks"
    assert kind_of["read"] == "I/O: read"


# levels, against a plain computation


SLICES = st.lists(
    st.tuples(
        st.integers(0, 2),  # lane
        st.integers(0, 3),  # name
        st.integers(0, 40) | st.integers(0, 20_000),  # start
        st.sampled_from([0, 1, 2, 3, 5, 8, 17, 70, 300, 5_000]),  # dur
    ),
    max_size=60,
)
LAYER_OF_NAME = [0, 0, 1, 2]


def frame(drawn):
    schema = {"lane": pl.UInt32, "name": pl.UInt32, "start": pl.Int64, "dur": pl.Int64}
    return pl.DataFrame(drawn, schema=schema, orient="row").sort("start", "dur")


def expected(drawn, width):
    """What a level shows: the slices drawn as themselves, and the marks, by counting."""
    cells = defaultdict(list)
    alone = Counter()
    for lane, name, start, dur in drawn:
        if width == 0 or dur >= width:
            alone[lane, name, start, dur] += 1
        else:
            cells[lane, LAYER_OF_NAME[name], start // width].append((lane, name, start, dur))
    marks = Counter()
    for (lane, _, _), crowd in cells.items():
        if len(crowd) == 1:
            alone[crowd[0]] += 1
            continue
        time, number = Counter(), Counter()
        for _, name, _, dur in crowd:
            time[name] += dur
            number[name] += 1
        most = min(number, key=lambda name: (-time[name], -number[name], name))
        begin, end = min(s for _, _, s, _ in crowd), max(s + d for _, _, s, d in crowd)
        busy = {moment for _, _, s, d in crowd for moment in range(s, s + d)}
        marks[lane, most, begin, end - begin, len(crowd), len(busy)] += 1
    return alone, marks


@pytest.mark.slow
@given(SLICES)
def test_levels_are_what_counting_gives(drawn):
    span = max((s + d for _, _, s, d in drawn), default=1)
    found = levels(frame(drawn), LAYER_OF_NAME, max(span, 1))
    shown = Counter()
    for level in found:
        shown += Counter(level.alone.select("lane", "name", "start", "dur").iter_rows())
        alone, marks = expected(drawn, level.width)
        assert shown == alone
        assert Counter(level.merged.select(*MARK).iter_rows()) == marks
    # at the last level nothing is merged, and each slice was given once
    assert found[-1].merged.is_empty()
    assert shown == Counter(drawn)


def test_slices_closer_than_a_bin_are_one_mark_and_others_are_not():
    # given a run of 4.1 ms, whose first bins are of 4 µs, and four slices
    drawn = [(0, 0, 0, 1), (0, 1, 2, 2), (0, 0, 4, 3), (0, 0, 8, 4), (0, 0, 4_095, 1)]

    # when it is merged
    first, second = levels(frame(drawn), [0, 0], 4_096)

    # then the two that begin in the first bin are one; those after it are alone or long
    assert (first.width, second.width) == (4, 1)
    assert first.merged.rows(named=True) == [
        {"lane": 0, "name": 1, "start": 0, "dur": 4, "count": 2, "busy": 3}
    ]
    assert first.alone["start"].to_list() == [4, 8, 4_095]
    assert second.alone["start"].to_list() == [0, 2]
    assert second.merged.is_empty()


# nothing is fetched, and data never becomes code


def test_only_the_page_s_own_scripts_may_run(page):
    hashes = [base64.b64encode(hashlib.sha256(s.encode()).digest()).decode() for s in page.scripts]
    assert page.policy == (
        "default-src 'none'; script-src "
        + " ".join(f"'sha256-{h}'" for h in hashes)
        + "; style-src 'unsafe-inline'; img-src data:"
    )
    assert page.addresses == []


NASTY = "</script><img src=x onerror=alert(1)><!-- ]]> &amp; \u2028 ' \" \\"


def test_names_from_data_stay_text(tmp_path):
    run, out = write_run(tmp_path / "D1_R1_W1", NASTY), tmp_path / "out"
    harvest.run(sources=[f"mofka-dask:{run}"], sinks=[f"parquet:{out}"])
    dataset = harvest.open(out)
    write_timeline(dataset, tmp_path / "t.html")
    page = Page((tmp_path / "t.html").read_text("utf-8"))
    assert page.tags["img"] == 0
    assert page.tags["script"] == 3 + len(page.index["blocks"])
    assert page.index["names"] == [["path", NASTY], ["task", NASTY]]
    assert json.loads(page.block(1)[0])["key"] == NASTY


# the command and its errors


def test_the_command_writes_the_page(dataset, written, tmp_path, capsys):
    path = tmp_path / "run.html"
    with pytest.raises(SystemExit, match=r"^0$"):
        main(["dask-runs", "timeline", str(dataset.sink.location), "-o", str(path)])
    again, before = (Page(there.read_text("utf-8")) for there in (path, written))
    # the same dataset gives the same page, but for the ids that Bokeh draws
    indexes = [{k: v for k, v in page.index.items() if k != "figure"} for page in (again, before)]
    assert indexes[0] == indexes[1]
    assert {**again.data, "index": None} == {**before.data, "index": None}
    assert re.search(r"\d executions, .* written to ", capsys.readouterr().out)


def test_a_timeline_is_a_page_by_name(dataset, tmp_path):
    with pytest.raises(UsageError, match="a timeline is a page"):
        write_timeline(dataset, tmp_path / "timeline.json")
    with pytest.raises(UsageError, match="no such directory"):
        write_timeline(dataset, tmp_path / "nowhere" / "t.html")
    assert list(tmp_path.iterdir()) == []


def test_without_the_library_the_error_names_the_extra(dataset, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "bokeh", None)
    with pytest.raises(HarvestError, match="needs bokeh, which is not installed") as caught:
        write_timeline(dataset, tmp_path / "t.html")
    assert caught.value.remedy == "install hpc-harvest-dask-runs with the extra 'timeline'"
    assert list(tmp_path.iterdir()) == []
