"""A visitor without a browser: Streamlit's own messages over a WebSocket.

Costs a hundredth of a browser tab, so that thirty visitors leave the machine to the
server. It answers as the browser does: it keeps the state of every widget that the
page shows and sends all of it with each change.

Source: streamlit 1.67, `proto/BackMsg.proto`, `proto/ForwardMsg.proto`; which field
of `WidgetState` a widget uses is its `value_type` in `elements/widgets/`.
"""

from __future__ import annotations

import asyncio
import http.cookiejar
import json
import time
import urllib.request
import uuid
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from streamlit.proto.Alert_pb2 import Alert
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Common_pb2 import FileURLs
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NumberInput_pb2 import NumberInput
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.asyncio.client import ClientConnection, connect

# No rerun takes as long; what does is stuck.
ANSWER_SECONDS = 120.0

_INTERNAL = "$$STREAMLIT_INTERNAL_KEY"  # before a component's id
_XSRF = "_streamlit_xsrf"
_DONE = (
    ForwardMsg.FINISHED_SUCCESSFULLY,
    ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY,
)


@dataclass(frozen=True)
class Answer:
    """What one run of the page sent."""

    seconds: float  # from the message that asked to the last one of the answer
    num_bytes: int  # of the answer
    kinds: tuple[str, ...]  # of its elements, such as "plotly_chart"
    complaints: tuple[str, ...]  # texts of error boxes; a good run has none


