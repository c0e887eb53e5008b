"""For whom the app is served: one person on her own machine, or many visitors of a shared server."""

import ipaddress
import os
from collections.abc import Mapping

import streamlit as st

#: Set by `encoderscope serve` for its processes: the address that the front before them listens on.
FRONT = "ENCODERSCOPE_FRONT"


def for_one_person() -> bool:
    """Whether only this machine can reach the app, so that its user may read the files anyway."""
    return is_local(os.environ, st.get_option("server.address"))


def is_local(environment: Mapping[str, str], address: str | None) -> bool:
    """Whether only this machine reaches a server that listens on `address`, directly or through a proxy."""
    listens_here = address is not None and (is_loopback(address) or is_localhost(address))
    return listens_here and environment.get("ENCODERSCOPE_SHARED") != "1"


def network_address() -> str:
    """This machine's address in the network, "" if the server answers this machine only or there is no network."""
    listens = os.environ.get(FRONT) or str(st.get_option("server.address") or "")
    if listens not in ("", "0.0.0.0", "::"):
        return ""
    from encoder.cli import ports  # it loads torch, which a server that starts does without

    return next(iter(ports.network_address()), "")


def is_localhost(name: str) -> bool:
    """Whether a host name means this machine."""
    return name == "localhost" or name.endswith(".localhost")


def is_address(name: str) -> bool:
    """Whether a host name is an IP address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(name: str) -> bool:
    """Whether a host name is a loopback address, such as 127.0.0.2 or [::1]."""
    return is_address(name.strip("[]")) and ipaddress.ip_address(name.strip("[]")).is_loopback
