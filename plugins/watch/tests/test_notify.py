"""What a commit brought, said to a real mail server, web server and command, and to broken ones."""

import base64
import email
import email.policy
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from commands import harvest_here
from typer.testing import CliRunner, Result

from harvest import ConfigError
from harvest.cli.app import app
from harvest.plugins.registered import loaded
from harvest_watch.notify.config import configured

HEADER = "JobID|JobName|User|State|Submit|Start|End|Elapsed|ExitCode"
RULE = """
import harvest

def judge(frame, judged):
    return [
        harvest.Finding(severity=severity, headline=f"{name} failed", where={"name": name})
        for name in sorted(set(frame["name"]))
        for severity in ["high" if name.startswith("big") else "low"]
    ]

failing = harvest.Rule(
    name="test.failing", doc="Jobs that failed.", view="slurm.jobs", where="state = 'failed'",
    columns=("name", "state"), judge=judge, advice="look at it", reference="none",
)
"""


def job(number: int, name: str, state: str) -> str:
    return (
        f"{number}|{name}|ann|{state}|2026-05-01T10:00:00|2026-05-01T10:05:00|"
        f"2026-05-01T11:05:00|01:00:00|0:0"
    )


class Folder:
    """A folder of dumps, harvested into a dataset beside it, by the command line."""

    def __init__(self, path: Path):
        self.path = path
        self.environment = {
            **os.environ, "XDG_STATE_HOME": str(path / "state"), "no_proxy": "*",
        }  # fmt: skip
        self.environment.pop("HARVEST_NOTIFY", None)
        (path / "in").mkdir()

    def give(self, name: str, *lines: str) -> None:
        (self.path / "in" / name).write_text("\n".join((HEADER, *lines, "")))

    def run(self, *settings: str) -> Result:
        line = ["run", "-s", "slurm:in", "-k", "parquet:out", "-q", "--workers", "1"]
        line += ["--set", "slurm.timezone=UTC"]
        for setting in settings:
            line += ["--set", f"notify.{setting}"]
        return CliRunner().invoke(app, line, env=self.environment, standalone_mode=False)

    def run_with(self, plugin: str, *more: str) -> int:
        """The exit code of a run with a plugin of its own, that tells the command."""
        line = ["--plugin", plugin, "run", "-s", "slurm:in", "-q", "--workers", "1"]
        line += ["-k", "parquet:out", "--set", "slurm.timezone=UTC", *more]
        line += ["--set", "notify.command=./ear"]
        done = harvest_here(*line, cwd=self.path, **self.environment)
        loaded.clear()  # else the file stays a plugin of this process
        return done.returncode

    def heard(self) -> list[dict[str, Any]]:
        """What the command was given, each time."""
        file = self.path / "heard.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture(params=[pytest.param("watched", marks=pytest.mark.slow)])
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Folder:
    found = Folder(tmp_path)
    monkeypatch.chdir(tmp_path)
    ear = tmp_path / "ear"
    ear.write_text("#!/bin/sh\ncat >> heard.jsonl\n")
    ear.chmod(0o755)
    return found


class Web:
    """A web server that keeps what is posted, and answers as it is asked to."""

    def __init__(self) -> None:
        self.posts: list[dict[str, Any]] = []
        self.given: list[str | None] = []
        self.status, self.wait_s = 204, 0.0
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                web.given.append(self.headers["Authorization"])
                web.posts.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(web.status)
                if web.wait_s:  # a byte now and then, so that no read waits long
                    self.send_header("X-Slow", "")
                    for _ in range(int(web.wait_s / 0.2)):
                        self.wfile.write(b"X")
                        self.wfile.flush()
                        time.sleep(0.2)
                self.send_header("Location", "http://127.0.0.1:1/")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook/sesame"


@pytest.fixture
def web(folder: Folder) -> Iterator[Web]:
    found = Web()
    threading.Thread(target=found.server.serve_forever, daemon=True).start()
    (folder.path / "url").write_text(found.url + "\n")
    yield found
    found.server.shutdown()
    found.server.server_close()


def test_a_command_hears_once_of_rejects_and_of_more(folder: Folder) -> None:
    # given a dump with a line that is no job
    folder.give("a.txt", job(1, "a", "COMPLETED"), "x|||||||")
    done = folder.run("command=./ear")
    assert done.return_value == 3
    (message,) = folder.heard()
    assert message["dataset"] == str(folder.path / "out")
    assert message["rows"] == {"slurm.job": 1}
    assert message["rejects"] == [
        {"source": "slurm", "input": str(folder.path / "in" / "a.txt"), "rejected": 1}
    ]
    # then it is not said again, whatever else comes
    folder.give("b.txt", job(2, "b", "COMPLETED"))
    assert folder.run("command=./ear").return_value == 0
    assert len(folder.heard()) == 1
    # but what is new is
    folder.give("c.txt", "y|||||||", "z|||||||")
    folder.run("command=./ear")
    assert [each["rejected"] for each in folder.heard()] == [1, 2]