class Session:
    """One visitor. Make it with `await Session.open(...)`; `await close()` it.

    A `key` is that of a widget in the page's script; without it, a `KeyError`.
    """

    def __init__(
        self, socket: ClientConnection, url: str, page: str, cookies: dict[str, str]
    ) -> None:
        self._socket = socket
        self._cookies = cookies
        self._session_id = ""
        self._root = url
        self._url = f"{url}/{page}"
        self._page = page
        self._page_hash = ""
        self._query_string = ""
        self._states: dict[str, WidgetState] = {}
        self._fragments: dict[str, str] = {}
        self._buttons: set[str] = set()
        self._components: set[str] = set()
        # What the browser keeps, by hash: it is not sent again.
        self._kept: dict[str, ForwardMsg] = {}

    @classmethod
    async def open(
        cls, url: str, page: str, query: str = "", cookies: dict[str, str] | None = None
    ) -> tuple[Session, Answer]:
        """Connects and runs a page for the first time.

        Args:
            url: of the server, "http://127.0.0.1:8501".
            page: its name in the address; "" is the home page.
            query: of the address, what stands after its question mark.
            cookies: see `browser_cookies`; who uploads needs them. Those that the
                server gives are added.
        """
        cookies = {} if cookies is None else cookies
        socket = await connect(
            f"ws://{urlsplit(url).netloc}/_stcore/stream",
            subprotocols=["streamlit"],  # type: ignore[list-item]
            additional_headers={"Cookie": _cookie_header(cookies)} if cookies else None,
            max_size=None,
        )
        given = socket.response.headers.get_all("Set-Cookie") if socket.response else ()
        pairs = (one.partition(";")[0].partition("=") for one in given)
        cookies.update((name, value) for name, _, value in pairs)
        session = cls(socket, url, page, cookies)
        session._query_string = query
        try:
            return session, await session._run("")
        except BaseException:
            await session.close()
            raise

    @property
    def query_string(self) -> str:
        """What stands after the question mark of the address now."""
        return self._query_string

    async def close(self) -> None:
        """Leaves, like a closed tab."""
        await self._socket.close()

    async def change(self, key: str, value: Any) -> Answer:
        """Changes a widget and waits until the page has been drawn again."""
        # An id ends in the widget's key: "$$ID-<hash>-<key>".
        ids = [name for name in self._states if name.endswith(f"-{key}")]
        if not ids:
            raise KeyError(f"No widget {key}. Shown: {sorted(self._states)}.")
        state = self._states[ids[0]]
        self._states[ids[0]] = _state(ids[0], state.WhichOneof("value"), value)
        return await self._run(self._fragments[ids[0]])

    async def press(self, key: str) -> Answer:
        """Presses a button and waits until the page has been drawn again."""
        ids = [name for name in self._buttons if name.endswith(f"-{key}")]
        if not ids:
            raise KeyError(f"No button {key}. Shown: {sorted(self._buttons)}.")
        # A button is down for one run alone.
        self._states[ids[0]] = _state(ids[0], "trigger_value", True)
        answer = await self._run(self._fragments[ids[0]])
        del self._states[ids[0]]
        return answer

    async def upload(self, key: str, name: str, data: bytes) -> Answer:
        """Puts a file into a box and waits until the page has been drawn again.

        The key may be the beginning of one where a count follows. A file that the
        server does not take is a `urllib.error.HTTPError`.
        """
        ids = [one for one in self._states if f"-{key}" in one]
        if not ids:
            raise KeyError(f"No box {key}. Shown: {sorted(self._states)}.")
        request = BackMsg()
        request.file_urls_request.request_id = uuid.uuid4().hex
        request.file_urls_request.file_names.append(name)
        request.file_urls_request.session_id = self._session_id
        await self._socket.send(request.SerializeToString())
        urls = await self._file_urls()
        await asyncio.to_thread(self._put, urls.upload_url, name, data)
        state = WidgetState(id=ids[-1])
        info = state.file_uploader_state_value.uploaded_file_info.add()
        info.name, info.size, info.file_id = name, len(data), urls.file_id
        info.file_urls.CopyFrom(urls)
        self._states[ids[-1]] = state
        return await self._run(self._fragments[ids[-1]])

    async def _file_urls(self) -> FileURLs:
        async with asyncio.timeout(ANSWER_SECONDS):
            while True:
                message = ForwardMsg.FromString(await self._socket.recv())
                if message.WhichOneof("type") == "file_urls_response":
                    return message.file_urls_response.file_urls[0]

    def _put(self, address: str, name: str, data: bytes) -> None:
        boundary = uuid.uuid4().hex
        head = (
            f"--{boundary}\r\nContent-Disposition: form-data; "
            f'name="file"; filename="{name}"\r\n\r\n'
        )
        request = urllib.request.Request(
            self._root + address,
            head.encode() + data + f"\r\n--{boundary}--\r\n".encode(),
            {
                "Content-Type": f"multipart/form-data; boundary={boundary}",
                "Cookie": _cookie_header(self._cookies),
                "X-Xsrftoken": self._cookies.get(_XSRF, ""),
            },
            method="PUT",
        )
        urllib.request.urlopen(request, timeout=ANSWER_SECONDS).close()

    async def trigger(self, key: str, event: str, value: Any) -> Answer:
        """Has a component tell of an event, and waits as `press` does.

        The component's `setTriggerValue` takes the event; the value is for JSON.
        """
        ids = [name for name in self._components if name.endswith(f"-{key}")]
        if not ids:
            raise KeyError(f"No component {key}. Shown: {sorted(self._components)}.")
        told = json.dumps([{"event": event, "value": value}])
        name = f"{_INTERNAL}_{ids[0]}__events"
        # An event is told to one run alone, like a button.
        self._states[name] = _state(name, "json_trigger_value", told)
        answer = await self._run(self._fragments[ids[0]])
        del self._states[name]
        return answer

    async def rerun(self) -> Answer:
        return await self._run("")

    def offers(self, key: str) -> bool:
        """Whether a button was on the page at any time."""
        return any(name.endswith(f"-{key}") for name in self._buttons)

    async def _run(self, fragment_id: str) -> Answer:
        began = time.perf_counter()
        await self._socket.send(self._request(fragment_id).SerializeToString())
        num_bytes = 0
        kinds: list[str] = []
        complaints: list[str] = []
        async with asyncio.timeout(ANSWER_SECONDS):
            while True:
                raw = await self._socket.recv()
                num_bytes += len(raw)
                message = self._whole(ForwardMsg.FromString(raw))
                kind = message.WhichOneof("type")
                if kind == "script_finished" and message.script_finished in _DONE:
                    seconds = time.perf_counter() - began
                    return Answer(seconds, num_bytes, tuple(kinds), tuple(complaints))
                if kind == "new_session":
                    self._session_id = message.new_session.initialize.session_id
                elif kind == "navigation":
                    self._page_hash = message.navigation.page_script_hash
                elif kind == "page_info_changed":
                    self._query_string = message.page_info_changed.query_string
                elif kind == "delta" and message.delta.HasField("new_element"):
                    element = message.delta.new_element
                    kinds.append(element.WhichOneof("type") or "")
                    complaints += _complaints(element)
                    self._take_widget(element, message.delta.fragment_id)

    def _whole(self, message: ForwardMsg) -> ForwardMsg:
        """A message, or the kept one that it stands for."""
        if message.WhichOneof("type") == "ref_hash":
            return self._kept[message.ref_hash]
        if message.metadata.cacheable:
            self._kept[message.hash] = message
        return message

    def _request(self, fragment_id: str) -> BackMsg:
        request = BackMsg()
        rerun = request.rerun_script
        rerun.query_string = self._query_string
        rerun.page_script_hash = self._page_hash
        rerun.page_name = "" if self._page_hash else self._page
        rerun.fragment_id = fragment_id
        rerun.cached_message_hashes.extend(self._kept)
        rerun.widget_states.widgets.extend(self._states.values())
        rerun.context_info.timezone = "UTC"
        rerun.context_info.locale = "en-US"
        rerun.context_info.url = self._url
        rerun.context_info.color_scheme = "light"
        return request

    def _take_widget(self, element: Element, fragment_id: str) -> None:
        kind = element.WhichOneof("type")
        if kind == "button":
            self._buttons.add(element.button.id)
            self._fragments[element.button.id] = fragment_id
            return
        if kind == "bidi_component":
            self._components.add(element.bidi_component.id)
            self._fragments[element.bidi_component.id] = fragment_id
            return
        read = _READ_STATE.get(kind or "")
        if read is None:
            return
        widget = getattr(element, str(kind))
        self._fragments[widget.id] = fragment_id
        if widget.id not in self._states or getattr(widget, "set_value", False):
            self._states[widget.id] = _state(widget.id, *read(widget))


