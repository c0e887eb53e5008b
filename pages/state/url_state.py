"""The values of all pages in the session and in the URL, so that any view can be sent as a link.

Streamlit's own `bind="query-params"` drops an invalid value silently, forgets a page's values when the visitor leaves
it, and supports widgets only. Here a Param declares each value once. The URL is read before the first widget and
written after the last. An invalid value gets a note and its default, and a page's values outlast the visit to it.
"""

import hashlib
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, is_dataclass
from typing import Any, TypeVar, dataclass_transform
from urllib.parse import quote

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pages.base.access import limits
from pages.state import kept, not_chosen
from pages.state.former import DROPPED, RENAMED
from pages.state.params import Param, declared

P, T = TypeVar("P"), TypeVar("T")

#: In the address, next to a view at "/": the home page's own. Older links have a view of Heads there.
HOME = "start"
#: In the address of a request after Back or Forward: the number of the move, a time (pages/core/frame/moves.js). With a
#: new one the address decides, since what the browser sends of its widgets may be older. An address without values then
#: means the usual ones; without this mark it comes with a change of pages, and means nothing.
MOVE = "move"
#: In the address: its format, left out for 1. Names in an address keep their meaning, so 1 has not had to change.
FORMAT, VERSION = "v", "1"

#: What comes before the name of a text that is too long for the address: "kept_text" is its digest. The session keeps
#: the newest of these texts, for Back, and so does the browser's tab, for its next session.
KEPT = "kept_"
#: Such texts that a session keeps; older contents of a widget that are remembered.
MOST_KEPT, MOST_OLDER = 8, 8

_SESSION = "_view"
_PREFIX = "view:"  # of a widget's key; then comes the name


class _Run(threading.local):
    """What a run asks for hundreds of times: Streamlit takes 10 us to find a value of the session.

    session: what it knows of its values; contents: of the widgets, by name. Both None outside of `begin` and `end`, as
    in callbacks. drawn: names of the values whose widgets this run has drawn. sent: of those whose widgets the browser
    has drawn. moved: whether Back or Forward caused the run.
    """

    session: "_Session | None" = None
    moved: bool = False
    contents: dict[str, Any] | None = None
    drawn: frozenset[str] | set[str] = frozenset()
    sent: set[str] | None = None


def answer_move() -> None:
    """Repeat the number of a move to the browser, which writes no address before. The first line of a run."""
    if MOVE in st.query_params:
        st.query_params[MOVE] = st.query_params[MOVE]


def touch() -> None:
    """Record that an event on the page caused this run, not the address. For callbacks of components."""
    _session().touched = True


@dataclass
class _Unconfirmed:
    """Older contents of a widget that the browser may still send; whether a run since the change reached its end."""

    old: list[Any]
    drawn: bool = False


class Unconfirmed:
    """Values of a session set from code that the browser has not confirmed yet, by name.

    Stale browser events must not undo a newer click. With each event the browser sends the contents of all its
    widgets. If a second event arrives before the run after the first has drawn them, it still sends the old contents,
    which would undo the first one's choice. So older contents of a value that was set from code are remembered until a
    run has shown the browser the new value.
    """

    def __init__(self) -> None:
        self._of: dict[str, _Unconfirmed] = {}

    def remember(self, name: str, content: Any) -> None:
        """A value is set from code. content: what its widget held before."""
        older = self._of[name].old[1 - MOST_OLDER :] if name in self._of else []
        self._of[name] = _Unconfirmed([*older, content])

    def stale(self, contents: Mapping[str, Any], values: Mapping[str, Any], *, touched: bool) -> list[str]:
        """Names of the values whose widgets hold old contents. Both by name; touched: a callback caused this run."""
        found = []
        for name, entry in list(self._of.items()):
            content = contents.get(name, values[name])
            if content != values[name] and content in entry.old and (touched or not entry.drawn):
                found.append(name)
            elif entry.drawn or content != values[name]:
                del self._of[name]
        return found

    def names(self) -> Collection[str]:
        """The names of these values."""
        return self._of.keys()

    def drawn(self) -> None:
        """A run has reached its end."""
        for entry in self._of.values():
            entry.drawn = True


