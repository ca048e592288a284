"""The pages: each opens and leads to pages that open, runs no code of its own, and is true."""

import csv
import html
import io
import re
import shutil
from collections import Counter
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

import pytest
from html_shown import Shown
from night import NIGHT
from serving import serving, things

import harvest

pytestmark = pytest.mark.slow

TABLE = "/d/out/table/served.thing"
KINDS = 6 if NIGHT else 1
"""Pages of one path that are opened: their addresses differ in what they ask alone."""


def crawled(server, *begin: str) -> dict[str, str]:
    """All pages that can be reached, by address; of one kind no more than KINDS."""
    found: dict[str, str] = {}
    waiting, seen, kinds = list(begin), set(begin), Counter()
    while waiting:
        address = waiting.pop(0)
        parts = urlsplit(address)
        kinds[parts.path] += 1
        if kinds[parts.path] > KINDS:
            continue
        answer = server.ask(address)
        assert answer.status == 200, (address, answer.text)
        if not answer.headers["content-type"].startswith("text/html"):
            continue
        found[address] = answer.text
        for tag, given in Shown(answer.text).elements:
            link = given.get("href") if tag == "a" else given.get("src")
            if not link or link.startswith(("#", "data:")):
                continue
            assert link.startswith("/"), f"{address} leads to {link}"
            if link not in seen:
                seen.add(link)
                waiting.append(link)
    return found


@pytest.fixture(scope="module")
def pages(server):
    return crawled(server, "/")


def own(pages: dict[str, str]) -> dict[str, str]:
    """The pages of this server, without those of reports."""
    return {address: text for address, text in pages.items() if not address.endswith("/page")}


def test_every_link_leads_to_a_page(pages):
    kinds = {urlsplit(address).path.removeprefix("/d/out/").partition("/")[0] for address in pages}

    assert {"tables", "table", "meaning", "reports", "sql", "runs", "rejects"} <= kinds


def test_no_page_has_code_or_style_within(pages):
    for address, text in own(pages).items():
        for tag, given in Shown(text).elements:
            assert tag != "style", address
            assert "style" not in given, address
            assert not [name for name in given if name.startswith("on")], address
            assert tag != "script" or given["src"] == "/static/serve.js", address


def test_every_page_can_be_read_by_a_screen_reader(pages):
    """Its title, one main heading, a place to skip to; tables have captions, fields have labels."""
    for address, text in own(pages).items():
        shown = Shown(text)
        tags = [tag for tag, _ in shown.elements]
        assert (tags.count("h1"), tags.count("main"), tags.count("title")) == (1, 1, 1), address
        assert tags.count("table") == tags.count("caption"), address
        assert all("scope" in given for tag, given in shown.elements if tag == "th"), address
        assert len(shown.ids) == len(set(shown.ids)), address
        labelled = {
            given["for"] for tag, given in shown.elements if tag == "label" and "for" in given
        }
        fields = [given for tag, given in shown.elements if tag in ("input", "select", "textarea")]
        for given in fields:
            if given.get("type") not in ("hidden", "checkbox"):
                assert given["id"] in labelled, address


def cells(text: str) -> list[list[str]]:
    """The rows of the table of data of a page, without their numbers."""
    table = text[text.index('<div class="wide rows"') :]
    rows = re.findall(r"<tr>(.*?)</tr>", table[table.index("<tbody>") :], re.DOTALL)
    return [
        [
            html.unescape(re.sub(r'<span class="unseen">.*?</span>|<[^>]*>', "", cell)).strip()
            for cell in re.findall(r"<(?:td|th)\b[^>]*>(.*?)</(?:td|th)>", row, re.DOTALL)
        ][1:]
        for row in rows
    ]


def heading(text: str) -> str:
    found = re.search(r'<h2 id="rows-of">(.*?)</h2>', text)
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def all_rows(dataset):
    """Every row, by a reader that knows nothing of pages."""
    import harvest_served

    harvest.add_plugin(Path(harvest_served.__file__))
    return harvest.open(dataset)["served.thing"].collect().to_dicts()


