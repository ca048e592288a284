"""Check every request: who may ask, how much, how long, and what browsers may do.

- ``Host`` must name this server, which prevents DNS rebinding by pages of other sites.
- A token is needed: in the address once, then as a cookie; or as ``Authorization: Bearer``.
- Bodies are small and arrive soon, few requests run together, slow readers are disconnected.
- Browsers run only this server's own scripts, and cache nothing.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import html
import ipaddress
import re
import socket
import time
from collections.abc import Iterable
from typing import Final
from urllib.parse import quote, urlencode

import attrs
import orjson
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .problems import Problem, Refused

BODY_BYTES: Final = 1_000_000
"""The largest body of a request."""

BODY_S: Final = 10.0
"""Seconds in which a body must arrive."""

SEND_S: Final = 60.0
"""Seconds in which a client must accept a piece of a response."""

AT_ONCE: Final = 256
"""Requests that may be active or wait for their turn."""

OPEN: Final = "/static/"
"""The path that needs no token: files of this distribution, which hold no data."""

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; form-action 'self'; frame-src 'self'; base-uri 'none'; "
    "frame-ancestors 'self'"
)
"""The content security policy of pages: only files of this server, and no inline code."""

SANDBOX: Final = (
    "sandbox allow-downloads; default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)
"""The policy of a report's own page, which contains its style and pictures: no code at all."""

_HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "x-frame-options": "SAMEORIGIN",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


@attrs.frozen(kw_only=True)
class Access:
    """Who may ask.

    token: the token that requests need; None where a proxy guards the server.
    names: hosts that requests may name, in lower case, without ports.
    any_address: whether Host may be any IP address, which no page of another site can have.
    cookie: the name of the cookie, of this server alone.
    """

    token: str | None
    names: frozenset[str]
    any_address: bool = False
    cookie: str = "harvest-serve"

    @property
    def ticket(self) -> str:
        """The cookie's value: it proves that its sender knew the token, and does not contain it."""
        return hashlib.sha256(f"cookie {self.token}".encode()).hexdigest()

    def calls_us(self, host: str) -> bool:
        """Return whether a Host header names this server."""
        found = _HOST.fullmatch(host.strip().lower())
        name = (found[1] or found[2]) if found else ""
        return name in self.names or (self.any_address and _is_address(name))


def access(token: str | None, host: str, port: int, names: Iterable[str] = ()) -> Access:
    """Return who may ask a server that listens at an address; names: more names of the server."""
    known = {host.lower(), *(name.lower() for name in names)}
    everywhere = host in ("0.0.0.0", "::", "")  # noqa: S104 - a name for all, which is refused elsewhere
    if is_loopback(host) or everywhere:
        known |= {"localhost", "127.0.0.1", "::1"}
    if not is_loopback(host):
        known |= {socket.gethostname().lower(), socket.getfqdn().lower()}
    cookie = f"harvest-serve-{port}"
    return Access(token=token, names=frozenset(known), any_address=everywhere, cookie=cookie)


def is_loopback(host: str) -> bool:
    """Return whether only users of this computer can reach an address."""
    return host == "localhost" or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


_HOST: Final = re.compile(r"(?:\[([0-9a-f:.]+)\]|([^\s:/?#@\[\]\\]+))(?::[0-9]{1,5})?", re.ASCII)
"""A Host header in lower case: a name, or an IPv6 address in brackets, with an optional port."""


