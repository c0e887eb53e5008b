"""How a class comes into a room: address, code and QR code."""

import html
import os
from urllib.parse import urlsplit

import streamlit as st

from encoder.cli import ports
from pages.base.access import visitors
from pages.base.access.visitors import FRONT
from pages.teaching.desk.strip import spaced
from pages.teaching.rooms import Room
from pages.teaching.rooms.session import DESK


def address() -> str:
    """The address of this page for other machines, without "http://": as the browser has it, or this machine's name."""
    parts = urlsplit(st.context.url or f"http://localhost/{DESK}")
    host = parts.netloc
    if _is_here(parts.hostname) and (reachable := network_address()):
        host = reachable + (f":{parts.port}" if parts.port else "")
    path = parts.path.rstrip("/")
    path = path if path.endswith(f"/{DESK}") else f"{path}/{DESK}"
    return host + path


def scheme() -> str:
    """ "https" behind a proxy that encrypts, otherwise "http"."""
    return urlsplit(st.context.url or "").scheme or "http"


def _is_here(host: str | None) -> bool:
    return host is not None and (visitors.is_loopback(host) or visitors.is_localhost(host))


def network_address() -> str:
    """This machine's address in the network, "" if the server answers this machine only or there is no network."""
    listens = os.environ.get(FRONT) or str(st.get_option("server.address") or "")
    if listens not in ("", "0.0.0.0", "::"):
        return ""
    return next(iter(ports.network_address()), "")


def draw(now: Room, *, large: bool) -> None:
    """The code, and how to join with it. large: for a projector."""
    place = address()
    style = "enc-invite enc-invite-large" if large else "enc-invite"
    picture = qr(f"{scheme()}://{place}?room={now.code}")
    written = f"<p><b>{spaced(now.code)}</b><span>{html.escape(place)}</span></p>"
    st.html(f"<div class='{style}'>{picture}{written}</div>")
    if not picture:
        st.caption("For a QR code, the operator installs `pip install 'encoderscope[classroom]'`.")
    if _is_here(urlsplit(f"//{place}").hostname):
        st.warning(
            "This server answers your machine only. For a class, start it with `encoderscope --host 0.0.0.0`.",
            icon=":material/wifi_off:",
        )


def qr(link: str) -> str:
    """The link as a QR code, an HTML image; "" where segno is not installed."""
    try:
        import segno
    except ModuleNotFoundError:
        return ""
    data = segno.make(link, error="m").svg_data_uri(border=3, light="#ffffff", dark="#000000")
    return f'<img alt="QR code of the address" src="{data}">'
