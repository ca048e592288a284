"""What is written for owners and for mmapplypolicy, read by a checker of IBM's grammar."""

import email
import email.policy
from pathlib import Path

import polars as pl
import pytest
from policy_grammar import Rules, listed, plain_paths, records
from raw_lists import NOW, candidates, harvested, row

import harvest

ODD = [
    b"with space", b"pipe|name", "caf\u00e9".encode(), b"100%done", b"a -- b", b"bad\xff\xfebyte",
    b"quote's", b"tab\tname", b"back\\slash", b"new\nline", b"semi;#", b"b[r]ackets", b"shift",
    b"under_score!", b"*/ DELETE", b"cr\rname",
]  # fmt: skip
"""Names that a policy, m4, or a list could take for something else."""
DIRECTORY = "/fs/shift_[x]/o'brien"
"""A place whose name m4 and the policy language have words and marks of."""


@pytest.fixture(scope="module")
def rows():
    place = DIRECTORY.encode()
    chosen = [row(place + b"/" + name, n, size=n * 1000) for n, name in enumerate(ODD, 1)]
    return [
        *chosen,
        row(place + b"/link1", 50, nlink=2), row(place + b"/link2", 50, nlink=2),
        row(place + b"/keep/a", 60), row(place + b"/b.h5", 61),
        row(place + b"/young", 62, access=NOW),
        row(b"/fs/elsewhere/c", 63), row(b"/fs/shiftyx/c", 64), row(place + b"/d", 65, uid=8),
        row(place + b"/directory", 66, kind="D", mode="drwxr-x---"),
    ]  # fmt: skip


CHOSEN = {"under": (DIRECTORY,), "exclude": ("keep", "*.h5")}


@pytest.fixture(scope="module")
def data(tmp_path_factory, rows):
    return harvested(tmp_path_factory.mktemp("scan") / "20260111.list", rows)


def export(data: harvest.Dataset, folder: Path, **given) -> Path:
    data.export("gpfs-candidates", folder / "todo", **given)
    return folder / "todo"


def attributes(r) -> dict:
    """A row as the policy language sees it."""
    return {
        "ACCESS_TIME": r["access"], "MODIFICATION_TIME": r["modify"], "NLINK": r["nlink"],
        "FILE_SIZE": r["size"], "USER_ID": r["uid"], "MODE": r["mode"],
        "PATH_NAME": r["path"].decode("utf-8", "backslashreplace"), "POOL_NAME": "data",
    }  # fmt: skip


def test_the_policy_lists_exactly_the_candidates_with_one_path(tmp_path, data, rows):
    todo = export(data, tmp_path, **CHOSEN)

    rules = Rules((todo / "candidates.policy").read_text()).rules
    listing = records((todo / "candidates.list").read_bytes())

    wanted = [one[0] for one in candidates(rows, age=365, **CHOSEN) if len(one) == 1]
    assert len(wanted) == len(ODD) + 1
    assert sorted(listing) == sorted((r["inode"], r["generation"], r["path"]) for r in wanted)
    # with DIRECTORIES_PLUS absent, the policy engine looks at files alone
    files = [r for r in rows if r["kind"] == "F"]
    assert [r for r in files if listed(rules, attributes(r))] == wanted


def test_it_lists_and_does_nothing_else(tmp_path, data, rows):
    todo = export(data, tmp_path, **CHOSEN)

    rules = Rules((todo / "candidates.policy").read_text()).rules

    assert [rule["kind"] for rule in rules] == ["EXTERNAL LIST", "LIST", "LIST"]
    assert {rule["of"] for rule in rules} == {"candidates"}
    assert [rule.get("exclude") for rule in rules] == [None, True, False]
    assert rules[0]["exec"] == ""


@pytest.mark.parametrize(
    "given",
    [
        {"age": "0d", "time": "access", "above": "64K"},
        {"owner": ("7", "8"), "pool": ("data", "it's")},
        {"only": ("*.h5", "/fs/a*b?c_%![d]'e")},
        {"kind": ("file", "symlink")},
        {"exclude": ("dnl", "define(", "#x", "/* no", "caf\u00e9")},
    ],
)
def test_any_settings_give_a_policy_of_the_grammar(tmp_path, data, rows, given):
    todo = export(data, tmp_path, **given)

    rules = Rules((todo / "candidates.policy").read_text()).rules

    assert rules[-1]["kind"] == "LIST"
    assert rules[-1]["directories_plus"] == ("kind" in given)
    folder = next(r for r in rows if r["kind"] == "D")
    assert "kind" not in given or not listed(rules, attributes(folder))


