"""Following: the teacher's view becomes everybody's. A view is what a link holds: a page and its values, as texts.

`before` runs before the page is chosen, `after` when the page has been drawn. The teacher's own change is published
after the run that drew it; a run that applied somebody else's view publishes nothing, so two tabs of a teacher agree.
Of two teachers the last one to choose a page wins, for everybody: the room's versions are the one order.

A newer request interrupts a run, so a view counts as shown when `after` is reached: until then each run applies the
room's view again. Which page a request names depends on what the browser had drawn when it was sent; `_chooses` tells
a choice of a person from such a page.
"""

import dataclasses
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import streamlit as st

from pages.base.work.page_slots import Slots, draw_for_class
from pages.state import former, links, not_chosen, state
from pages.teaching.params import LessonParams, RoomParams
from pages.teaching.rooms import session
from pages.teaching.rooms.room import Room, ask, asked_before, bring_back, end_question
from pages.teaching.rooms.session import DESK
from pages.teaching.rooms.store import full

if TYPE_CHECKING:
    from pages.teaching.lessons.lesson import Step

#: Values that each person keeps: the room, the look, and where the model runs. By name: importing their declarations
#: would load the engine before the first paint.
OWN = frozenset({"room", "wall", "colours", "device", "dtype", "present"})
#: The view that this session showed or published last; what its last run showed; the view that is applied and not shown
#: yet; where the last whole run was; whether news caused this run.
_SEEN, _SHOWN, _APPLIES, _PAGE, _NEWS = "_room_seen", "_room_shown", "_room_applies", "_room_page", "_room_news"
#: The page that the teacher chose, while it is not drawn.
_CHOSEN = "_room_chosen"
#: The pages of the runs since the last whole one.
_RAN = "_room_ran"
#: The pages that this session left, and until when the browser may still ask for one as it had not drawn the next one:
#: seconds after a view of the room, and after a click, since Back soon after a click is a person's.
_LEFT, STALE, STALE_OWN = "_room_left", 3.0, 1.0
#: Until when a new session hears requests that its browser made before it had drawn this session's page: after a
#: reconnect Streamlit's client asks for the app's first page.
_NEW = "_room_new"
#: When a view was applied last; seconds in which a browser may not have drawn it.
_APPLIED, UNSEEN = "_room_applied", 10.0
#: Whether this run has its place in the order of the class.
_PLACE = "_room_place"
#: Followers are drawn one by one: half of the class waits half as long as for thirty at once, the last one no longer.
ORDER = Slots(at_once=1, counts=0.6, patience=4.0)


def shown(page: str) -> dict[str, str]:
    """The view of this session: the page and all values that differ from their defaults."""
    view, newest = {"page": page}, state.newest_of_all()
    for name, param in state.params.items():
        value = newest.get(name, param.default)
        if name not in OWN and value is not None and value != param.default:
            view[name] = param.format(value)
    return view


def apply(view: Mapping[str, str], page: str | None, *, again: bool = False) -> None:
    """Take a view, before the page is chosen or in a callback.

    page: where this session is; None: it stays there. again: the browser may not have what this session applied before.
    """
    seen, view = dict(view), former.current(view)
    newest = state.newest_of_all()
    for name, param in state.params.items():
        if name in OWN:
            continue
        try:
            value = param.parse(view[name]) if name in view else param.default
        except ValueError:  # of another version of the app
            value = param.default
        if newest.get(name) != value or (again and name in (*view, "text")):
            state.put(param, value)
    not_chosen.remember_asked({*view, "layer"})  # head and token are chosen: the app chooses no others
    st.session_state[_APPLIES] = seen
    if not again:
        st.session_state[_APPLIED] = time.monotonic()
    if page is not None and view["page"] != page:
        links.open_later(view["page"])


def before(page: str) -> None:
    """Read the room; a follower takes the teacher's view. page: the open one."""
    own = session.read()
    now = session.room()
    draw_for_class(session.is_follower())
    if own is None or now is None or not state.has_begun():
        return
    if not state.get(RoomParams.code):  # Back led to an address of before: a reload must find the room
        state.put(RoomParams.code, own.code)
    if not now.view or (own.teaches and page == DESK):
        return
    st.session_state[_RAN] = {page, *st.session_state.get(_RAN, ())}
    if own.teaches:
        chosen = st.session_state.pop(_CHOSEN, None)
        if chosen is None or not _is_event():  # else it came before the browser had drawn what the teacher chose
            chosen = page if _chooses(page) else None
        if chosen is not None:
            st.session_state.pop(_APPLIES, None)
            st.session_state[_CHOSEN] = chosen  # the class comes here
            if chosen != page:
                links.open_later(chosen)
            return
    else:
        if own.member and now.recalled != own.recalled:
            session.follow(True)
            st.session_state.pop(_SEEN, None)
        elif not own.follows:
            _tell_place(page)
            return
    begun = st.session_state.get(_APPLIES)
    if begun is not None or now.view != st.session_state.get(_SEEN) or _is_stale(page):
        if own.member and st.session_state.get(_NEWS) and _PLACE not in st.session_state:
            ORDER.enter()
            st.session_state[_PLACE] = True
        apply(now.view, page, again=begun == now.view)
    elif _may_be_unseen(now):
        apply(now.view, page, again=True)


def _chooses(page: str) -> bool:
    """Whether the teacher chose this page: neither the last whole run nor a view of the room led here."""
    begun = st.session_state.get(_APPLIES)
    known = st.session_state.get(_PAGE, page), former.current(begun)["page"] if begun else None
    return page not in known and not _is_stale(page)


