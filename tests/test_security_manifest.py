"""A manifest that somebody wrote, checksum and all, leads no command to files elsewhere."""

import hashlib
import os
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import attrs
import orjson
import pytest
from datasets import EACH_FORM, Small, dump

import harvest
from harvest.api.sink import PartFile
from harvest.dataset.repair import problem_of_manifest, repair
from harvest.pipeline.rollback import roll_back
from harvest.storage.manifest import HISTORY, NAME, Manifest
from harvest.storage.part import Part, write_parts
from harvest.toolkit.plain import checksum

SECRET = b"a secret of somebody\n"


@pytest.fixture(params=EACH_FORM)
def small(request: pytest.FixtureRequest, tmp_path: Path) -> Small:
    """A dataset of two runs, the first of which is kept, with rejects; and a file beside it."""
    made = Small(tmp_path, request.param)
    (tmp_path / "precious.parquet").write_bytes(SECRET)
    (tmp_path / "precious.jsonl").write_bytes(SECRET)
    made.write(a=dump(1, 2, damaged=1), b=dump(3)).harvest()
    made.write(b=dump(4)).harvest()
    return made


def change(small: Small, edit: Callable[[Part], Part]) -> None:
    """Write a manifest of which each part is changed; its checksum is right, as are its copies."""
    manifest = small.manifest()
    parts = {key: edit(part) for key, part in manifest.parts.items()}
    attrs.evolve(manifest, parts=parts).write(small.state / NAME)
    for copy in (small.state / HISTORY).glob("*.json"):
        copy.unlink()


def outside(small: Small, path: str) -> PartFile:
    """The description of the file beside the dataset, with its true size and checksum."""
    file = small.folder / "precious.jsonl"
    return PartFile(
        path=path, record_type="slurm.job", rows=1, size_bytes=len(SECRET), sha256=checksum(file)
    )


def unharmed(small: Small) -> None:
    """The file beside the dataset is as it was, and nothing below the dataset holds it."""
    for name in ("precious.parquet", "precious.jsonl"):
        assert (small.folder / name).read_bytes() == SECRET
    places = [small.state, *([small.location] if small.location.is_dir() else [])]
    copies = [p for place in places for p in place.rglob("*") if p.is_file() and not p.is_symlink()]
    assert not [path for path in copies if SECRET in path.read_bytes()]


COMMANDS: dict[str, Callable[[Small], Any]] = {
    "open": lambda small: small.jobs(),
    "verify": lambda small: small.open().verify(),
    "rejects": lambda small: list(small.open().rejects()),
    "repair": lambda small: repair(small.location),
    "run": lambda small: small.harvest(force=True),
    "rollback": lambda small: roll_back(small.open().sink, small.manifest().kept[-1]),
}
PATHS = ["../precious.{}", "{}/precious.{}", "slurm.job/../../precious.{}"]


@pytest.mark.slow
@pytest.mark.parametrize(("command", "path"), [*product([*COMMANDS], PATHS)])
@pytest.mark.parametrize("what", ["rows", "rejects"])
def test_paths_that_lead_outside_stop_every_command(
    small: Small, command: str, path: str, what: str
) -> None:
    # given a manifest whose paths lead to the file beside the dataset, by "..", or from the root
    suffix = "parquet" if small.form == "parquet" else "jsonl"
    found = path.format(*([small.folder] if path.startswith("{}") else []), suffix)
    file = outside(small, found)
    if what == "rows":
        change(small, lambda part: attrs.evolve(part, files=(file,), rows={"slurm.job": 1}))
    else:
        change(small, lambda part: attrs.evolve(part, rejects=file, rejected=1))

    # then every command refuses it, names it, and touches nothing outside
    with pytest.raises(harvest.DatasetError, match=r"outside the dataset|no copy of it"):
        COMMANDS[command](small)
    problem = problem_of_manifest(small.location)
    assert problem is not None
    assert found in problem
    unharmed(small)


@pytest.mark.slow
@pytest.mark.parametrize(
    "edit",
    [
        lambda part: attrs.evolve(part, run="../../../x"),
        lambda part: attrs.evolve(part, stem="../../x"),
        lambda part: attrs.evolve(
            part, files=tuple(attrs.evolve(f, sha256="../../x") for f in part.files)
        ),
    ],
    ids=["run", "stem", "checksum"],
)
def test_names_from_which_paths_are_made_are_plain(
    small: Small, edit: Callable[[Part], Part]
) -> None:
    change(small, edit)
    with pytest.raises(harvest.DatasetError, match="outside the dataset"):
        assert small.open().parts
    with pytest.raises(harvest.DatasetError, match="outside the dataset"):
        small.harvest(force=True)
    unharmed(small)


def test_a_key_that_is_a_path_is_in_no_segment(small: Small) -> None:
    with pytest.raises(ValueError, match="key of a part"):
        change(small, lambda part: attrs.evolve(part, key="/x"))


@pytest.mark.slow
@pytest.mark.parametrize("field", ["run", "token", "runs", "kept"])
def test_names_of_runs_are_plain(small: Small, field: str) -> None:
    name = "../../precious"
    value: Any = (name,) if field in ("runs", "kept") else name
    attrs.evolve(small.manifest(), **{field: value}).write(small.state / NAME)
    with pytest.raises(harvest.DatasetError, match="outside the dataset"):
        small.open()


def sealed(document: dict[str, Any]) -> bytes:
    """A manifest with the checksum that belongs to it."""
    data = orjson.dumps(document | {"checksum": "0" * 64}, option=orjson.OPT_INDENT_2)
    return data.replace(b"0" * 64, hashlib.sha256(data).hexdigest().encode(), 1)


