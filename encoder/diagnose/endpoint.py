"""A server of embeddings that the user names: its vectors of some texts, in bounded time and memory.

Only the named host is asked. A redirect to another one is not followed, and nothing is read from the environment.
"""

from __future__ import annotations

import base64
import contextlib
import http.client
import ipaddress
import json
import mimetypes
import socket
import ssl
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import SplitResult, urljoin, urlsplit

import numpy as np

from encoder.diagnose.vector_files import TEXT_BYTES, as_array, vectors_of
from encoder.errors import EncoderError, quoted
from encoder.inputs.layout import InputKind

#: Seconds until a connection is made or a part is read, and until all is done.
PART_SECONDS, ALL_SECONDS = 30.0, 300.0
#: Redirects that are followed, on the same host.
MOST_REDIRECTS = 3
#: Bytes that are read at a time.
PART_BYTES = 65_536
#: The end of an address -> the name of the texts in a request: OpenAI's form, TEI's, Ollama's, llama.cpp's.
FIELDS = {"/embeddings": "input", "/api/embed": "input", "/embed": "inputs", "/embedding": "content"}
#: The paths that are tried for an address without one.
TRIED = ("/v1/embeddings", "/embed", "/api/embed", "/embedding")
#: Those of images and sounds: vLLM's, SGLang's and Infinity's.
TRIED_OF_FILES = ("/v1/embeddings", "/embeddings")
#: What a server answers that expects another form; 413 or 503 say nothing of the form.
OTHER_FORM = (400, 415, 422)


