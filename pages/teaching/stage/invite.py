"""How a class comes into a room: address, code and QR code."""

import html
from urllib.parse import urlsplit

import segno
import streamlit as st

from pages.base.access import visitors
from pages.state import links
from pages.teaching.rooms import Room
from pages.teaching.rooms.room import spaced
from pages.teaching.rooms.session import DESK


def address() -> str:
    """The address of this page for other machines, without "http://": as the browser has it, or this machine's name."""
    parts = urlsplit(st.context.url or f"http://localhost/{DESK}")
    host = parts.netloc
    if _is_here(parts.hostname) and (reachable := visitors.network_address()):
        host = reachable + (f":{parts.port}" if parts.port else "")
    base, _, page = parts.path.rstrip("/").rpartition("/")
    base = base if links.exists(page) else f"{base}/{page}".rstrip("/")  # the first page opens at the base itself
    return f"{host}{base}/{DESK}"


def scheme() -> str:
    """ "https" behind a proxy that encrypts, otherwise "http"."""
    return urlsplit(st.context.url or "").scheme or "http"


def _is_here(host: str | None) -> bool:
    return host is not None and (visitors.is_loopback(host) or visitors.is_localhost(host))


def picture(now: Room) -> str:
    """QR code, code and address, as HTML."""
    place = address()
    written = f"<p><b>{spaced(now.code)}</b><span>{html.escape(place)}</span></p>"
    return f"<div class='enc-invite'>{qr(f'{scheme()}://{place}?room={now.code}')}{written}</div>"


def is_reachable() -> bool:
    """Whether other machines reach this address."""
    return not _is_here(urlsplit(f"//{address()}").hostname)


def qr(link: str) -> str:
    """The link as a QR code, an HTML image."""
    data = segno.make(link, error="m").svg_data_uri(border=3, light="#ffffff", dark="#000000")
    return f'<img alt="QR code of the address" src="{data}">'