def test_a_filter_gives_the_rows_that_fit_and_says_how_many_there_are(server, all_rows):
    fit = [row for row in all_rows if row["word"] == "a" and (row["size"] or 0) > 0]
    asked = urlencode({"word.eq": "a", "size.gt": "0", "sort": "-size", "columns": "name,size"})
    text = server.ask(f"{TABLE}?{asked}&exact=1").text

    assert heading(text) == f"{len(fit)} of {len(all_rows)} rows"
    sizes = sorted((row["size"] for row in fit), reverse=True)
    assert [int(size) for _, size in cells(text)] == sizes
    assert 'aria-sort="descending"' in text


def test_the_field_of_a_form_becomes_a_condition_of_the_address(server):
    form = {"columns": "name,size", "sort": "size", "add": "word", "is": "ne", "value": "a&b <c>"}
    moved = server.ask(f"{TABLE}?{urlencode(form)}")

    assert moved.status == 303
    there = {"word.ne": "a&b <c>", "sort": "size", "columns": "name,size"}
    assert moved.headers["location"] == f"{TABLE}?{urlencode(there)}"
    columns = server.ask(
        f"{TABLE}?{urlencode([('show', 'word'), ('show', 'flag'), ('word.eq', 'a')])}"
    )
    assert (
        columns.headers["location"]
        == f"{TABLE}?{urlencode({'word.eq': 'a', 'columns': 'word,flag'})}"
    )


def test_the_counts_of_a_facet_are_those_of_the_rows_and_add_up(server, all_rows):
    text = server.ask(f"{TABLE}?facet=word").text
    facet = text[text.index('<div class="facets">') : text.index("<summary>Columns:")]
    found = re.findall(r'<a href="([^"]*)">([^<]*)</a></th><td class="number">([\d,]+)', facet)
    counts = Counter(row["word"] for row in all_rows)

    assert sorted(int(count) for _, _, count in found) == sorted(counts.values())
    assert sum(int(count) for _, _, count in found) == len(all_rows)
    for address, _, count in found:
        shown = heading(server.ask(html.unescape(address)).text)
        assert shown == f"{count} of {len(all_rows)} rows"


def test_the_most_frequent_values_of_categories_are_shown_without_a_click(server, all_rows):
    text = server.ask(TABLE).text
    shown = text[text.index('<div class="facets">') : text.index("<summary>Columns:")]
    found = re.findall(r'</a></th><td class="number">([\d,]+)', shown)

    assert "<caption>word" in shown
    counts = Counter(row["word"] for row in all_rows)
    assert [int(count) for count in found][:5] == sorted(counts.values(), reverse=True)[:5]


def test_what_is_not_known_is_shown_as_that_and_never_as_zero(server, all_rows):
    asked = urlencode({"size.null": "", "columns": "name,size", "rows": "250"})
    text = server.ask(f"{TABLE}?{asked}").text
    unknown = [row for row in all_rows if row["size"] is None]

    assert [size for _, size in cells(text)] == ["–"] * len(unknown)
    assert text.count('<span class="unseen">no value</span>') == len(unknown)
    zero = server.ask(f"{TABLE}?{urlencode({'size.eq': '0', 'columns': 'name,size'})}").text
    assert {size for _, size in cells(zero)} == {"0 bytes"}


def test_pages_of_rows_hold_each_row_once_in_the_order_of_the_dataset(server, all_rows):
    address, names = f"{TABLE}?columns=name,large&exact=1&rows=100", []
    while address:
        text = server.ask(address).text
        names += cells(text)
        following = re.search(r'<a href="([^"]*)" rel="next">', text)
        address = html.unescape(following[1]) if following else ""

    large = [int(number) for _, number in names]
    assert large == [row["large"] for row in all_rows]


