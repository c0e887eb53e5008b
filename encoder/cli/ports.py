"""Addresses and ports that a command of Encoderscope listens on."""

import errno
import ipaddress
import socket

from encoder.cli.command import CommandError

DEFAULT_PORT = 8501
PORTS_TRIED = 100


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach `host`; among names, only localhost is certain."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def choose_port(host: str, wanted: int | None) -> int:
    """The port to listen on: `wanted`, or without one the first free from 8501.

    Raises:
        CommandError: `wanted` is taken, no port is free, or this machine does not have the address `host`.
    """
    candidates = range(DEFAULT_PORT, DEFAULT_PORT + PORTS_TRIED) if wanted is None else [wanted]
    for port in candidates:
        if _can_listen(host, port):
            return port
    if wanted is None:
        raise CommandError(f"ports {candidates[0]} to {candidates[-1]} are taken. Choose another with --port.")
    raise CommandError(f"port {wanted} is taken or not allowed. Choose another with --port, or leave --port out.")


def _can_listen(host: str, port: int) -> bool:
    host = host.strip("[]")
    try:
        socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET).close()
    except OSError as error:
        if error.errno in (errno.EADDRINUSE, errno.EACCES, errno.EPERM):
            return False
        reason = error.strerror or error
        raise CommandError(
            f"cannot listen on {host}: {reason}. Use localhost, 0.0.0.0 or an address of this machine."
        ) from None
    return True


def bracketed(host: str) -> str:
    """The address as URLs have it: [::1]."""
    return f"[{host.strip('[]')}]" if ":" in host else host


def announcement(host: str, port: int) -> str:
    """The line that says where the app answers."""
    everywhere = host.strip("[]") in ("0.0.0.0", "::")
    addresses = ["localhost", *network_address()] if everywhere else [bracketed(host)]
    return f"Encoderscope: {'  '.join(f'http://{address}:{port}' for address in addresses)}  (Ctrl-C stops it)"


def network_address() -> list[str]:
    """The address of this machine for others on the network, if there is a network."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # RFC 5737's example network: picks a route and sends nothing
        except OSError:
            return []
        return [probe.getsockname()[0]]
