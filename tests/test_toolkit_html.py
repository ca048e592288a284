"""HTML for notebooks: whatever a text holds, it is shown as text."""

from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from harvest.toolkit import html
from harvest.toolkit.texts import printable_line


class Found(HTMLParser):
    """The elements of a piece of HTML, and the text in each cell or paragraph."""

    def __init__(self, text: str):
        super().__init__()
        self.elements: list[str] = []
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.elements.append(tag)
        if tag in ("td", "th", "p", "li", "summary"):
            self.texts.append("")

    def handle_data(self, data):
        self.texts[-1] += data


TEXTS = st.text() | st.sampled_from(["<b>", "&amp;", '"', "</table><script>", "\x1b[31m"])


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1))
def test_a_table_holds_the_texts_and_nothing_else(rows):
    found = Found(html.table(("a", "b"), rows))

    assert found.texts == ["a", "b", *(printable_line(text) for row in rows for text in row)]
    assert set(found.elements) == {"table", "thead", "tbody", "tr", "th", "td"}


@given(TEXTS)
def test_a_text_outside_of_tables_stays_a_text_too(text):
    found = Found(html.joined(html.paragraph(text), html.details(text, html.bullets([text, text]))))

    assert found.texts == [printable_line(text)] * 4
    assert found.elements == ["div", "p", "details", "summary", "ul", "li", "li"]


def test_numbers_are_for_people_and_what_is_absent_is_empty():
    found = Found(html.table(("n",), [(1_234_567,), (0.12345,), (None,), (True,)], right=("n",)))

    assert found.texts == ["n", "1,234,567", "0.123", "", "True"]


def test_where_there_is_nothing_to_show_nothing_is_shown():
    assert html.table(("a",), []) == html.bullets([]) == html.details("more", "") == ""