def test_a_row_by_itself_has_all_columns_with_all_digits(server, all_rows):
    text = server.ask(f"{TABLE}?row=7&sort=name").text

    for column in all_rows[0]:
        assert f'<th scope="row">{column}' in text
    assert server.ask(f"{TABLE}?row=100000").status == 404


def test_settings_of_a_view_are_a_form_and_a_wrong_value_is_said_beside_it(server, all_rows):
    counts = Counter(row["word"] for row in all_rows)
    text = server.ask("/d/out/table/served.by_word?set.least=30").text
    wrong = server.ask("/d/out/table/served.by_word?set.least=x")

    assert heading(text) == f"{sum(1 for n in counts.values() if n >= 30)} rows"
    assert 'name="set.least" value="30"' in text
    assert wrong.status == 400
    assert 'name="set.least" value="x"' in wrong.text
    assert "must be a whole number" in wrong.text


def test_where_a_name_is_to_be_chosen_the_page_offers_all_there_are(server, all_rows):
    page = server.ask("/d/out/table/served.of_word")
    shown = Shown(page.text)
    offered = [given["value"] for tag, given in shown.elements if tag == "option"]

    assert page.status == 200
    assert "There are several words: choose below." in page.text
    assert offered == sorted({row["word"] for row in all_rows} - {None})
    chosen = server.ask("/d/out/table/served.of_word?set.word=%C3%A4").text
    assert heading(chosen) == f"{sum(row['word'] == 'ä' for row in all_rows)} rows"
    # programs get the same
    error = server.ask("/api/out/tables/served.of_word/rows")
    assert error.status == 400
    assert (error.json["settings"], error.json["names"]) == (["word"], offered)


def test_downloads_of_a_page_have_its_rows(server, all_rows):
    text = server.ask(
        f"{TABLE}?{urlencode({'flag.eq': 'true', 'sort': 'small', 'offset': '50'})}"
    ).text
    address = html.unescape(re.search(r'<a href="([^"]*)" download>CSV</a>', text)[1])
    rows = list(csv.DictReader(io.StringIO(server.ask(address).text)))

    assert Counter(row["large"] for row in rows) == Counter(
        str(row["large"]) for row in all_rows if row["flag"]
    )


def test_a_query_shows_its_result_and_an_error_its_place(server, all_rows):
    query = "select small, count(*) as n from served.thing group by all order by small"
    text = server.ask(f"/d/out/sql?{urlencode({'query': query})}").text
    counts = Counter(row["small"] for row in all_rows)
    numbers = re.findall(r'<td class="number">\s*(-?\d+)', text)
    wrong = server.ask(f"/d/out/sql?{urlencode({'query': 'select <b> from x'})}")

    assert [int(n) for n in numbers] == [n for pair in sorted(counts.items()) for n in pair]
    assert wrong.status == 400
    assert "&lt;b&gt;" in wrong.text
    assert "<b>" not in wrong.text


def test_columns_of_record_types_stand_beside_a_query_and_those_of_a_view_once_asked(server):
    query = "select 1 as one"
    text = server.ask(f"/d/out/sql?{urlencode({'query': query})}").text
    places = dict(re.findall(r'<details id="table-([^"]*)"(.*?)</details>', text, re.DOTALL))
    of_view = html.unescape(re.search(r'<a href="([^"#]*)#', places["served.by_word"])[1])
    asked = server.ask(of_view).text
    view = asked[asked.index('id="table-served.by_word" open') :].partition("</details>")[0]

    assert ">moment</span>" in places["served.thing"]
    assert ">things</span>" not in places["served.by_word"]
    assert re.findall(r'<li><span class="mono">(\w+)', view) == ["word", "things", "took"]
    assert query in asked  # what was written stays
    unknown = server.ask("/d/out/sql?table=served.of_word").text
    assert "there are several words" in unknown


