"""Who may talk to this server, and what a browser may do with its answers: ASGI middleware around all others.

A page of another site must not reach a server on this machine: neither by its address (Origin) nor by a name of its
own that it lets point here (DNS rebinding). Streamlit checks the Origin of a websocket only, and asks an outside
server for this machine's address to do so. Here nothing is looked up, and Streamlit gets no Origin to check again.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.base.access.visitors import is_address, is_local, is_localhost, is_loopback

HOSTS, FRAMES, METRICS = "ENCODERSCOPE_HOSTS", "ENCODERSCOPE_FRAME_ANCESTORS", "ENCODERSCOPE_METRICS_TOKEN"
UNSAFE = {"POST", "PUT", "PATCH", "DELETE"}
#: Streamlit's pages for signing in. Each visit to the last one writes to the log.
SIGN_IN = ("auth/login", "auth/logout", "oauth2callback")
#: Refused hosts and origins that the log names; a flood of others is not written.
MOST_LOGGED = 100


@dataclass(frozen=True)
class Policy:
    """What is allowed.

    hosts: names that the server answers to, "*.school.example" for all below one; None: to every name. local: whether
    only this machine reaches the server, so that other addresses are foreign, too. frames: who may embed the app, as in
    the header (frame-ancestors). metrics: the token for the page of metrics; "": nobody sees it.
    """

    hosts: frozenset[str] | None
    local: bool
    frames: str = "'self'"
    metrics: str = ""

    @classmethod
    def of(cls, environment: Mapping[str, str], address: str | None) -> Policy:
        """The policy of the operator's environment and of the address that the server listens on."""
        named = frozenset(name.strip().lower() for name in environment.get(HOSTS, "").split(",") if name.strip())
        local = is_local(environment, address)
        frames = " ".join(re.split(r"[;,\s]+", environment.get(FRAMES, ""))).strip() or "'self'"
        hosts = named if named or local else None
        return cls(hosts, local, frames, environment.get(METRICS, ""))

    def answers_to(self, host: str) -> bool:
        """Whether the server answers to this `Host` header."""
        name = _name(host)
        if name is None:
            return False
        if is_localhost(name) or is_loopback(name):
            return True
        if is_address(name):  # nobody else can own an address, as they can a name
            return not self.local
        return self.hosts is None or self._names(name)

    def takes_from(self, origin: str, host: str) -> bool:
        """Whether a page of this `Origin` may open a websocket, or send something, to this `Host`."""
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https") or not parts.netloc:
            return False
        if parts.netloc.lower() == host.lower():
            return True
        # A proxy may rewrite Host; then the operator names the site.
        return self.hosts is not None and self._names(_name(parts.netloc) or "")

    def _names(self, name: str) -> bool:
        return any(name == one or (one.startswith("*.") and name.endswith(one[1:])) for one in self.hosts or ())


class Guard:
    """ASGI middleware: refuses foreign hosts and origins, hides the metrics, adds the headers to every answer."""

    def __init__(self, app: ASGIApp, policy: Policy, scripts: Sequence[str] = (), base_url: str = "") -> None:
        """scripts: the inline scripts that a page may run, as they are in it."""
        self._app, self._policy = app, policy
        self._metrics = "/".join(["", *filter(None, base_url.split("/")), "_stcore", "metrics"])
        prefix = "/".join(["", *filter(None, base_url.split("/")), ""])
        self._hidden = {prefix + place for place in SIGN_IN}
        hashes = " ".join(f"'sha256-{_digest(script)}'" for script in scripts)
        self._csp = (
            # blob: the components' scripts, which the browser fetches once; see components/loader.js.
            f"default-src 'self'; script-src 'self' blob: {hashes}; style-src 'self' 'unsafe-inline'; "
            "img-src 'self' data: blob:; font-src 'self' data:; media-src 'self' data: blob:; worker-src 'self' blob:; "
            f"connect-src 'self' blob: data: $SOCKETS; object-src 'none'; base-uri 'self'; form-action 'self'; "
            f"frame-ancestors {policy.frames}"
        )
        self._logged: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse one request or websocket."""
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        reason = self._reason(scope, headers, host)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._add(MutableHeaders(scope=message), "" if reason else host)
            await send(message)

        if reason:
            await self._refuse(scope, receive, with_headers, reason)
            return
        if scope["type"] == "http" and self._hides(scope["path"].rstrip("/"), headers):
            await PlainTextResponse("Not found", 404)(scope, receive, with_headers)
            return

        if scope["type"] == "websocket":  # decided; Streamlit accepts a websocket without an Origin
            scope = {**scope, "headers": [pair for pair in scope["headers"] if pair[0] != b"origin"]}
        await self._app(scope, receive, with_headers)

    def _reason(self, scope: Scope, headers: Headers, host: str) -> str:
        """Why a request is refused; "" if it is not."""
        if not self._policy.answers_to(host):
            return f"This server does not answer to the name {host[:100]!r}. Its operator can allow it: --allow-host."
        origin = headers.get("origin")
        is_checked = scope["type"] == "websocket" or scope["method"] in UNSAFE
        if is_checked and origin is not None and not self._policy.takes_from(origin, host):
            return f"A page of {origin[:100]!r} may not use this server. Its operator can allow it: --allow-host."
        return ""

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, reason: str) -> None:
        if reason not in self._logged and len(self._logged) < MOST_LOGGED:
            self._logged.add(reason)
            logging.getLogger("encoderscope").warning("Refused: %s", reason)
        if scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 1008})
        else:
            await PlainTextResponse(reason, 403)(scope, receive, send)

    def _hides(self, path: str, headers: Headers) -> bool:
        """Whether this visitor finds nothing here: the metrics, and Streamlit's sign-in, which the app does not use."""
        return path in self._hidden or (path == self._metrics and not self._may_measure(headers))

    def _may_measure(self, headers: Headers) -> bool:
        token = headers.get("authorization", "").removeprefix("Bearer ")
        return bool(self._policy.metrics) and hmac.compare_digest(token.encode(), self._policy.metrics.encode())

    def _add(self, headers: MutableHeaders, host: str) -> None:
        # Older browsers do not count websockets to the same host as 'self'.
        headers["content-security-policy"] = self._csp.replace("$SOCKETS", f"ws://{host} wss://{host}" if host else "")
        headers["x-content-type-options"] = "nosniff"
        headers["referrer-policy"] = "same-origin"
        if self._policy.frames in ("'self'", "'none'"):
            headers["x-frame-options"] = "SAMEORIGIN" if self._policy.frames == "'self'" else "DENY"


def inline_scripts(page: str) -> list[str]:
    """The scripts inside an HTML page, without those that it fetches."""
    found = re.findall(r"<script\b([^>]*)>(.*?)</script>", page, re.DOTALL)
    return [text for tags, text in found if "src=" not in tags]


def _digest(script: str) -> str:
    return base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


def _name(host: str) -> str | None:
    """The name or address in a `Host` header, without its port; None for something else."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # a ValueError for a port that is not a number
    except ValueError:
        return None
    if parts.netloc != host or parts.username is not None or not re.fullmatch(r"[\w.:%*-]+", parts.hostname or ""):
        return None
    return (parts.hostname or "").lower().rstrip(".")