@pytest.mark.slow
def test_names_of_segments_are_plain(small: Small) -> None:
    # given a manifest and copies of it that list a segment beside the dataset
    name = orjson.loads((small.state / NAME).read_bytes())["segments"][0]["file"]
    away = small.folder / name
    (small.state / "copies" / name).rename(away)
    before = away.read_bytes()
    for path in (small.state / NAME, *(small.state / HISTORY).glob("*.json")):
        document = orjson.loads(path.read_bytes())
        for entry in document["segments"]:
            entry["file"] = os.path.relpath(away, small.state / "segments")
        path.write_bytes(sealed(document))

    # then it is refused, and nothing is put there or taken away
    for attempt in (small.open, small.harvest, lambda: repair(small.location)):
        with pytest.raises(harvest.DatasetError, match="outside the dataset"):
            attempt()
    assert away.read_bytes() == before
    unharmed(small)


@pytest.mark.slow
@pytest.mark.parametrize("number", ["start", "size_bytes"])
def test_sections_lie_within_their_segment(small: Small, number: str) -> None:
    document = orjson.loads((small.state / NAME).read_bytes())
    sections = document["segments"][0]["sections"]
    sections["keys"][number] = -5
    sections["state"]["size_bytes"] += 5 * (number == "size_bytes")
    (small.state / NAME).write_bytes(sealed(document))
    with pytest.raises(harvest.DatasetError, match="damaged"):
        assert small.open().parts


@pytest.mark.parametrize("folder", ["segments", "copies"])
def test_segments_are_restored_through_no_link(small: Small, folder: str) -> None:
    # given a directory of the state that leads elsewhere, and a manifest to be mended
    away = (small.state / folder).rename(small.folder / "away")
    before = {path: path.read_bytes() for path in away.iterdir()}
    (small.state / folder).symlink_to(away)
    (small.state / NAME).write_bytes(b"{}")

    with pytest.raises(harvest.HarvestError, match="symbolic link"):
        repair(small.location)

    assert {path: path.read_bytes() for path in away.iterdir()} == before


def test_a_whole_copy_is_restored_in_place_of_such_a_manifest(small: Small) -> None:
    # given that the dataset's own copies of the manifest are as they were
    good = (small.state / NAME).read_bytes()
    attrs.evolve(small.manifest(), token="../x").write(small.state / NAME)

    found = repair(small.location)

    assert found.restored
    assert (small.state / NAME).read_bytes() == good
    assert small.jobs() == [1, 2, 4]


@pytest.mark.slow
@pytest.mark.parametrize("what", ["file", "directory", "rejects"])
def test_links_that_lead_outside_are_named_and_not_followed(tmp_path: Path, what: str) -> None:
    # given a part, its directory or its rejects moved elsewhere, with a link in their place
    small = Small(tmp_path, "jsonl").write(a=dump(1, damaged=1))
    small.harvest()
    (part,) = small.manifest()
    path = small.location / part.files[0].path
    if what == "rejects":
        assert part.rejects is not None
        path = small.state / part.rejects.path
    moved = path.parent if what == "directory" else path
    target = moved.rename(tmp_path / "elsewhere")
    moved.symlink_to(target)
    before = {p: p.read_bytes() for p in (target, *target.rglob("*")) if p.is_file()}

    # then it is named by verify, and no reader takes its rows
    assert any("symbolic link" in text for text in small.open().verify())
    with pytest.raises(harvest.DatasetError, match="symbolic link"):
        small.jobs() if what != "rejects" else list(small.open().rejects())
    if what != "directory":
        # and repair puts a file of its own there
        assert repair(small.location).left == []
        assert small.jobs() == [1]
        assert not path.is_symlink()
    else:
        with pytest.raises(harvest.HarvestError, match="symbolic link"):
            repair(small.location)
    assert {p: p.read_bytes() for p in before} == before


def test_what_a_link_leads_to_is_not_kept_for_going_back(tmp_path: Path) -> None:
    # given a part's file moved elsewhere, with a link in its place
    small = Small(tmp_path, "jsonl").write(a=dump(1))
    small.harvest()
    (part,) = small.manifest()
    path = small.location / part.files[0].path
    target = path.rename(tmp_path / "elsewhere")
    path.symlink_to(target)

    # when a run replaces the part
    small.write(a=dump(2))
    small.harvest()

    # then the state before cannot be gone back to, and the file elsewhere has no second name
    assert small.manifest().kept == ()
    assert target.stat().st_nlink == 1


def test_staged_work_that_leads_outside_is_not_used(small: Small) -> None:
    # given finished work in staging, as a killed run leaves it, that names a file elsewhere
    (part, *_) = small.manifest()
    path = os.path.relpath(small.folder / "precious.jsonl", small.location.parent)
    staged = small.state / "staging" / part.stem
    staged.mkdir(parents=True)
    write_parts(staged / "_part.json", [attrs.evolve(part, files=(outside(small, f"../{path}"),))])

    small.harvest()

    assert small.jobs() == [1, 2, 4]
    assert small.open().verify() == []
    unharmed(small)


def test_a_manifest_of_another_shape_is_damaged(small: Small) -> None:
    document = orjson.loads((small.state / NAME).read_bytes())
    for schemas in ([], {"slurm.job": []}, {"slurm.job": {"version": "x", "columns": {}}}):
        path = small.folder / "manifest.json"
        path.write_bytes(orjson.dumps(document | {"schemas": schemas}))
        with pytest.raises(harvest.DatasetError, match="damaged"):
            Manifest.read(path)
