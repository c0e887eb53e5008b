"""A visitor by Streamlit's protocol: learns a page's widgets from its messages, and returns after the server died."""

from __future__ import annotations

import asyncio
import http.client
import json
import re
import time
import urllib.error
import urllib.request
from typing import Any
from urllib.parse import parse_qs

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.exceptions import WebSocketException

from benchmarks.protocol import Run, Session, Template

#: Seconds between two tries to return.
AGAIN = 0.25
#: Seconds after which a visitor gives up.
PATIENCE = 60.0
#: The block that a component gets: a length, a JSON header of that length, arrays (encoder/drawing/wire.py).
LENGTH = 4


class Visitor(Session):
    """One browser. page: the folder of the page that it opens; query: the values in its address.

    After `open`, `ids` has the widgets and components of the page by their keys, `texts` what the last run wrote and
    its buttons say, and `kept` and `seat` what the page asked the browser to keep.
    """

    run_seconds = 20.0  # then this visitor does something else

    def __init__(self, url: str, page: str, query: str) -> None:
        self.page, self.address = page, url
        self.ids: dict[str, str] = {}
        self.texts: list[str] = []
        self.pages: dict[str, str] = {}
        self.kept: dict[str, str] = {}
        self.seat: dict[str, str] = {}
        self._cookies: dict[str, str] = {}
        self.strip: dict[str, Any] = {}  # what the room's line says
        self.session = self._hash = ""
        self._heard = self.silence = 0.0
        self.is_late = False  # the page was not whole after `run_seconds`, so it lacks controls
        self._done: bytes | None = None  # the last request whose run has ended, and the one whose run has not
        self._open: bytes | None = None
        self._before = ""  # the address at which the latter was sent
        self._sent = 0  # when the former was, in milliseconds
        first = BackMsg()
        first.rerun_script.query_string = query
        super().__init__(url, Template(first.SerializeToString(), self.ids), query)

    async def __aenter__(self) -> Visitor:
        await asyncio.to_thread(self._take_cookies)
        await super().__aenter__()
        return self

    def _take_cookies(self) -> None:
        """The front's cookie names the process that has this visitor's session; Streamlit's one allows uploads."""
        asked = urllib.request.Request(f"{self.address}/_stcore/health", headers=self.headers)
        with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
            given = answer.headers.get_all("set-cookie") or []
        self._cookies |= dict(one.split(";")[0].split("=", 1) for one in given)
        self.headers = {"Cookie": "; ".join(f"{name}={value}" for name, value in self._cookies.items())}

    def choose_process(self, number: int) -> None:
        """Have the cookie of a process, counted from 1."""
        self._cookies["encoderscope"] = str(number)
        self.headers = {"Cookie": f"encoderscope={number}"}

    def forget_process(self) -> None:
        """Have no cookie of a process, as a new browser."""
        self._cookies.pop("encoderscope", None)
        self.headers = {}

    @property
    def values(self) -> dict[str, str]:
        """What the address says."""
        return {name: values[0] for name, values in parse_qs(self.query).items()}

    async def open(self) -> Run:
        """The first run, with the text and the seat that only this browser has."""
        message = BackMsg()
        message.rerun_script.query_string = self.query
        message.rerun_script.page_name = self.page
        await self._begin({})
        return await self._send(message)

    async def _begin(self, more: dict[str, Any]) -> None:
        """What every connection of a browser begins with (pages/core/server/reconnect.js)."""
        said = {"texts": self.kept, "seat": self.seat, **more}
        await self.socket.send(f"begins {json.dumps(said)}".encode())

    async def go(self, page: str) -> Run:
        """Another page in the same session, as a click on its name."""
        self.widgets.clear()  # those of the page that is left
        message = self._message()
        message.rerun_script.query_string = ""  # Streamlit's client drops it with the page
        message.rerun_script.page_script_hash = self.pages[page]
        return await self._send(message)

    async def press(self, key: str) -> Run:
        """A click on a button."""
        return await self._widget(WidgetState(id=self.ids[key], trigger_value=True))

    async def fill(self, key: str, text: str) -> Run:
        """A text and Enter in a field."""
        return await self._widget(WidgetState(id=self.ids[key], string_value=text))

    async def upload(self, key: str, name: str, content: bytes) -> Run:
        """A file, as a browser sends it: a place for it is asked for, the file goes there, and the page runs."""
        began = time.perf_counter()
        asked = BackMsg()
        asked.file_urls_request.request_id = name
        asked.file_urls_request.file_names.append(name)
        asked.file_urls_request.session_id = self.session
        await self.socket.send(asked.SerializeToString())
        async with asyncio.timeout(PATIENCE):
            while True:
                answer = ForwardMsg.FromString(await self.socket.recv())
                if answer.WhichOneof("type") == "file_urls_response":
                    break
        place = answer.file_urls_response.file_urls[0]
        await asyncio.to_thread(self._put_file, place.upload_url, name, content)
        self.widgets.pop(key, None)
        state = WidgetState(id=self.ids[key])
        file = state.file_uploader_state_value.uploaded_file_info.add(file_id=place.file_id, name=name)
        file.size = len(content)
        file.file_urls.CopyFrom(place)
        run = await self._widget(state)
        self.widgets[key] = state  # a browser says with each run which files a field has
        return Run(time.perf_counter() - began, run.received)

    def _put_file(self, place: str, name: str, content: bytes) -> None:
        border = "encoderscope-soak"
        body = (
            f'--{border}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n\r\n'.encode()
            + content
            + f"\r\n--{border}--\r\n".encode()
        )
        headers = {
            **self.headers,
            "Origin": self.origin,
            "X-Xsrftoken": self._cookies["_streamlit_xsrf"],
            "Content-Type": f"multipart/form-data; boundary={border}",
        }
        asked = urllib.request.Request(self.origin + place, body, headers, method="PUT")
        with urllib.request.urlopen(asked, timeout=PATIENCE):
            pass

    async def fetch(self, path: str) -> tuple[Run, dict[str, Any] | None]:
        """What a component asks the server for: the block's header; None for an address that the server lost.

        Raises OSError if the process ends before or within its answer.
        """

        def ask() -> tuple[Run, dict[str, Any] | None]:
            began = time.perf_counter()
            asked = urllib.request.Request(f"{self.origin}/{path}", headers=self.headers)
            try:
                with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
                    block = answer.read()
            except urllib.error.HTTPError as error:
                if error.code != 404:
                    raise
                block = b""
            except http.client.HTTPException as error:
                raise ConnectionError("the answer ended in its middle") from error
            return Run(time.perf_counter() - began, len(block)), header(block) if block else None

        return await asyncio.to_thread(ask)

    async def reloads(self) -> float:
        """A reload: as `returns`, but the page begins again."""
        await self.socket.close()
        self._done = self._open = None
        return await self.returns()

    async def returns(self) -> float:
        """A new session with the address and what the browser kept; returns the seconds until the page is whole,
        or, if `is_late`, until the visitor does not wait any longer.

        A click whose run had not ended is sent again. `silence` counts the time without a connection, too. Raises
        TimeoutError if nobody answers.
        """
        began = time.perf_counter()
        self.query = self._before if self._open else self.query
        query = self.query
        while True:
            try:
                self.ids.clear(), self.widgets.clear(), self.known.clear()
                self.query = query
                await self.__aenter__()
                away = time.perf_counter() - began
                silence = max(away, await self._again())
            except TimeoutError:  # the page still works
                self.is_late = True
                return time.perf_counter() - began
            except (OSError, WebSocketException):
                if time.perf_counter() - began > PATIENCE:
                    raise TimeoutError("the server does not answer any more") from None
                await asyncio.sleep(AGAIN)
            else:
                self.is_late = False
                self.silence = max(silence, self.silence)
                return time.perf_counter() - began

    async def _again(self) -> float:
        """What a browser says after a reconnect; the longest silence."""
        if self._done is None:
            await self.open()
            return self.silence
        done, click, before = self._done, self._open, self._before
        try:
            await self._begin({"address": f"{self.page}?{self.query}", "heard": self._sent})
            await self._send(BackMsg.FromString(done))
            silence = self.silence
            while self.strip.get("asks"):  # the room store is away: the room's line asks again
                await asyncio.sleep(1.0)
                await self.tell_room({"event": "news"})
            if click:
                self._open = click
                await self._send(BackMsg.FromString(click))
        except BaseException:
            self._done, self._open, self._before = done, click, before  # for the next try
            raise
        return silence

    async def tell_room(self, what: dict[str, Any]) -> Run:
        """One event of the room's line."""
        value = {**what, "id": time.time_ns() // 1_000_000}
        return await self._trigger("room-strip", {"event": "said", "value": value})

    async def _send(self, message: BackMsg) -> Run:
        """As before; afterwards `silence` is the longest time in which the page showed nothing new, in seconds."""
        self._heard, self.silence = time.perf_counter(), 0.0
        self._open, self._before, sent = message.SerializeToString(), self.query, time.time_ns() // 1_000_000
        try:
            run = await super()._send(message)
        except TimeoutError:
            self.silence = max(self.silence, time.perf_counter() - self._heard)
            raise
        self._done, self._open, self._sent = self._open, None, sent
        return run

    def heard(self, message: ForwardMsg) -> None:
        """Learn what the page has."""
        now = time.perf_counter()
        self._heard, self.silence = now, max(self.silence, now - self._heard)
        kind = message.WhichOneof("type")
        if kind == "new_session":
            self.session = message.new_session.initialize.session_id or self.session
            self.texts, self.strip = [], {}
        elif kind == "navigation":
            self.pages = {page.url_pathname: page.page_script_hash for page in message.navigation.app_pages}
            self._hash = message.navigation.page_script_hash
            self.page = next(path for path, one in self.pages.items() if one == self._hash)
        elif kind == "delta":
            self._learn(message.delta)

    def _learn(self, delta: Any) -> None:
        element = delta.new_element if delta.WhichOneof("type") == "new_element" else delta.add_block
        kind = element.WhichOneof("type")
        if kind is None:
            return
        content = getattr(element, kind)
        if kind == "markdown":
            self.texts.append(content.body)
        elif kind == "button":
            self.texts.append(content.label)
        identity = getattr(content, "id", "") or getattr(element, "id", "")
        if (parts := re.fullmatch(r"\$\$ID-[0-9a-f]+-(.+)", identity)) and parts[1] != "None":
            self.ids[parts[1]] = identity
            if parts[1] == "kept-text":
                self.kept.update(header(content.bytes)["save"])
            if parts[1] == "room-strip":
                self.strip = header(content.bytes)
                if self.strip["member"] or self.strip["key"]:
                    self.seat = {name: self.strip[name] for name in ("code", "member", "key")}

    def _message(self) -> BackMsg:
        message = BackMsg()
        state = message.rerun_script
        state.query_string, state.page_script_hash = self.query, self._hash
        state.widget_states.widgets.extend(self.widgets.values())
        state.cached_message_hashes.extend(self.known)
        return message

    async def _widget(self, widget: WidgetState) -> Run:
        message = self._message()
        message.rerun_script.widget_states.widgets.add().CopyFrom(widget)
        return await self._send(message)

    async def _rerun(self, trigger: tuple[str, str] | None, part: str = "") -> Run:
        if trigger is None:
            message = self._message()
            message.rerun_script.fragment_id = part
            return await self._send(message)
        return await self._widget(WidgetState(id=trigger[0], json_trigger_value=trigger[1]))


def header(block: bytes) -> dict[str, Any]:
    """The header of a block that a component gets."""
    return dict(json.loads(block[LENGTH : LENGTH + int.from_bytes(block[:LENGTH], "little")]))