def test_a_touched_file_is_not_listed_any_more(tmp_path, data, rows):
    todo = export(data, tmp_path, **CHOSEN)
    rules = Rules((todo / "candidates.policy").read_text()).rules
    file = attributes(rows[0])

    assert listed(rules, file)
    assert not listed(rules, file | {"ACCESS_TIME": NOW})
    assert not listed(rules, file | {"NLINK": 2})


def test_the_name_of_a_list_without_a_time_is_no_end_of_a_comment(tmp_path, data, rows):
    place = tmp_path / "a*" / "RULE 'x' DELETE"
    place.mkdir(parents=True)
    todo = export(harvested(place / "scan.list", rows), tmp_path, now="2026-01-11")

    rules = Rules((todo / "candidates.policy").read_text()).rules

    assert [rule["kind"] for rule in rules] == ["EXTERNAL LIST", "LIST"]


def test_records_end_with_nul_only_where_a_path_holds_a_newline(tmp_path, data, rows):
    plain = [r for r in rows if b"\n" not in r["path"]]
    without = harvested(tmp_path / "20260111.list", plain)

    assert b"\0" not in (export(without, tmp_path) / "candidates.list").read_bytes()
    (tmp_path / "odd").mkdir()
    todo = export(data, tmp_path / "odd")
    assert (todo / "candidates.list").read_bytes().endswith(b"\0")


def test_without_generations_the_list_is_of_paths_alone(tmp_path, data, rows):
    data = harvested(tmp_path / "20260111.list", rows)
    (part,) = (tmp_path / "out").rglob("gpfs.file/**/*.parquet")
    pl.read_parquet(part).with_columns(generation=None).write_parquet(part)

    todo = export(data, tmp_path, **CHOSEN)

    wanted = [one[0]["path"] for one in candidates(rows, age=365, **CHOSEN) if len(one) == 1]
    listing = plain_paths((todo / "candidates.list").read_bytes())
    assert sorted(listing) == sorted(wanted)


def test_owners_get_their_paths_and_a_message(tmp_path, data, rows):
    passwd = tmp_path / "passwd"
    passwd.write_text("ada:x:7::::\n")
    asked = {"by": "31 March", "contact": "help@example.org", "mail_domain": "example.org"}
    todo = export(data, tmp_path, passwd=passwd, **CHOSEN, **asked)

    ada = [one for one in candidates(rows, age=365, **CHOSEN) if one[0]["uid"] == 7]
    listing = plain_paths((todo / "lists" / "ada.txt").read_bytes())
    assert sorted(listing) == sorted(one[0]["path"] for one in ada)
    assert sorted(p.name for p in (todo / "mails").iterdir()) == ["8.eml", "ada.eml"]
    raw = (todo / "mails" / "ada.eml").read_bytes()
    mail = email.message_from_bytes(raw, policy=email.policy.default)
    text = mail.get_content()
    assert mail["To"] == "ada@example.org"
    assert mail["Subject"].startswith(f"Deletion candidates: {len(ada)} files, ")
    assert "by 31 March" in text
    assert "help@example.org" in text
    assert str(todo / "lists" / "ada.txt") in text
    assert "1 file with several hard links" in text.replace("\n", " ")
    assert email.message_from_bytes((todo / "mails" / "8.eml").read_bytes())["To"] is None


@pytest.mark.parametrize("name", ["../evil", ".", "a -rf", "(uid-7)"])
def test_a_name_that_is_no_plain_word_names_no_file(tmp_path, data, name):
    passwd = tmp_path / "passwd"
    passwd.write_text(f"{name}:x:7::::\n")
    todo = export(data, tmp_path, passwd=passwd, mail_domain="example.org")

    assert sorted(p.name for p in (todo / "lists").iterdir()) == ["(uid-7).txt", "8.txt"]
    assert b"\nTo:" not in b"\n" + (todo / "mails" / "(uid-7).eml").read_bytes()


def test_what_is_there_is_not_touched(tmp_path, data, rows):
    todo = export(data, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in todo.rglob("*")}

    with pytest.raises(harvest.UsageError, match="this exists already"):
        export(data, tmp_path)

    assert {path: path.stat().st_mtime_ns for path in todo.rglob("*")} == before


@pytest.mark.parametrize(
    ("given", "words"),
    [({"mail_domain": "a b"}, "mail domain"), ({"by": "now\nBcc: x@y"}, "one line")],
)
def test_a_text_that_would_break_a_message_is_refused(tmp_path, data, given, words):
    with pytest.raises(harvest.UsageError, match=words):
        export(data, tmp_path, **given)
    assert not (tmp_path / "todo").exists()