@dataclass
class _Session:
    """What a session knows of its values: one entry of Streamlit's state, which is slow to read."""

    #: All values by name, and the texts of those in the address.
    values: dict[str, Any] = field(default_factory=dict)
    written: dict[str, str] = field(default_factory=dict)
    #: Sentences about the link.
    notes: list[str] = field(default_factory=list)
    #: Whether a callback changed a value since the last run.
    touched: bool = False
    #: Values set from code that the browser has not confirmed yet.
    unconfirmed: Unconfirmed = field(default_factory=Unconfirmed)
    #: The newest MOVE that a run has read: a click may follow before the browser knows. The page of the last run.
    last_move: str = ""
    last_page: str | None = None
    #: Name of a value -> the page whose widget drew it last.
    drawn_on: dict[str, str | None] = field(default_factory=dict)
    #: What the last whole run drew: the names of the values with a widget, and all values.
    drawn: frozenset[str] | set[str] = frozenset()
    shown: dict[str, Any] = field(default_factory=dict)
    #: The newest texts that are too long for the address, by their digests.
    texts: dict[str, str] = field(default_factory=dict)


def _session() -> _Session:
    """That of this session."""
    found: _Session | None = st.session_state.get(_SESSION)
    if found is None:
        found = st.session_state[_SESSION] = _Session()
    return found


