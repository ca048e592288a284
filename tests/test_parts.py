"""The parts of a dataset in columns: what a plain dictionary of them would say."""

import hashlib
from collections import Counter
from typing import Any

import attrs
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harvest.api.sink import PartFile, PartFiles
from harvest.dataset.holdings import accounts_of, rows_by_type
from harvest.dataset.verify import Problem, concerned
from harvest.storage import parts as module
from harvest.storage import segment
from harvest.storage.manifest import NAME, Manifest
from harvest.storage.part import Part, astray, key_of, part_stem
from harvest.storage.parts import Parts
from harvest.storage.stored_files import StoredFiles

TEXTS = st.text("ab-/é\u2028\U0001f600 ", max_size=6)
COUNTS = st.dictionaries(
    st.sampled_from(["x.y", "x.z", "why not"]), st.integers(0, 2**40), max_size=3
)
SHARED = [("x.y", "x.y/shared-1"), ("x.y", "x.y/shared-2"), ("x.z", "x.z/shared-1")]


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@st.composite
def files(draw: Any) -> PartFile:
    rows = draw(st.integers(0, 9))
    if draw(st.booleans()):
        kind, path = draw(st.sampled_from(SHARED))
        first = draw(st.integers(0, 90))
        return PartFile(path=path, record_type=kind, rows=rows, size_bytes=7, sha256=digest(path),
                        first_row=first, file_rows=100)  # fmt: skip
    path, offset = draw(st.sampled_from(["x.y/a", "x.z/c"])), draw(st.none() | st.integers(0, 9))
    return PartFile(path=path, record_type=path[:3], rows=rows, size_bytes=draw(st.integers(0, 3)),
                    sha256=digest(path), offset=offset)  # fmt: skip


REJECTS = st.builds(
    PartFile,
    path=st.sampled_from(["rejects/a.parquet", "rejects/b.parquet"]),
    record_type=st.just("rejects"),
    rows=st.integers(1, 5),
    size_bytes=st.integers(1, 5),
    sha256=TEXTS.map(digest),
)
KEYS = st.integers(0, 40).map(lambda n: digest(str(n))[:16])
PARTS = st.builds(
    Part,
    key=KEYS,
    stem=st.sampled_from(["a-b", "part"]),
    source=st.sampled_from(["s", "t"]),
    partition=TEXTS,
    origin=TEXTS,
    fingerprint=TEXTS.map(digest) | TEXTS,
    plugin=st.sampled_from(["p 1", "p 2"]),
    config=TEXTS,
    files=st.lists(files(), max_size=4).map(tuple),
    rows=COUNTS,
    read=st.integers(0, 2**40),
    filtered=COUNTS,
    folded=COUNTS,
    rejected=st.integers(0, 3),
    rejects=st.none() | REJECTS,
    notes=st.lists(TEXTS, max_size=2).map(tuple),
    run=st.sampled_from(["r1", "r2"]),
    failed=st.booleans(),
    limited=st.booleans(),
    live=st.booleans(),
    changed=st.booleans(),
    facts=st.just("") | TEXTS.map(lambda text: digest(text)[:32]),
)
CHANGES = st.lists(st.tuples(st.lists(PARTS, max_size=5), st.sets(KEYS, max_size=6)), max_size=4)


@pytest.fixture(params=[3])
def small_segments(monkeypatch: pytest.MonkeyPatch, request: Any) -> None:
    """Segments of so few parts are not merged, so that there are several.

    In files they lie in pieces of three.
    """
    monkeypatch.setattr(module, "FEW_PARTS", 0)
    monkeypatch.setattr(module, "GROWTH", 1)
    monkeypatch.setattr(segment, "_PIECE", request.param)


def check_same(parts: Parts, expected: dict[str, Part]) -> None:
    """Whatever is asked of the columns, the dictionary gives the same answer."""
    ordered = dict(sorted(expected.items(), key=lambda item: item[1].order))
    files = {key: part.files for key, part in ordered.items()}
    # parts of the same place have no order among them
    places = [part.order for part in parts.values()]
    assert places == [part.order for part in ordered.values()]
    assert dict(parts.items()) == ordered == {key: parts[key] for key in parts}
    assert len(parts) == len(ordered)
    assert [key for key in (digest(str(n))[:16] for n in range(41)) if key in parts] == [
        key for key in (digest(str(n))[:16] for n in range(41)) if key in ordered
    ]
    rows: Counter[str] = Counter()
    for part in ordered.values():
        rows.update(part.rows)
    assert parts.record_types() == {name: rows[name] for name in sorted(rows)}
    assert parts.total("rejected") == sum(part.rejected for part in ordered.values())
    assert {part.key for part in parts.with_rejects()} == {
        key for key, part in ordered.items() if part.rejects
    }
    assert {part.key for part in parts.with_notes()} == {
        key for key, part in ordered.items() if part.notes
    }
    stored, plain = StoredFiles(parts), PartFiles(files)
    some = [*ordered][::2]
    assert stored.paths() == plain.paths()
    assert dict(stored.pick(some)) == dict(plain.pick(some))
    assert dict(stored.items()) == files
    assert stored.shared_rows() == plain.shared_rows()
    for wanted in ({"x.y/a"}, {"x.y/shared-1", "x.z/c"}):
        assert set(stored.users_of(wanted)) == set(plain.users_of(wanted))
    check_accounts(parts, [*ordered.values()])


