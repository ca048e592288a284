"""Elements of JSON documents, cut from a stream of any blocks."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest_toolkit import json_pieces
from harvest_toolkit.json_pieces import JsonPieces, Piece, Unreadable

OTHERS = ("errors", "warnings")
KNOWN = ("jobs", *OTHERS, "job_id")

texts = st.text(max_size=8) | st.sampled_from(['{"jobs": [', "]}", '\\"', "}", "jobs"])
things = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


def cut(data: bytes, block: int) -> list[tuple[str, Any]]:
    """The pieces of some JSON that is read in blocks of that size; without the ends."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_pieces, "BLOCK_BYTES", block)
        pieces = list(JsonPieces(io.BytesIO(data), "jobs", OTHERS, mark="job_id", noun="job"))
    assert not [piece.reason for piece in pieces if piece.kind == "broken"]
    return [(piece.kind, json.loads(piece.raw)) for piece in pieces if piece.kind != "end"]


objects = st.dictionaries(texts, things, max_size=4)
others = st.dictionaries(texts.filter(lambda key: key not in KNOWN), things, max_size=4)


@pytest.mark.slow
@given(
    st.lists(objects, max_size=5),
    others,
    st.integers(1, 60),
    st.sampled_from([None, 0, 2]),
    st.booleans(),
)
def test_elements_are_split_exactly(
    jobs: list[Any], around: dict[str, Any], block: int, indent: int | None, last: bool
) -> None:
    document = {**around, "jobs": jobs} if last else {"jobs": jobs, **around}
    found = cut(json.dumps(document, indent=indent).encode(), block)
    assert found == [("element", job) for job in jobs]


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.sampled_from(["document", "job", "array"]), st.lists(others, max_size=3)),
        max_size=4,
    ),
    st.integers(1, 60),
    st.sampled_from([None, 0, 2]),
    st.sampled_from(["\n", " ", "\r\n\n", "\x1e"]),
)
def test_values_one_behind_another_are_split_exactly(
    values: list[tuple[str, list[Any]]], block: int, indent: int | None, between: str
) -> None:
    # given documents, single jobs and arrays of jobs, in any order and layout
    expected: list[tuple[str, Any]] = []
    written: list[Any] = []
    for form, made in values:
        jobs = [{"job_id": 1, **job} for job in made]
        if form == "document":
            written.append({"errors": made, "jobs": jobs, "warnings": made})
            expected += [("errors", item) for item in made] + [("element", job) for job in jobs]
            expected += [("warnings", item) for item in made]
        else:
            written += [jobs] if form == "array" else jobs
            expected += [("element", job) for job in jobs]
    # then each is found, and nothing else
    text = between.join(json.dumps(value, indent=indent) for value in written)
    assert cut(text.encode(), block) == expected


def pieces(text: str) -> list[Piece]:
    found = JsonPieces(io.BytesIO(text.encode()), "jobs", OTHERS, mark="job_id", noun="job")
    return [piece for piece in found if piece.kind != "end"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"jobs": [{"a": 1', [("broken", '{"a": 1', "the file ends inside this job")]),
        ('{"job_id": 1', [("broken", '{"job_id": 1', "the file ends inside this job")]),
        ('{"meta": {"a"', [("broken", '{"meta": {"a"', "the file ends before its JSON does")]),
        ('{"jobs": [7]}', [("broken", "7", "an element that is not an object")]),
        ('{"nodes": []}', [("none", '{"nodes": []}', "")]),
        ("[[]]", [("broken", "[]", "an element that is not an object")]),
        ('x {"job_id": 1} "y', [("broken", "x", "text outside of the JSON"),
         ("element", '{"job_id": 1}', ""), ("broken", '"y', "text outside of the JSON")]),
        ('{"job_id": 1, "a": "x\n{"job_id": 2}', [
         ("broken", '{"job_id": 1, "a": "x\n', json_pieces.ENDS_EARLY),
         ("element", '{"job_id": 2}', "")]),
    ],
)  # fmt: skip
def test_what_is_broken_is_given_with_its_reason(
    text: str, expected: list[tuple[str, str, str]]
) -> None:
    assert [(piece.kind, piece.raw.decode(), piece.reason) for piece in pieces(text)] == expected


def test_an_element_longer_than_the_limit_ends_the_reading(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(json_pieces, "LONGEST", 100)
    monkeypatch.setattr(json_pieces, "BLOCK_BYTES", 64)
    (first, long) = pieces('{"jobs": [{"a": 1}, {"b": "' + "x" * 300 + '"}, {"c": 1}]}')
    assert (first.kind, first.raw) == ("element", b'{"a": 1}')
    assert (long.kind, long.reason) == ("broken", json_pieces.TOO_LONG)


def test_a_stream_that_cannot_be_read_on_says_why() -> None:
    class Ending(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            data = super().read(size)
            if not data:
                raise Unreadable("no more of it")
            return data

    stream = Ending(b'{"jobs": [{"a": 1}, {"b"')
    found = [p for p in JsonPieces(stream, "jobs", mark="id", noun="job") if p.kind != "end"]
    assert [(p.kind, p.raw, p.reason) for p in found] == [
        ("element", b'{"a": 1}', ""),
        ("broken", b'{"b"', "no more of it"),
    ]