class UrlState:
    """The registered Params and their values in this session and in the URL."""

    def __init__(self) -> None:
        self.params: dict[str, Param[Any]] = {}
        self._owners: dict[str, str] = {}
        self._run = _Run()

    @dataclass_transform(frozen_default=True)
    def register(self, owner: type[P]) -> type[P]:
        """Make a class of Params a frozen dataclass and register them: a decorator.

        Raises ValueError if another class uses a name already.
        """
        owner = owner if is_dataclass(owner) else dataclass(frozen=True)(owner)
        origin = f"{owner.__module__}.{owner.__qualname__}"  # a module that is loaded again registers the same again
        for param in declared(owner).values():
            if self._owners.setdefault(param.name, origin) != origin:
                raise ValueError(f"{origin}: {self._owners[param.name]} has a {param.name!r} already; choose another")
            self.params[param.name] = param
        return owner

    def owner(self, param: Param[Any]) -> str:
        """The dotted name of the class that declares a Param."""
        return self._owners[param.name]

    def of_any_page(self) -> set[str]:
        """Names of the values that an address of any page may have."""
        return {name for name, param in self.params.items() if param.any_page}

    def read(self, owner: type[P]) -> P:
        """The newest values of this session as an object of a registered dataclass."""
        return owner(**{name: self.newest(param) for name, param in declared(owner).items()})

    def begin(self, *, part: bool = False) -> None:
        """Read the URL, before any widget is drawn: in the first run, after a link to a page, after Back and Forward.

        part: whether this run draws a part of the page, whose other widgets stay as the last whole run drew them.
        """
        own = _session()
        values, written = own.values, own.written
        own.notes = []
        first_run = not values
        contents, query = self._contents(), st.query_params.to_dict()
        token, move = query.pop(kept.TOKEN, ""), query.pop(MOVE, "")
        moved, own.last_move = move > own.last_move, max(move, own.last_move)
        self._run.moved = moved
        if query.pop(FORMAT, VERSION) != VERSION and first_run:
            self.note("A newer version of Encoderscope made this link. Update this one to see all that the link holds.")
        if first_run:
            texts = kept.take(token)
            own.texts = {digest: text for digest, text in texts.items() if digest == _digest(text)}
        drawn = set(own.drawn) if part else set()
        self._run.session, self._run.contents, self._run.drawn, self._run.sent = own, contents, drawn, _sent()
        by_callback, own.touched = own.touched, False
        stale = own.unconfirmed.stale(contents, values, touched=by_callback)
        for name in values.keys() & contents.keys() if moved else stale:
            st.session_state[_key(name)] = contents[name] = values[name]
        # The address decides where a person chose it: by a link, by Back or Forward. That of any other request may be
        # older than what this session has shown since: of a click before the browser had the last answer, or of one
        # that it repeats after a reconnect.
        page, last_page = getattr(get_script_run_ctx(), "page_script_hash", None), own.last_page
        own.last_page = page
        interacted = by_callback or any(contents.get(name, value) != value for name, value in values.items())
        read_url = first_run or moved or (page != last_page and not interacted)
        names_all = bool(query) or move != ""
        if first_run or (read_url and names_all):
            not_chosen.remember_asked(query)
        for name, param in self.params.items():
            if name not in values:
                values[name] = param.default
            if not read_url:
                continue
            raw, digest = query.get(name), query.get(KEPT + name)
            if raw is not None and raw != written.get(name):
                self._adopt(param, raw)
            elif raw is None and digest is not None:
                self._adopt_kept(param, digest)
            elif raw is None and (name in written or KEPT + name in written) and names_all:
                self.put(param, param.default)  # Back led to a link without this value
        renamed = (before for before, _ in RENAMED.values())
        texts = (KEPT + name for name in self.params)
        known = {*self.params, *texts, *DROPPED, *renamed, "embed", "embed_options", HOME}
        for name in sorted(set(query) - known) if first_run else ():
            self.note(f"Unknown value in the link: {name!r}. It is ignored.")

    def _adopt(self, param: Param, raw: str) -> None:
        try:
            self.put(param, param.parse(raw))
            self._own().written[param.name] = raw  # also if this run is stopped before it writes the address
        except ValueError as error:
            usual = "" if param.default is None else param.format(param.default)
            shown = param.shown or usual or "none"
            self.note(f"The link asks for {param.name}={raw[:60]!r}: {error}. Shown: {shown}.")

    def _adopt_kept(self, param: Param, digest: str) -> None:
        """Take a text that the address names by its digest, if the session has it or its browser had kept it."""
        text = self._own().texts.get(digest)
        if text is None:
            self.note(
                "The text of this link is too long for an address, so only the tab where it was typed has it. "
                "Paste the text into the field."
            )
        elif param.format(self.get(param)) != text:
            self._adopt(param, text)

    def kept(self) -> dict[str, str]:
        """Digest -> text of the values of this run that are too long for the address."""
        found = [(self.params[name], value) for name, value in self.newest_of_all().items() if name in self.params]
        texts = [param.format(value) for param, value in found if not isinstance(value, (bool, int, float, type(None)))]
        return {_digest(text): text for text in texts if _too_long(text)}

    def has_begun(self) -> bool:
        """Whether this session has read an address already."""
        return bool(self._own().values)

    def is_running(self) -> bool:
        """Whether this is between `begin` and `end`."""
        return self._run.session is not None

    def has_moved(self) -> bool:
        """Whether Back or Forward caused this run: the browser then shows what it is sent, in every widget."""
        return self._run.moved

    def has_changed(self, *, besides: Collection[Param[Any]]) -> bool:
        """Whether a value is another one than the last whole run showed. besides: values that may be."""
        shown, newest = self._own().shown, self.newest_of_all()
        others = self.params.keys() - {param.name for param in besides}
        return any(newest[name] != shown.get(name, self.params[name].default) for name in others)

    def end(self, *, home: bool = False, is_whole: bool = True) -> None:
        """Write the values that differ from their defaults into the URL, after the page or its part has run.

        home: whether the page opens at "/"; a view in its address gets HOME next to it. is_whole: False for a run that
        ended early, as for a newer message: the browser may not have what it did not draw.
        """
        own = self._own()
        values = own.values
        wanted = {
            name: param.format(values[name])
            for name, param in self.params.items()
            if values[name] != param.default and values[name] is not None
        }
        wanted = not_chosen.applied(wanted, values, self.params)
        for name in [name for name, text in wanted.items() if _too_long(text)]:
            wanted[KEPT + name] = _keep(wanted.pop(name))
        if home and set(wanted) - self.of_any_page():
            wanted = {HOME: "1", **wanted}
        own.written = wanted
        contents, drawn, shown = self._run.contents or {}, self._run.drawn, dict(self.newest_of_all())
        self._run.session = self._run.contents = None
        # Streamlit keeps a value that was set before its widget was ever drawn, and would give it to the widget again
        # when the page is visited for the second time.
        for name in contents.keys() - drawn if is_whole else ():
            st.session_state.pop(_key(name), None)
        if is_whole:
            own.drawn, own.shown = drawn, shown
            own.unconfirmed.drawn()
        if wanted != st.query_params.to_dict():
            st.query_params.from_dict(wanted)  # the last line: Streamlit may stop a run wherever it sends something

    def get(self, param: Param[T]) -> T:
        """Value of a Param in this session; its default, where a run was stopped before it had read the address."""
        return self._values().get(param.name, param.default)

    def _contents(self) -> dict[str, Any]:
        """The contents of all widgets that show Params, by name: of those drawn before, and of values set from code.

        To look at all that the session has would take Streamlit ten times as long.
        """
        own = self._own()
        names = {*own.drawn_on, *own.unconfirmed.names()}
        return {name: st.session_state[_key(name)] for name in names if _key(name) in st.session_state}

    def _own(self) -> _Session:
        return self._run.session or _session()

    def _values(self) -> dict[str, Any]:
        return self._own().values

    def newest(self, param: Param[Any]) -> Any:
        """Value of a Param whose widget is drawn later in this run: the widget's content is newer."""
        name, contents = param.name, self._run.contents
        if contents is None:
            return st.session_state.get(_key(name), self.get(param))
        return contents[name] if name in contents else self.get(param)

    def put(self, param: Param[Any], value: Any) -> None:
        """Set a value from code: before its widget is drawn in this run, or in a callback."""
        name, own = param.name, self._own()
        own.unconfirmed.remember(name, st.session_state.get(_key(name), value))
        own.values[name] = value
        st.session_state[_key(name)] = value
        if self._run.contents is not None:
            self._run.contents[name] = value
        own.touched = own.touched or not self.is_running()

    def put_all(self, values: Mapping[Param[Any], Any]) -> None:
        """Set several values from code."""
        for param, value in values.items():
            self.put(param, value)

    def newest_of_all(self) -> dict[str, Any]:
        """The newest value of each Param, by name."""
        contents = self._run.contents
        return self._values() | (self._contents() if contents is None else contents)

    def put_named(self, **values: Any) -> None:
        """Set values of another page by their names in the address, before that page opens."""
        for name, value in values.items():
            self.put(self.params[name], value)

    def key(self, param: Param[Any]) -> str:
        """Key of the widget that shows a Param."""
        return _key(param.name)

    def bound(self, widget: Callable[..., Any], param: Param[Any], *args: Any, **kwargs: Any) -> Any:
        """Draw `widget` for a Param and return its value, which outlasts the page, unlike a bare widget's."""
        name, key = param.name, self.key(param)
        context = get_script_run_ctx()
        page = getattr(context, "page_script_hash", None)
        drawn_on = self._own().drawn_on
        if key not in st.session_state:
            st.session_state[key] = self.get(param)
        elif drawn_on.get(name) != page or (self._run.sent is not None and name not in self._run.sent):
            # Streamlit takes a widget on another page for a new one, despite its key, and must be given the value,
            # again if a run begins before a slow browser has drawn it: it would be empty.
            st.session_state[key] = st.session_state[key]
        drawn_on[name] = page
        value = widget(*args, key=key, **kwargs)
        self._values()[name] = value
        if self._run.contents is not None:
            self._run.contents[name] = value
            self._run.drawn |= {name}
        return value

    def segmented(self, param: Param[T], label: str, options: Mapping[T, str] | Iterable[T], **more: Any) -> T:
        """Draw a segmented control with one choice for a Param and return its value. options: value -> title."""
        return self._choice(st.segmented_control, param, label, options, required=True, **more)

    def selectbox(self, param: Param[T], label: str, options: Mapping[T, str] | Iterable[T], **more: Any) -> T:
        """Draw a list with one choice for a Param and return its value. options: value -> title."""
        return self._choice(st.selectbox, param, label, options, **more)

    def _choice(self, widget: Callable[..., Any], param: Param[T], label: str, options: Any, **more: Any) -> T:
        """One choice; a value that is not on offer, as of another model or in a link, becomes the first."""
        titles, values = options.get if isinstance(options, Mapping) else str, list(options)
        if self.newest(param) not in values:
            self.put(param, values[0])
        return self.bound(widget, param, label, values, **({"format_func": titles} | more))

    def limit(self, param: Param[Any], low: int, high: int, what: str) -> int:
        """Clamp a whole number to `low` ... `high`, with a note if it was outside. Call before its widget is drawn."""
        value = self.newest(param)
        if not low <= value <= high:
            nearest = min(max(value, low), high)
            if value != param.default:
                self.note(f"{param.name}={value}: {what} {low} to {high}. Shown: {nearest}.")
            self.put(param, nearest)
            return nearest
        return value

    def note(self, sentence: str) -> None:
        """Add a note about the link, shown once at the top of the page in this run."""
        if sentence not in self.notes():
            self._own().notes.append(sentence)

    def notes(self) -> tuple[str, ...]:
        """The notes of this run."""
        return tuple(self._own().notes)

    def in_address(self, param: Param[Any]) -> tuple[str, str]:
        """Name and text of a value in the address: its own, or those of its digest where it is too long."""
        text = param.format(self.get(param))
        return (KEPT + param.name, _digest(text)) if _too_long(text) else (param.name, text)

    def too_long_for_url(self, param: Param[Any]) -> bool:
        """Whether a value is too long for the link, which then leaves it out."""
        return _too_long(param.format(self.get(param)))