def test_findings_are_said_when_they_are_new_and_severe(folder: Folder) -> None:
    (folder.path / "rule.py").write_text(RULE)

    def run() -> list[list[str]]:
        assert folder.run_with("rule.py", "--set", "notify.severity=high") == 0
        return [
            [each["headline"] for each in message["findings"] if each["rule"] == "test.failing"]
            for message in folder.heard()
        ]

    folder.give("a.txt", job(1, "big", "FAILED"), job(2, "small", "FAILED"))
    assert run()[-1] == ["big failed"]
    folder.give("b.txt", job(3, "big", "FAILED"))
    before = len(run())
    folder.give("c.txt", job(4, "bigger", "FAILED"))
    assert run()[before:] == [["bigger failed"]]


def test_a_webhook_gets_json_and_its_address_is_nowhere(folder: Folder, web: Web) -> None:
    folder.give("a.txt", "x|||||||")
    folder.give("b.txt", job(1, "a", "COMPLETED"))
    done = folder.run("url_file=url")
    assert done.return_value == 3
    (post,) = web.posts
    assert post["text"] == f"harvest: 1 reject in {folder.path / 'out'}"
    assert post["inputs_with_rejects"] == 1
    kept = b"".join(p.read_bytes() for p in (folder.path / "out").rglob("*") if p.is_file())
    assert b"sesame" not in kept
    assert "sesame" not in done.stdout + done.stderr
    # and it cannot be a setting, which would be recorded
    folder.give("c.txt", "y|||||||")
    refused = folder.run(f"url={web.url}")
    assert "is a secret, and settings are recorded" in refused.stderr
    assert refused.return_value == 3


def test_a_user_and_a_password_in_an_address_are_sent_as_a_header(folder: Folder, web: Web) -> None:
    (folder.path / "url").write_text(web.url.replace("//", "//ann:s%40cret@"))
    folder.give("a.txt", "x|||||||")

    done = folder.run("url_file=url")

    assert len(web.posts) == 1
    assert web.given == ["Basic " + base64.b64encode(b"ann:s@cret").decode()]
    assert "cret" not in done.stdout + done.stderr


class Post:
    """A mail server that keeps what it is given."""

    def __init__(self) -> None:
        self.mails: list[Any] = []
        controller = pytest.importorskip("aiosmtpd.controller")
        self.server = controller.Controller(self, hostname="127.0.0.1", port=0)
        self.server.port = free_port()
        self.server.start()
        self.setting = f"smtp=127.0.0.1:{self.server.port}"

    async def handle_DATA(self, server: object, session: object, envelope: Any) -> str:
        self.mails.append(envelope)
        return "250 OK"


@pytest.fixture
def post() -> Iterator[Post]:
    found = Post()
    yield found
    found.server.stop()


def test_a_mail_server_gets_a_mail(folder: Folder, post: Post) -> None:
    folder.give("a.txt", job(1, "a", "COMPLETED"), "x|||||||")
    done = folder.run(
        "mail_to=ops@example.org,b@example.org", "mail_from=h@example.org", post.setting
    )
    assert done.return_value == 3
    (envelope,) = post.mails
    assert envelope.mail_from == "h@example.org"
    assert envelope.rcpt_tos == ["ops@example.org", "b@example.org"]
    letter = email.message_from_bytes(envelope.content, policy=email.policy.default)
    assert letter["Subject"] == f"harvest: 1 reject in {folder.path / 'out'}"
    assert "a.txt: 1 input unit could not be read" in letter.get_content()


