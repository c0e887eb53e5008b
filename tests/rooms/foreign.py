"""A server in the place of the store of rooms, with answers that no Redis gives."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

ANSWERS = {
    "no protocol": b"\xff\xfe\x00 garbage\r\n",
    "another protocol": b"HTTP/1.1 400 Bad Request\r\n\r\n",
    "no number": b":abc\r\n",
    "no length": b"$x\r\n",
    "a negative length": b"$-5\r\n",
    "many parts": b"*99999999\r\n",
    "a long text": b"$999999999999\r\n",
    "no text": b"$3\r\n\xff\xfe\xfd\r\n",
    "an error": b"-ERR no\r\n",
    "always OK": b"+OK\r\n",
    "always a number": b":7\r\n",
    "always a text": b"$2\r\n{}\r\n",
    "always null": b"$4\r\nnull\r\n",
    "an empty line": b"\r\n",
    "nothing": b"",
}


@contextlib.contextmanager
def foreign(answer: bytes, port: int = 0) -> Iterator[str]:
    """The address of a server that gives this answer to all that it hears. port: 0 for any."""
    with socket.create_server(("127.0.0.1", port)) as server:

        def talk(connection: socket.socket) -> None:
            with contextlib.suppress(OSError), connection:
                while connection.recv(1 << 16):
                    connection.sendall(answer)

        def listen() -> None:
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=talk, args=(server.accept()[0],), daemon=True).start()

        threading.Thread(target=listen, daemon=True).start()
        yield f"redis://127.0.0.1:{server.getsockname()[1]}/0"