def _may_be_unseen(now: Room) -> bool:
    """Whether news cause this run soon after a view was applied: a slow browser may not have drawn its widgets yet.

    It then draws them from this run only, which must give them their values once more.
    """
    soon = time.monotonic() - st.session_state.get(_APPLIED, -UNSEEN) < UNSEEN
    return soon and bool(st.session_state.get(_NEWS)) and now.view == st.session_state.get(_SEEN)


def _is_stale(page: str) -> bool:
    """Whether this run shows a page that was just left, or in a new session another: the browser did not know."""
    until = st.session_state.get(_LEFT, {}).get(page, 0.0)
    if page != st.session_state.get(_PAGE, page):
        until = max(until, st.session_state.get(_NEW, 0.0))
    return _is_event() and time.monotonic() < until


def _is_event() -> bool:
    """Whether this run's page is what the browser had drawn. A click on a page's name asks without values: no room."""
    return RoomParams.code.name in st.query_params


def note_own_way(page: str) -> None:
    """A follower leaves the class by a change of her own. Call when the values of this run are read.

    Before that, the contents of the browser's widgets may be older than the view that this session applied.
    """
    own, now = session.seat(), session.room()
    is_news = st.session_state.pop(_NEWS, False)
    if own is None or now is None or not own.member or not own.follows or not now.view:
        return
    if is_news or _APPLIES in st.session_state or shown(page) == st.session_state.get(_SHOWN):
        return
    if now.frozen:
        st.session_state.pop(_SEEN, None)
        st.rerun()
    session.follow(False, page)


def hear_news() -> None:
    """The browser heard that the room changed; nobody clicked anything. For callbacks."""
    st.session_state[_NEWS] = True


def _tell_place(page: str) -> None:
    if st.session_state.get(_PAGE) != page:
        session.follow(False, page)


def after(page: str) -> None:
    """Publish what the teacher changed, when the page has been drawn."""
    if st.session_state.pop(_PLACE, False):
        ORDER.leave()
    own, now = session.seat(), session.room()
    if own is None or now is None:
        return
    here = shown(page)
    applied, last = st.session_state.pop(_APPLIES, None), st.session_state.get(_SHOWN)
    if _PAGE not in st.session_state:
        st.session_state[_NEW] = time.monotonic() + UNSEEN
    came_from = st.session_state.get(_PAGE, page)
    st.session_state.pop(_CHOSEN, None)
    st.session_state[_SHOWN], st.session_state[_PAGE] = here, page
    left = {came_from, *st.session_state.pop(_RAN, ())}
    until = time.monotonic() + (STALE_OWN if applied is None else STALE)
    st.session_state[_LEFT] = {**st.session_state.get(_LEFT, {}), **dict.fromkeys(left, until), page: 0.0}
    if applied is not None:
        st.session_state[_SEEN] = applied
    elif own.teaches and page != DESK and last is not None and here != last:
        publish(here)
        if (new := session.room()) is not None and new.question != now.question:
            st.rerun()  # another step's question is drawn above the page


def publish(view: Mapping[str, str]) -> None:
    """Show a view to the class. Another step of a lesson asks its question; a step without one ends the last.

    A question that the room was asked before comes back as it was left, with its answers and its result.

    A room that holds no more questions shows the step without its question: a lesson goes on.
    """
    step = _lesson_step(view)

    def edit(found: Room) -> Room:
        new = dataclasses.replace(found, view=dict(view))
        if _step(view) == _step(found.view):
            return new
        return _with_question(end_question(new), step)

    now = session.room()
    if now is not None and dict(now.view) != dict(view):
        if not session.teach(edit):
            st.session_state[_SHOWN] = {}  # the next run tries again
            return
        new = session.room()
        lacks = new is not None and new.question is None and step is not None and step.question is not None
        if now.is_full and lacks and _step(view) != _step(now.view):
            session.say(f"This step comes without its question. {full()}")
    st.session_state[_SEEN] = dict(view)


def _step(view: Mapping[str, str]) -> tuple[str, str]:
    return view.get(LessonParams.lesson.name, ""), view.get(LessonParams.number.name, "1")


def _lesson_step(view: Mapping[str, str]) -> "Step | None":
    """The step of a lesson that a view names, or None."""
    from pages.teaching.lessons import library  # not before the first paint: questions need the engine

    name, number = _step(view)
    lesson = library.find(name, view.get(LessonParams.language.name, "")) if name else None
    if lesson is None or lesson.nearest(int(number)) != int(number):
        return None
    return lesson.step(int(number))


def _with_question(room: Room, step: "Step | None") -> Room:
    if step is None or step.question is None:
        return room
    definition = step.question.definition()
    if (known := asked_before(room, definition, step.view)) is not None:
        return bring_back(room, known)
    return room if room.is_full else ask(room, definition, step.view, hides=not step.question.look)


def return_to_class() -> None:
    """Follow again. For callbacks."""
    session.follow(True)
    st.session_state.pop(_SEEN, None)


def look_around() -> None:
    """Stop following, without a change of the view. For callbacks."""
    session.follow(False, st.session_state.get(_PAGE, ""))


def to_class_page() -> None:
    """Open the page that the class sees, from the desk. For callbacks."""
    now = session.room()
    if now is not None and now.view:
        apply(now.view, DESK)
        st.session_state[_PAGE] = now.view["page"]