def test_a_mail_shows_a_view_as_a_table_where_its_rows_are_new(folder: Folder, post: Post) -> None:
    settings = (
        "mail_to=ops@example.org", post.setting, "view=slurm.usage:by=user", "sort=-jobs",
        "columns=user,jobs", "limit=1", "severity=high",
    )  # fmt: skip
    # given two users, of whom ann has more jobs
    folder.give("a.txt", job(1, "a", "COMPLETED"), job(2, "a", "COMPLETED"))
    folder.give("b.txt", job(3, "b", "COMPLETED").replace("|ann|", "|bob|"))
    assert folder.run(*settings).return_value == 0
    letter = email.message_from_bytes(post.mails[0].content, policy=email.policy.default)
    assert letter["Subject"] == f"harvest: slurm.usage:by=user in {folder.path / 'out'}"
    text = letter.get_content()
    assert text[text.index("slurm.usage") :].splitlines() == [
        "slurm.usage:by=user, 1 of 2 rows:", "", "user  jobs", "ann      2"
    ]  # fmt: skip
    # when what the table shows stays the same, nobody gets a mail
    folder.give("c.txt", "")
    folder.run(*settings)
    assert len(post.mails) == 1
    # when it changes, the mail has the new rows
    folder.give("d.txt", job(4, "a", "COMPLETED"))
    folder.run(*settings)
    assert "ann      3" in post.mails[1].content.decode()


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("view=slurm.usag", "slurm.usage"),
        ("view=slurm.usage:bx=user", "no setting 'bx'"),
        ("columns=user,nothing", "nothing"),
        ("sort=nothing", "nothing"),
    ],
)
def test_a_view_that_does_not_fit_is_a_remark(folder: Folder, setting: str, said: str) -> None:
    folder.give("a.txt", job(1, "a", "COMPLETED"))
    given = [] if setting.startswith("view") else ["view=slurm.usage:by=user"]

    done = folder.run("command=./ear", *given, setting)

    assert done.return_value == 0
    assert "is not sent" in done.stderr
    assert said in done.stderr
    assert all(message["table"] is None for message in folder.heard())


