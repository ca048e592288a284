"""Receivers: a mail server or ``sendmail``, a webhook, a command; each has a time limit."""

import base64
import getpass
import http.client
import os
import signal
import smtplib
import socket
import subprocess
import tempfile
import threading
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from email.message import EmailMessage
from pathlib import Path
from typing import Any, Final

import orjson

from harvest import interrupt
from harvest.toolkit.texts import excerpt, printable_line

from .config import URL_VARIABLE, Config
from .news import in_words


class NotSaid(Exception):
    """A receiver did not accept a message; the text says why."""


def mail(message: Mapping[str, Any], config: Config) -> None:
    """Send a mail; raises NotSaid if that fails."""
    subject, text = in_words(message)
    sender = config.mail_from or f"{getpass.getuser()}@{socket.getfqdn()}"
    letter = EmailMessage()
    try:
        letter["From"], letter["To"] = sender, ", ".join(config.mail_to)
        letter["Subject"] = subject
        for defect in (*letter["From"].defects, *letter["To"].defects):
            if "address-list" in str(defect):  # the rest would be left out
                raise defect
    except (ValueError, LookupError, AttributeError) as error:  # all are Python's for bad addresses
        given = f"{sender!r} or {', '.join(config.mail_to)!r}"
        raise NotSaid(f"{given} is not an address: {error}") from error
    letter["Auto-Submitted"] = "auto-generated"
    letter.set_content(text)
    if config.sendmail:
        _feed([config.sendmail, "-i", "-t"], letter.as_bytes(), config.timeout_s)
        return
    host, _, port = config.smtp.rpartition(":") if ":" in config.smtp else (config.smtp, "", "25")
    if not (host and port.isdecimal()):
        raise NotSaid(f"notify.smtp {config.smtp!r} is not HOST:PORT")

    def send() -> None:
        with smtplib.SMTP(host, int(port), timeout=config.timeout_s) as server:
            refused = server.send_message(letter)
        if refused:
            raise NotSaid(f"refused for {', '.join(refused)}")

    _within(config.timeout_s, send, config.smtp)


def webhook(message: Mapping[str, Any], config: Config) -> None:
    """Post JSON, with a line of ``text`` that chats show; raises NotSaid if that fails.

    The address is a secret; errors name only its host.
    """
    url = os.environ.get(URL_VARIABLE, "")
    if config.url_file:
        try:
            url = Path(config.url_file).expanduser().read_text(encoding="utf-8").strip()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "not a text"
            raise NotSaid(f"{config.url_file} cannot be read: {reason}") from error
    try:
        address = urllib.parse.urlsplit(url)
    except ValueError as error:
        raise NotSaid(f"its address cannot be read: {error}") from None
    host = address.hostname
    if not (url.startswith(("https://", "http://")) and host):
        raise NotSaid("its address does not begin with http:// or https://")
    data = orjson.dumps({"text": in_words(message)[0], **message})
    headers = {"Content-Type": "application/json", "User-Agent": "harvest-notify"}
    user, at, place = address.netloc.rpartition("@")
    if at:  # urllib would treat it as part of the host name
        given = base64.b64encode(urllib.parse.unquote_to_bytes(user)).decode()
        headers["Authorization"] = f"Basic {given}"
        url = address._replace(netloc=place).geturl()

    def post() -> None:
        request = urllib.request.Request(url, data, headers)  # noqa: S310 - looked at above
        opener = urllib.request.build_opener(_NoRedirect)
        try:
            with opener.open(request, timeout=config.timeout_s) as answer:
                answer.read(1)
        except urllib.error.HTTPError as error:
            with error:
                raise NotSaid(f"{host} answered {error.code}") from None
        except urllib.error.URLError as error:
            if isinstance(error.reason, TimeoutError):
                raise error.reason from None
            raise NotSaid(f"{host}: {error.reason}") from None
        except http.client.HTTPException as error:
            raise NotSaid(f"{host} did not answer in HTTP ({type(error).__name__})") from None

    _within(config.timeout_s, post, host)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: the redirected request would lose the posted content."""

    def redirect_request(self, *_: Any) -> None:
        return None


def command(message: Mapping[str, Any], config: Config) -> None:
    """Write JSON to a program's standard input; raises NotSaid if the program fails."""
    _feed(config.command, orjson.dumps(message) + b"\n", config.timeout_s)


def _feed(words: Sequence[str], data: bytes, timeout_s: float) -> None:
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
        given.write(data)
        given.seek(0)
        try:
            process = subprocess.Popen(
                list(words), stdin=given, stdout=subprocess.DEVNULL, stderr=said,
                start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            raise NotSaid(f"{words[0]}: {error.strerror}") from error
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise NotSaid(f"{words[0]} took longer than {timeout_s:g} s, and was ended") from None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if code:
            said.seek(max(0, said.seek(0, os.SEEK_END) - 1_000))
            lines = said.read().decode("utf-8", "backslashreplace").strip().splitlines()
            last = f": {excerpt(printable_line(lines[-1]), 200)}" if lines else ""
            raise NotSaid(f"{words[0]} ended with {code}{last}")


def _within(timeout_s: float, call: Callable[[], None], whom: str) -> None:
    """Call a function that may block repeatedly; raises NotSaid after ``timeout_s`` seconds."""
    failed: list[BaseException] = []

    def run() -> None:
        try:
            call()
        except BaseException as error:  # noqa: BLE001 - raised below
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    left = timeout_s
    while thread.is_alive() and left > 0:
        interrupt.check()
        thread.join(min(left, interrupt.POLL_S))
        left -= interrupt.POLL_S
    if thread.is_alive() or (failed and isinstance(failed[0], TimeoutError)):
        raise NotSaid(f"{whom} took longer than {timeout_s:g} s")
    if failed:
        error = failed[0]
        # UnicodeError: an address that is not ASCII, or whose host is not a name
        if isinstance(error, (OSError, smtplib.SMTPException, UnicodeError)):
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise NotSaid(f"{whom}: {printable_line(reason)}") from error
        raise error


RECEIVERS: Final[Mapping[str, Callable[[Mapping[str, Any], Config], None]]] = {
    "mail": mail,
    "webhook": webhook,
    "command": command,
}