def test_rejects_are_shown_with_place_and_reason(server):
    text = server.ask("/d/out/rejects").text

    assert "1 input unit of 1 input could not be read." in text
    assert "not a thing" in text
    assert "0.things" in text


@pytest.mark.parametrize("path", ["nothing", "table/no.such", "meaning/no", "report/no", "runs/no",
                                  "finding/no/1"])  # fmt: skip
def test_what_is_not_there_is_a_page_that_leads_on(server, path):
    answer = server.ask(f"/d/out/{path}")

    assert answer.status == 404
    assert 'href="/d/out/"' in answer.text
    assert server.ask("/d/other/").status == 404


def test_several_datasets_are_listed_and_a_damaged_one_says_what_verify_says(dataset, tmp_path):
    location = tmp_path / "harmed"
    shutil.copytree(dataset, location)
    part = next((location / "served.thing").glob("*.parquet"))
    part.write_bytes(part.read_bytes()[:-100])
    broken = tmp_path / "broken"
    shutil.copytree(dataset, broken)
    (broken / "_harvest" / "manifest.json").write_text("{")
    said = harvest.open(location).verify()

    with serving(dataset, location, broken) as server:
        listed = server.ask("/").text
        harmed = server.ask("/d/harmed/table/served.thing")
        lost = server.ask("/d/broken/")

    assert [name in listed for name in ("/d/out/", "/d/harmed/", "/d/broken/")] == [True] * 3
    assert "Cannot be read" in listed
    assert harmed.status == 500
    assert all(html.escape(text, quote=False) in html.unescape(harmed.text) for text in said)
    assert "--repair" in harmed.text
    assert lost.status == 500
    assert "manifest" in lost.text


ODD = '"><img src=x onerror=alert(1)>{{7*7}}<%= 6*7 %>'


def test_markup_in_names_values_texts_and_addresses_is_shown_as_it_is(tmp_path):
    """Whatever the data says is text: nothing of it is an element, or is computed."""
    location = things(tmp_path / ODD, "40 1\nbad <script>alert(1)</script>")
    asked = urlencode({"word.ne": ODD, "sort": "-name", "condition": "name <> '<b>{{7*7}}'"})
    result = urlencode({"query": "select '<b>{{7*7}}' as \"<i>\""})
    wrong = [
        f"/d/out/table/served.by_word?{urlencode({'set.least': ODD, f'set.{ODD}': ODD})}",
        f"/d/out/table/{quote(ODD, safe='')}",
        f"/d/out/finding/{quote(ODD, safe='')}/1",
        f"{TABLE}?{urlencode({ODD: ODD})}",
        f"{TABLE}?{urlencode({'facet': ODD})}",
        f"{TABLE}?{urlencode({'word.eq': ODD, 'condition': ODD})}",
        f"{TABLE}?{urlencode({'add': ODD, 'is': ODD})}",
        f"/d/out/sql?{urlencode({'query': ODD})}",
    ]
    with serving(location) as server:
        pages = crawled(server, "/", f"{TABLE}?{asked}", f"/d/out/sql?{result}")
        refused = {address: server.ask(address) for address in wrong}

    assert {answer.status for answer in refused.values()} == {400, 404}
    pages |= {address: answer.text for address, answer in refused.items()}
    # it is shown: the path of the input in its rows, the reject, what was asked
    assert sum("&lt;img src=x onerror=alert(1)&gt;{{7*7}}" in text for text in pages.values()) > 20
    assert "bad &lt;script&gt;alert(1)" in pages["/d/out/rejects"]
    for address, text in own(pages).items():
        shown = Shown(text)
        sources = [given.get("src") for tag, given in shown.elements if tag == "script"]
        assert sources == ["/static/serve.js"], address
        assert not shown.tags & {"img", "b", "i", "style"}, address
        assert not [n for _, given in shown.elements for n in given if n.startswith("on")], address