def settings_of(path: Path, toml: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The settings of a file for all runs."""
    (path / "notify.toml").write_text(toml)
    monkeypatch.setenv("HARVEST_NOTIFY", str(path / "notify.toml"))
    return configured({})


def test_blanks_around_addresses_of_a_list_are_no_part_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = settings_of(tmp_path, 'mail_to = [" a@b", "c@d ", " "]\ntimeout_s = 2', monkeypatch)
    assert (made.mail_to, made.timeout_s) == (("a@b", "c@d"), 2.0)


@pytest.mark.parametrize(
    "toml", ["mail_to = [1]", "url_file = 5", "mail_to = 5", "sendmail = true"]
)
def test_what_is_no_text_is_no_setting_of_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, toml: str
) -> None:
    with pytest.raises(ConfigError, match="does not fit") as caught:
        settings_of(tmp_path, toml, monkeypatch)
    assert caught.value.where == f"notify.{toml.split()[0]}"


def test_sendmail_takes_a_mail(folder: Folder) -> None:
    program = folder.path / "sendmail"
    program.write_text('#!/bin/sh\necho "$@" > mail.txt; cat >> mail.txt\n')
    program.chmod(0o755)
    folder.give("a.txt", "x|||||||", job(1, "a", "COMPLETED"))
    folder.run("mail_to=ops@example.org", "sendmail=./sendmail")
    text = (folder.path / "mail.txt").read_text()
    assert text.startswith("-i -t\n")
    assert "To: ops@example.org" in text


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_a_failed_export_is_said(folder: Folder) -> None:
    (folder.path / "bad.py").write_text(
        "import harvest\n"
        "def write(dataset, target):\n    raise harvest.UsageError('no room')\n"
        "bad = harvest.ExporterSpec(name='bad', doc='Fails.', write=write)\n"
    )
    folder.give("a.txt", job(1, "a", "COMPLETED"))
    assert folder.run_with("bad.py", "--export", "bad:x") == 5
    assert folder.heard()[0]["failed_exports"] == [{"export": "bad:x", "reason": "no room"}]


@pytest.mark.parametrize("how", ["dead", "302", "slow", "no-http"])
def test_a_webhook_that_fails_harms_nothing(folder: Folder, web: Web, how: str) -> None:
    folder.give("a.txt", job(1, "a", "COMPLETED"), "x|||||||")
    said = {
        "dead": "refused", "302": "127.0.0.1 answered 302",
        "slow": "took longer than 1 s", "no-http": "took longer than 1 s",
    }[how]  # fmt: skip
    silent = socket.create_server(("127.0.0.1", 0))
    if how == "dead":
        (folder.path / "url").write_text(f"http://127.0.0.1:{free_port()}/sesame")
    elif how == "no-http":  # it takes connections, and never says anything
        (folder.path / "url").write_text(f"http://127.0.0.1:{silent.getsockname()[1]}/sesame")
    elif how == "slow":
        web.wait_s = 30.0
    else:
        web.status = int(how)
    done = folder.run("url_file=url", "command=./ear", "timeout_s=1")
    silent.close()
    # then the run ends as it would, the command has heard, and the webhook is a remark
    assert done.return_value == 3
    assert len(folder.heard()) == 1
    assert "notify: webhook: 127.0.0.1" in done.stderr
    assert said in done.stderr
    assert "sesame" not in done.stderr
    # and it hears after the next commit, the command not again
    web.status, web.wait_s = 200, 0.0
    web.posts.clear()
    (folder.path / "url").write_text(web.url)
    folder.give("b.txt", job(2, "b", "COMPLETED"))
    folder.run("url_file=url", "command=./ear")
    assert [post["rejected"] for post in web.posts] == [1]
    assert len(folder.heard()) == 1


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("sleep 30", "took longer than 1 s, and was ended"),
        ("sleep 30 & echo no >&2; exit 7", "ended with 7: no"),
        (None, "./none: No such file or directory"),
    ],
)
def test_a_command_that_fails_harms_nothing(folder: Folder, program: str | None, said: str) -> None:
    folder.give("a.txt", job(1, "a", "COMPLETED"), "x|||||||")
    if program is not None:
        (folder.path / "none").write_text(f"#!/bin/sh\n{program}\n")
        (folder.path / "none").chmod(0o755)
    done = folder.run("command=./none", "timeout_s=1")
    assert done.return_value == 3
    assert f"notify: command: {said}" in done.stderr or said in done.stderr


@pytest.mark.parametrize("how", ["dead", "silent"])
def test_a_mail_server_that_fails_harms_nothing(folder: Folder, how: str) -> None:
    folder.give("a.txt", job(1, "a", "COMPLETED"), "x|||||||")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1] if how == "silent" else free_port()
        done = folder.run("mail_to=a@b", f"smtp=127.0.0.1:{port}", "timeout_s=1")
    assert done.return_value == 3
    assert "notify: mail: 127.0.0.1" in done.stderr


@pytest.mark.parametrize(
    ("url", "mail_to", "said"),
    [
        ("http://[sesame", "", "webhook: its address cannot be read: "),
        ("http://127.0.0.1/sesame-ü", "", "webhook: 127.0.0.1: 'ascii' codec can't encode"),
        ("http://a..b/sesame", "", "webhook: a..b: "),
        ("", "a b@", "'a b@' is not an address: "),
        ("", "a@b c", "'a@b c' is not an address: "),
        ("", "a@[", "'a@[' is not an address: "),
    ],
)
def test_an_address_that_is_none_harms_nothing(
    folder: Folder, url: str, mail_to: str, said: str
) -> None:
    (folder.path / "url").write_text(url)
    folder.give("a.txt", "x|||||||")
    done = folder.run("url_file=url" if url else f"mail_to={mail_to}", "command=./ear")
    assert done.return_value == 3
    assert said in done.stderr
    assert "; it is sent after the next commit" in done.stderr
    assert "sesame" not in done.stderr
    assert len(folder.heard()) == 1


def test_settings_of_a_file_count_for_all_runs_and_a_misspelt_one_is_said(folder: Folder) -> None:
    folder.give("a.txt", job(1, "a", "COMPLETED"), "x|||||||")
    (folder.path / "notify.toml").write_text('command = ["./ear"]\n')
    folder.environment["HARVEST_NOTIFY"] = str(folder.path / "notify.toml")
    assert folder.run().return_value == 3
    assert len(folder.heard()) == 1
    folder.give("b.txt", job(2, "b", "COMPLETED"))
    done = folder.run("comand=./ear")
    assert done.return_value == 0
    assert "'notify' has no setting 'comand'; did you mean 'command'" in done.stderr


def test_a_record_of_messages_that_cannot_be_kept_is_said(folder: Folder) -> None:
    folder.give("a.txt", job(1, "a", "COMPLETED"), "x|||||||")
    done = folder.run("command=./ear", "state=/dev/null/x")
    assert done.return_value == 3
    assert "Not a directory; set notify.state to a directory" in " ".join(done.stderr.split())
    assert folder.heard() == []


def test_nobody_hears_of_nothing_and_without_a_receiver_nothing_is_kept(folder: Folder) -> None:
    folder.give("a.txt", job(1, "a", "COMPLETED"))
    assert folder.run("command=./ear", "severity=high").return_value == 0
    assert folder.heard() == []
    (folder.path / "in" / "a.txt").unlink()
    folder.give("b.txt", "x|||||||", job(1, "a", "COMPLETED"))
    kept = sorted((folder.path / "state").rglob("*.json"))
    before = [path.read_bytes() for path in kept]
    folder.run()
    assert [path.read_bytes() for path in kept] == before
