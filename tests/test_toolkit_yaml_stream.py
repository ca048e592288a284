"""YAML as JSON: every document of it is the same one."""

import io
import json
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from harvest_toolkit.json_pieces import Unreadable
from harvest_toolkit.yaml_stream import YamlStream

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**40) | st.text(max_size=6)
    | st.from_regex(r"[-+~0-9.eE_:xyon]{0,6}", fullmatch=True),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip


@given(st.lists(values, max_size=3), st.booleans(), st.integers(1, 50))
@example(["\x85"], False, 1)
def test_any_yaml_is_its_json(documents: list[Any], flow: bool, block: int) -> None:
    text = yaml.safe_dump_all(documents, default_flow_style=flow, allow_unicode=True)
    stream = YamlStream(io.BytesIO(text.encode()), "here")
    data = b"".join(iter(lambda: stream.read(block), b""))
    # each document begins a line, and no value has a line of its own; U+0085 is dumped as a space
    assert [json.loads(line) for line in data.splitlines() if line] == [*yaml.safe_load_all(text)]


@pytest.mark.parametrize(
    ("text", "before", "reason"),
    [
        ("- 1\n- &a 2\n- *a\n", "[1,2,", "YAML with an odd alias in line 3"),
        ("a: 1\n[b]: 2\n", '{"a":1,', "YAML with an odd key that is not a text in line 2"),
        ("a: 1\nb: [\n", '{"a":1,"b":[', "not YAML: "),
    ],
)
def test_what_is_no_json_ends_the_reading(text: str, before: str, reason: str) -> None:
    stream = YamlStream(io.BytesIO(text.encode()), "here")
    # what stands before it is given first
    assert stream.read(100).decode().strip() == before
    with pytest.raises(Unreadable, match=reason):
        stream.read(100)


def test_a_tag_makes_nothing_run() -> None:
    text = b"!!python/object/apply:os.system [touch here]"
    assert YamlStream(io.BytesIO(text), "here").read(100).strip() == b'["touch here"]'