class Guard:
    """ASGI middleware that makes the checks of this module before another application."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app = app
        self._access = access
        self._at_work = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or refuse it."""
        if scope["type"] != "http":
            return
        asked, guarded = _Asked(scope), _guarded_send(send)
        refusal = self._refusal(asked)
        if refusal is not None:
            await refusal(scope, receive, guarded)
            return
        self._at_work += 1
        try:
            await self._app(scope, _guarded_receive(asked, receive), guarded)
        finally:
            self._at_work -= 1

    def _refusal(self, asked: _Asked) -> Response | None:
        """Return the response that refuses a request; None where the application may answer."""
        if not self._access.calls_us(asked.header("host")):
            return _refusal(
                asked,
                421,
                f"this server is not called {asked.header('host')!r}",
                "use the address that `harvest serve` printed, or start it with --allow-host NAME",
            )
        if self._access.token is not None and not asked.path.startswith(OPEN):
            let_in = self._let_in(asked, self._access.token)
            if let_in is not None:
                return let_in
        if self._at_work >= AT_ONCE:
            return _refusal(
                asked, 503, "too many questions at the same time", "try again in a moment"
            )
        length = asked.header("content-length")
        if length.isdigit() and int(length) > BODY_BYTES:
            return _refusal(asked, 413, *_TOO_LARGE)
        return None

    def _let_in(self, asked: _Asked, token: str) -> Response | None:
        """Return None for a request with the token; else a refusal, or a redirect without the
        token.
        """
        word, _, bearer = asked.header("authorization").partition(" ")
        if word.lower() == "bearer" and _same(bearer.strip(), token):
            return None
        given = asked.query_params.get("token")
        has_cookie = _same(asked.cookies.get(self._access.cookie, ""), self._access.ticket)
        if not has_cookie and (given is None or not _same(given, token)):
            return _refusal(
                asked,
                401,
                "this is not the token" if given or bearer else "the token is missing",
                "use the address that `harvest serve` printed; a program sends the header "
                "Authorization: Bearer TOKEN",
            )
        if given is None or asked.method not in ("GET", "HEAD") or asked.is_program:
            return None
        # otherwise the token would stay in the browser's history
        rest = [pair for pair in asked.query_params.multi_items() if pair[0] != "token"]
        # two slashes would start the address of another server
        address = quote("/" + asked.path.lstrip("/")) + (f"?{urlencode(rest)}" if rest else "")
        answer = RedirectResponse(address, status_code=303)
        if not has_cookie:
            answer.set_cookie(
                self._access.cookie, self._access.ticket, httponly=True, samesite="strict"
            )
        return answer


_TOO_LARGE: Final = f"the body has more than {BODY_BYTES:,} bytes", "send a shorter question"


def _same(given: str, wanted: str) -> bool:
    """Compare two texts in constant time."""
    return hmac.compare_digest(given.encode(), wanted.encode())


class _Asked(Request):
    """A request that is not trusted yet."""

    def header(self, name: str) -> str:
        """Return a header; empty where it is missing or repeated."""
        found = self.headers.getlist(name)
        return found[0] if len(found) == 1 else ""

    @property
    def path(self) -> str:
        """The path, whatever ``Host`` says."""
        return str(self.scope["path"])

    @property
    def is_program(self) -> bool:
        """Whether a program asks, which gets JSON."""
        return self.path.split("/")[1:2] in (["api"], ["mcp"])


def _refusal(asked: _Asked, status: int, message: str, remedy: str) -> Response:
    """Build a refusal, after which the connection closes."""
    headers = {"connection": "close"}
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if asked.is_program:
        problem = Problem(message=message, remedy=remedy, status=status)
        return Response(
            orjson.dumps(problem.to_dict()), status, headers, media_type="application/json"
        )
    page = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><title>harvest</title></head>'
        f"<body><main><h1>{html.escape(message)}</h1><p>{html.escape(remedy)}</p></main></body></html>"
    )
    return HTMLResponse(page, status, headers)


class SlowReader(Exception):
    """The client does not accept the response that it asked for."""


def _guarded_receive(asked: _Asked, receive: Receive) -> Receive:
    """Wrap ``receive`` so that a body must be small and arrive soon; the wrapper raises Refused."""
    taken, until, whole = 0, time.monotonic() + BODY_S, False

    async def guarded() -> Message:
        nonlocal taken, whole
        if whole:
            return await receive()  # the client's disconnect
        try:
            async with asyncio.timeout(max(0.0, until - time.monotonic())):
                message = await receive()
        except TimeoutError:
            raise Refused(
                "the body did not come in time", status=408, remedy="send it again"
            ) from None
        taken += len(message.get("body", b""))
        whole = message["type"] != "http.request" or not message.get("more_body", False)
        if taken > BODY_BYTES:
            raise Refused(_TOO_LARGE[0], status=413, remedy=_TOO_LARGE[1])
        return message

    return guarded


def _guarded_send(send: Send) -> Send:
    """Wrap ``send`` to add the headers of every response; the wrapper raises SlowReader."""

    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
            if message["status"] in (408, 413, 415):
                headers.setdefault("connection", "close")
        try:
            async with asyncio.timeout(SEND_S):
                await send(message)
        except TimeoutError:
            raise SlowReader from None

    return guarded