def check_accounts(parts: Parts, expected: list[Part]) -> None:
    """The accounts as a frame are those of the parts, one by one."""
    accounts = accounts_of(parts)
    columns = ["source", "origin", "plugin", "run", "rejected", "failed", "written"]
    assert Counter(accounts.select(columns).rows()) == Counter(
        tuple(getattr(part, name) for name in columns) for part in expected
    )
    assert {row.pop("of"): row for row in rows_by_type(accounts).to_dicts()} == {
        name: {
            "sources": sorted({part.source for part in having}),
            "plugins": sorted({part.plugin for part in having}),
            "origins": len({part.origin for part in having}),
        }
        for name in ["x.y", "x.z", "why not"]
        if (having := [part for part in expected if part.rows.get(name)])
    }


@pytest.mark.slow
@pytest.mark.usefixtures("small_segments")
@given(changes=CHANGES, stored=st.lists(st.booleans(), min_size=6, max_size=6))
def test_columns_hold_what_a_dictionary_holds(
    changes: list[tuple[list[Part], set[str]]], stored: list[bool], tmp_path_factory: Any
) -> None:
    # given parts that are changed again and again, now and then written to files
    directory = tmp_path_factory.mktemp("state")
    parts, expected = Parts(), dict[str, Part]()
    for (put, gone), write in zip(changes, stored, strict=False):
        changed = {part.key: part for part in put}
        parts = parts.changed(changed, gone)
        expected = {key: part for key, part in expected.items() if key not in gone} | changed
        if write:
            manifest = Manifest(sink="s", location="l", parts=parts).write(directory / NAME)
            parts = manifest.parts if stored[0] else Manifest.read(directory / NAME).parts

    # then they say what the dictionary says
    check_same(parts, expected)
    check_same(Parts([parts.merged(whole=True)]), expected)


# --- what one state has beside another ------------------------------------------------------------


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_dataset_without_parts_is_asked_as_any_other(count):
    # which Arrow below 26.0.1 could not stand: it ended the process
    parts = Parts([segment.Segment.of([], [])] * count)

    assert parts.rows_outside(pa.array([b"12345678"], pa.binary(8))).to_pylist() == []
    assert list(parts.with_rejects()) == list(parts.with_notes()) == []
    assert parts.pick(["3132333435363738"]) == {}
    files = StoredFiles(parts)
    assert files.pick(["3132333435363738"]) == {}


@pytest.mark.parametrize("name", ["a.csv", "run-1-of-2.csv", "-", ""])
def test_the_names_of_a_parts_files_tell_its_key_whatever_its_input_is_called(name: str) -> None:
    stem = part_stem("0123456789abcdef", f"/data/{name}", "its fingerprint")

    assert key_of(stem) == "0123456789abcdef"


ONE_ROW: Any = {"record_type": "x.y", "rows": 1, "size_bytes": 1, "sha256": digest("")}
WITHIN = Part(
    key="0123456789abcdef", stem="a-b", source="s", partition="p", origin="o", fingerprint="f",
    plugin="v", config="c", rows={}, read=0, filtered={}, folded={}, rejected=0, notes=(), run="r",
    files=(PartFile(path="x.y/a", **ONE_ROW),),
    rejects=PartFile(path="rejects/a", **ONE_ROW),
)  # fmt: skip


def test_a_damaged_file_of_rejects_concerns_its_own_parts() -> None:
    rejects = (WITHIN.rejects, attrs.evolve(WITHIN.rejects, path="rejects/b"), None)
    parts = [attrs.evolve(WITHIN, key=f"{n:016x}", rejects=each) for n, each in enumerate(rejects)]
    manifest = Manifest(sink="s", location="l", parts={part.key: part for part in parts})
    problem = Problem("damaged", frozenset({("rejects/b", None)}), in_state=True)
    assert concerned(manifest, [problem]) == [parts[1].key]


@pytest.mark.parametrize("name", ["key", "stem", "run", "files", "rejects"])
def test_a_name_of_a_part_that_leads_out_of_the_dataset_is_told(name: str) -> None:
    assert astray(WITHIN) is None
    out = "../out"
    file = attrs.evolve(WITHIN.files[0], path=out)
    leads = {"files": (file,), "rejects": file}.get(name, out)

    assert astray(attrs.evolve(WITHIN, **{name: leads})) == out