def _too_long(text: str) -> bool:
    """Whether a text is too long for the address."""
    # A character takes 12 signs of the address at most.
    most = limits.LINK_TEXT.value
    return 12 * len(text) > most and len(quote(text)) > most


def _digest(text: str) -> str:
    """The name of a text in the address."""
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=12).hexdigest()


def _keep(text: str) -> str:
    """Keep a text in the session, with the newest others; returns its digest."""
    texts = _session().texts
    name = _digest(text)
    texts[name] = texts.pop(name, text)
    for old in list(texts)[:-MOST_KEPT]:
        del texts[old]
    return name


def _key(name: str) -> str:
    return _PREFIX + name


def _sent() -> set[str] | None:
    """Names of the values whose widgets' contents the browser sent with its request; None if Streamlit hides them."""
    try:
        widgets = [one.id for one in get_script_run_ctx().session_state.get_widget_states()]  # type: ignore[union-attr]
    except AttributeError:
        return None
    if widgets and not any(one.startswith("$$ID-") for one in widgets):
        return None
    return {one.partition(f"-{_PREFIX}")[2] for one in widgets}


def controlled(
    widget: Callable[..., Any],
    label: str,
    *args: Any,
    key: str,
    value: Any,
    take: Callable[[Any], None],
    **options: Any,
) -> Any:
    """Draw a widget that shows `value`; a new choice goes to `take` before the next run.

    For values that several widgets show, or that a widget shows in another unit.
    """
    st.session_state[key] = value
    return widget(label, *args, key=key, on_change=lambda: take(st.session_state[key]), **options)


#: The state of the app, in which core and pages register their values.
state = UrlState()