def browser_cookies(url: str) -> dict[str, str]:
    """What a browser holds once it has loaded a page, by the names of the cookies.

    Where the server lets nobody in now, it is a `urllib.error.HTTPError`.
    """
    jar = http.cookiejar.CookieJar()
    # A browser on loopback sends cookies for TLS alone as well.
    policy = http.cookiejar.DefaultCookiePolicy(secure_protocols=("http", "https"))
    jar.set_policy(policy)
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    opener.addheaders = [("Accept", "text/html")]
    for path in ("/", "/_stcore/health"):
        opener.open(url + path, timeout=ANSWER_SECONDS).close()
    return {cookie.name: cookie.value or "" for cookie in jar}


def _cookie_header(cookies: dict[str, str]) -> str:
    return "; ".join(f"{name}={value}" for name, value in cookies.items())


def _complaints(element: Element) -> list[str]:
    if element.WhichOneof("type") == "exception":
        return [element.exception.message]
    is_error = (
        element.WhichOneof("type") == "alert" and element.alert.format == Alert.ERROR
    )
    return [element.alert.body] if is_error else []


def _state(widget_id: str, field: str | None, value: Any) -> WidgetState:
    state = WidgetState(id=widget_id)
    if str(field).endswith("_array_value"):
        array = getattr(state, str(field))
        array.SetInParent()
        array.data.extend(value)
    elif field == "file_uploader_state_value":
        getattr(state, field).SetInParent()
    elif value is not None:
        setattr(state, str(field), value)
    return state


def _text(widget: Any) -> tuple[str, Any]:
    return "string_value", widget.value if widget.set_value else widget.default


def _slider(widget: Any) -> tuple[str, Any]:
    return "double_array_value", widget.value if widget.set_value else widget.default


def _number(widget: Any) -> tuple[str, Any]:
    value = widget.value if widget.set_value else widget.default
    if widget.data_type == NumberInput.INT:
        return "int_value", int(value)
    return "double_value", value


def _selectbox(widget: Any) -> tuple[str, Any]:
    if widget.set_value:
        return "string_value", widget.raw_value or None
    has_choice = widget.HasField("default")
    return "string_value", widget.options[widget.default] if has_choice else None


def _buttons(widget: Any) -> tuple[str, Any]:
    if widget.set_value:
        return "string_array_value", widget.raw_values
    chosen = [widget.options[index].content for index in widget.default]
    return "string_array_value", chosen


def _checkbox(widget: Any) -> tuple[str, Any]:
    return "bool_value", widget.value if widget.set_value else widget.default


def _files(widget: Any) -> tuple[str, Any]:
    return "file_uploader_state_value", None


_READ_STATE = {
    "text_area": _text,
    "text_input": _text,
    "slider": _slider,
    "number_input": _number,
    "selectbox": _selectbox,
    "button_group": _buttons,
    "checkbox": _checkbox,
    "file_uploader": _files,
}