@dataclass(frozen=True)
class Endpoint:
    """A server. url: with its path, or without for a try of all kinds; model: its name for it, where it needs one."""

    url: str
    model: str = ""
    batch: int | None = None

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Vectors of the texts, float32 [N, D']. Raises EncoderError for any other answer."""
        return self._first_that_answers(TRIED, [_of_texts], texts, self.batch or len(texts))

    def embed_files(self, files: Mapping[str, bytes], takes: InputKind) -> np.ndarray:
        """Vectors of images or sounds, float32 [N, D']: files by their names. takes: "image" or "sound".

        Raises EncoderError for any other answer.
        """
        usual = "image/png" if takes == "image" else "audio/wav"
        addresses = [
            f"data:{mimetypes.guess_type(name)[0] or usual};base64,{base64.b64encode(one).decode()}"
            for name, one in files.items()
        ]
        kind = "image" if takes == "image" else "audio"
        forms = [partial(form, kind=kind) for form in (_as_message, _as_objects, _as_addresses)]
        return self._first_that_answers(TRIED_OF_FILES, forms, addresses, 1)

    def _first_that_answers(
        self, tried: Sequence[str], forms: Sequence[Form], inputs: Sequence[str], size: int
    ) -> np.ndarray:
        """The vectors by the path and the form in which the server takes the first `size` inputs; the others go in the
        same one, so none is read as something else."""
        deadline = time.monotonic() + ALL_SECONDS
        place = _split(self.url)
        if not is_near(self.url):
            raise EncoderError(
                f"{quoted(place.hostname)} is not on your machine or network: save the answer of that server, and "
                "specify the file as the vectors."
            )
        first, *others = [list(inputs[at : at + size]) for at in range(0, len(inputs), size)]
        trouble: EncoderError | None = None
        for path in [place.path] if place.path not in ("", "/") else tried:
            at = place._replace(path=path)
            for form in forms:
                try:
                    part = self._asked(at, form, first, deadline)
                except NotThere as error:
                    trouble = trouble or error
                    break
                except Refused as error:  # of the first form: the server may not know the later ones
                    trouble = trouble if isinstance(trouble, Refused) else error
                else:
                    return np.concatenate([part, *(self._asked(at, form, some, deadline) for some in others)])
            else:
                break
        raise EncoderError(str(trouble))

    def _asked(self, place: SplitResult, form: Form, some: list[str], deadline: float) -> np.ndarray:
        """The vectors of some inputs, in one request."""
        field = next((name for end, name in FIELDS.items() if place.path.endswith(end)), "input")
        model = {"model": self.model or "default"} if field == "input" else {}
        part = as_array(vectors_of(post(place, form(field, some) | model, deadline)), "The answer")
        if len(part) != len(some):
            remedy = "lower --batch" if len(some) > 1 else "ask a model that gives one vector of each"
            noun = "inputs" if len(some) > 1 else "input"
            raise EncoderError(f"The server gives {len(part)} vectors for {len(some)} {noun}: {remedy}.")
        return part


# --- what servers expect ----------------------------------------------------------------------------------------------

#: (name of the texts, some inputs) -> the body of a request.
Form = Callable[[str, list[str]], dict[str, Any]]


def _of_texts(field: str, texts: list[str]) -> dict[str, Any]:
    return {field: texts}


def _as_message(field: str, addresses: list[str], kind: str) -> dict[str, Any]:
    """vLLM's: a conversation, whose only message is the file."""
    name = f"{kind}_url"
    return {"messages": [{"role": "user", "content": [{"type": name, name: {"url": one}} for one in addresses]}]}


def _as_objects(field: str, addresses: list[str], kind: str) -> dict[str, Any]:
    """Jina's and SGLang's: an object for each file."""
    return {field: [{kind: one} for one in addresses]}


def _as_addresses(field: str, addresses: list[str], kind: str) -> dict[str, Any]:
    """Infinity's: addresses that hold the files, and their kind. Last: others may take them for texts."""
    return {field: addresses, "modality": kind}


class NotThere(EncoderError):
    """A server without this path."""


class Refused(EncoderError):
    """A server that has the path and does not understand the request."""


def _split(url: str) -> SplitResult:
    """The parts of an address. Raises EncoderError for one that is not HTTP, and for one with a password."""
    try:
        place = urlsplit(url if "://" in url else f"http://{url}")
        port = place.port
    except ValueError as error:
        raise EncoderError(f"{quoted(url)} is not an address: specify one such as http://localhost:8080.") from error
    if place.scheme not in ("http", "https") or not place.hostname or port == 0:
        raise EncoderError(f"{quoted(url)} is not an address: specify one such as http://localhost:8080.")
    if place.username or place.password:
        raise EncoderError("An address with a password is not opened: name a server that needs none.")
    return place


def post(place: SplitResult, body: dict[str, Any], deadline: float) -> Any:
    """The JSON that a server answers. Raises EncoderError; NotThere or Refused where another path or form may do."""
    first = (place.scheme, place.hostname, place.port)
    for _ in range(MOST_REDIRECTS + 1):
        status, headers, content = _exchange(place, json.dumps(body).encode(), deadline)
        if status in (301, 302, 303, 307, 308):
            place = _split(urljoin(place.geturl(), headers.get("location", "")))
            if (place.scheme, place.hostname, place.port) != first:
                raise EncoderError(
                    f"The server sends to {quoted(place.hostname)}, another host, which is not asked: name that one."
                )
            continue
        if status in (404, 405):
            raise NotThere(
                f"The server has no {place.path}: specify the address with its path, such as /v1/embeddings."
            )
        if status != 200:
            kind: type[EncoderError] = Refused if status in OTHER_FORM else EncoderError
            raise kind(f"The server answers {status}: {quoted(content[:200].decode('utf-8', 'replace'))}.")
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise EncoderError(f"The server's answer is not JSON ({quoted(str(error))}): check its address.") from error
    raise EncoderError("The server redirects again and again: specify the address to which it leads.")


def _exchange(place: SplitResult, body: bytes, deadline: float) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and content of one request, in the time that is left."""
    left = max(0.1, min(PART_SECONDS, deadline - time.monotonic()))
    host, port = str(place.hostname), place.port
    if place.scheme == "https":
        connection: http.client.HTTPConnection = http.client.HTTPSConnection(
            host, port, timeout=left, context=ssl.create_default_context()
        )
    else:
        connection = http.client.HTTPConnection(host, port, timeout=left)
    target = (place.path or "/") + (f"?{place.query}" if place.query else "")
    too_long = f"The server takes more than {ALL_SECONDS:.0f} seconds: send fewer inputs."
    end = threading.Timer(max(0.1, deadline - time.monotonic()), _hang_up, [connection])  # also while headers drip
    end.daemon = True
    end.start()
    try:
        connection.request("POST", target, body, {"Content-Type": "application/json", "Accept": "application/json"})
        answer = connection.getresponse()
        parts, size = [], 0
        while time.monotonic() <= deadline and (part := answer.read1(PART_BYTES)):
            size += len(part)
            if size > TEXT_BYTES:
                raise EncoderError(
                    f"The server answers more than {TEXT_BYTES / 1e6:,.0f} MB: send fewer inputs at a time."
                )
            parts.append(part)
        if time.monotonic() > deadline:
            raise EncoderError(too_long)
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, b"".join(parts)
    except TimeoutError as error:
        raise EncoderError(
            f"The server at {host} does not answer in {left:.0f} seconds: check that it runs."
        ) from error
    except (OSError, http.client.HTTPException) as error:
        if time.monotonic() > deadline:
            raise EncoderError(too_long) from error
        raise EncoderError(
            f"The server at {host} cannot be asked ({quoted(str(error))}): check that it runs."
        ) from error
    finally:
        end.cancel()
        connection.close()


def _hang_up(connection: http.client.HTTPConnection) -> None:
    """End the reading of a connection, from another thread."""
    with contextlib.suppress(OSError):
        if connection.sock is not None:
            connection.sock.shutdown(socket.SHUT_RDWR)


def is_near(url: str) -> bool:
    """Whether every address of the host is of one's own machine or network."""
    place = _split(url)
    try:
        found = socket.getaddrinfo(str(place.hostname), place.port or 80, proto=socket.IPPROTO_TCP)
    except OSError as error:
        raise EncoderError(f"No host {quoted(place.hostname)}: check its name.") from error
    return all(ipaddress.ip_address(str(one[4][0]).split("%")[0]).is_private for one in found)
