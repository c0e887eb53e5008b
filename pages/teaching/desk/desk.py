"""The teacher's desk: lesson, question, answers, and who is here; the class does not see this page."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from encoder.errors import EncoderError
from encoder.export.report import as_csv
from pages.base.access import limits
from pages.components.button import button
from pages.components.lazy import expander
from pages.components.rooms import room_door, room_refresh
from pages.core.words.markdown import plain, say_error
from pages.core.words.symbols import in_markdown, of_markdown
from pages.state import links, state
from pages.teaching.desk import asking, concepts, hidden, moderation, question_box
from pages.teaching.lessons import languages, library, path, progress
from pages.teaching.lessons.lesson import Lesson
from pages.teaching.params import LessonParams, RoomParams
from pages.teaching.questions import Look, Question, controls, read_question
from pages.teaching.questions.open_kinds import ConclusionQuestion
from pages.teaching.rooms import Asked, Member, Room, RoomError, follow, from_files, session
from pages.teaching.rooms.room import BARS, numbered_votes
from pages.teaching.rooms.session import Seat
from pages.teaching.rooms.store import late_answers, late_times
from pages.teaching.stage import exhibit, invite, outcome, results, votes
from pages.teaching.stage.asked import read

#: The room whose teacher is asked whether to close it.
_CLOSES = "_desk_closes"
#: Before the name of a control: how often its widget was made, and the value that this desk drew or chose last.
_KNOWN = "_desk_known_"
#: Answers whose reasons the teacher may ask for, and names for each.
MOST_ASKED = 3
#: Weights of a row that the teacher knows before the result.
STRONGEST = 3


def draw(own: Seat, now: Room) -> None:
    """The whole desk: what comes next and what they answered; on a narrow screen this is above all else."""
    main, side = st.columns([5, 3], gap="large")
    with main:
        opened = _opened(now)
        if opened is None:
            with st.container(border=True):
                _choose(now)
        else:
            with st.container(key="desk-turn"):
                is_over = _turn(now, *opened)
        _question(now)
        if opened is not None:
            _script(*opened)
            with st.expander("Another lesson, another language", icon=":material/menu_book:", expanded=is_over):
                _choose(now, opened[0])
    with side:
        _invitation(now)
        _controls(now)
        _members()  # below: its lines come and go, and must not move what the teacher is about to press
        _end(own)


def _invitation(now: Room) -> None:
    """The wall, and how to join: in sight until the first question."""
    st.link_button(
        "Open the wall",
        f"?{RoomParams.code.name}={now.code}&{RoomParams.wall.name}=1",
        icon=":material/cast:",
        type="secondary" if now.asked or now.view else "primary",
        help="A window for the projector: code, questions, answers and pictures, and nothing else.",
    )
    part = expander("How to join", "desk-join", icon=":material/qr_code:") if now.asked else st.container()
    if part is not None:
        with part:
            st.html(invite.picture(now))


# --- lesson -----------------------------------------------------------------------------------------------------------


def _opened(now: Room) -> tuple[Lesson, int] | None:
    """The open lesson, and the number of its step."""
    name, number = now.view.get(LessonParams.lesson.name, ""), int(now.view.get(LessonParams.number.name, "1"))
    found = library.find(name, state.get(LessonParams.language)) if name else None
    return None if found is None else (found, found.nearest(number))


def _path(now: Room) -> path.Path | None:
    """The path that the class follows."""
    return path.paths().get(now.view.get(LessonParams.path.name, ""))


def _choose(now: Room, opened: Lesson | None = None) -> None:
    """Choose a language, and a path or a lesson. opened: the one that the class is in."""
    languages.choose(help="Counts from the next step on. Buttons and other words of the app are in English.")
    language = state.get(LessonParams.language)
    lessons = {one.name: one for one in library.lessons(language)[0]}
    along = _path(now) if opened else None
    shown = along.name if along else opened.name if opened else now.view.get(LessonParams.lesson.name, "")
    titles = {one.name: f"Path: {one.title}" for one in path.paths().values()}
    only_english = set(lessons) - library.translated(language) if language else set()
    titles |= {
        one.name: f"{one.heading} · {one.minutes} minutes" + (" · in English" if one.name in only_english else "")
        for one in lessons.values()
    }
    chosen = st.selectbox(
        "Lesson",
        list(titles),
        index=list(titles).index(shown) if opened else None,
        key=f"desk:lesson:{shown}",
        format_func=lambda one: titles[one],
        placeholder="Choose a path or a lesson, or open any page: the class follows you",
    )
    if chosen and (chosen != shown or opened is None):
        first = path.paths()[chosen].marks[0] if chosen in path.paths() else None
        lesson = lessons[first.lesson if first else chosen]
        begin = partial(show_step, lesson, first.step if first else lesson.first, chosen if first else "")
        kind = "secondary" if question_box.waits(now) else "primary"
        button("Begin this lesson", "play_arrow", "desk:begin", begin, type=kind)


def _turn(now: Room, lesson: Lesson, number: int) -> bool:
    """Where the class is, Back and Next, and what comes next, along the path or in the lesson; whether nothing does."""
    along = _path(now)
    at = along.place(lesson.name, number) if along else None
    marks = along.marks if along else ()

    def other(by: int) -> tuple[Lesson, int] | None:
        if at is None:
            return (lesson, number + by) if lesson.first <= number + by <= lesson.last else None
        if not 0 <= at + by < len(marks):
            return None
        found = library.find(marks[at + by].lesson, state.get(LessonParams.language))
        return None if found is None else (found, marks[at + by].step)

    waits, following = question_box.waits(now), other(1)
    progress.note_drawn(lesson, number, "desk:back:", "desk:next:")
    st.markdown(
        f"{plain(lesson.heading)}, step {number} of {lesson.last}: **{in_markdown(lesson.step(number).title)}**"
    )
    # The keys have the number: a click that a reconnect repeats turns no second page.
    place = number if at is None else f"path:{at}"
    with st.container(horizontal=True, vertical_alignment="center"):
        for title, icon, by in (("Back", "arrow_back", -1), ("Next", "arrow_forward", 1)):
            to = other(by)
            button(
                title,
                icon,
                f"desk:{title.lower()}:{place}",
                partial(progress.turn, show_step, *(to or (lesson, number))),
                type="primary" if by > 0 and not waits and following else "secondary",
                disabled=to is None,
            )
        if following:
            then = following[0].step(following[1])
            st.markdown(f"Next: {in_markdown(then.title)}" + (" (with a question)" if then.question else ""))
    if at is not None and along:
        mark = marks[at]
        st.caption(f"Minute {mark.at} to {mark.at + mark.minutes} of {along.name}. {plain(mark.do)}")
    if following is None and not waits:
        st.markdown(
            "**The lesson is over.** Save “Answers as CSV” below. Then choose another lesson, or close the room."
        )
    return following is None


def _script(lesson: Lesson, number: int) -> None:
    """What the class reads at this step, below what the teacher needs at once."""
    with st.container(border=True):
        st.caption("What the class reads at this step")
        st.markdown(of_markdown(lesson.step(number).text))


def show_step(lesson: Lesson, number: int, along: str | None = None) -> None:
    """Show a step of a lesson to the class; the desk stays. For callbacks. along: the path, None: that of before."""
    step, now = lesson.step(number), session.room()
    before = dict(now.view) if now else {}
    view = dict(step.view) or before or {"page": "lessons"}
    along = before.get(LessonParams.path.name, "") if along is None else along
    view |= {LessonParams.lesson.name: lesson.name}
    view.pop(LessonParams.path.name, None)
    view |= {LessonParams.path.name: along} if along else {}
    if language := state.get(LessonParams.language):
        view |= {LessonParams.language.name: language}
    view |= {LessonParams.number.name: str(number)} if number != LessonParams.number.default else {}
    if number == LessonParams.number.default:
        view.pop(LessonParams.number.name, None)
    follow.apply(view, None)
    follow.publish(view)


# --- question and answers ---------------------------------------------------------------------------------------------


def _question(now: Room) -> None:
    with st.container(border=True):
        if now.question is None:
            part = expander("Ask the class about its view", "desk-ask", icon=":material/quiz:")
            if part is not None:
                with part:
                    asking.form(now)
        else:
            # First what the teacher does: the answers below grow, and must not move it.
            st.markdown(f"**{in_markdown(str(now.question.definition.get('ask', '')))}**")
            question_box.teachers_buttons(now.question)
            _answers(now.question)
        part = expander("Concept test, before and after", "desk-test", icon=":material/assignment:")
        if part is not None:
            with part:
                concepts.draw(now, _refresh)
        st.download_button(
            "Answers as CSV",
            lambda: export(now),
            f"room-{now.code}.csv",
            "text/csv",
            key="desk:csv",
            on_click="ignore",
            icon=":material/download:",
        )


@st.fragment
def _answers(asked: Asked) -> None:
    now = session.room()
    if now is None:
        return
    _refresh(now, "answers")
    try:
        question, look = read(asked)
        if not asked.revealed:
            _ahead(question, look)
        with st.container(key="desk-given"):
            left, right = st.columns([3, 2])
            with left:
                if question.kind == "conclusion":  # each is below, with its author
                    st.caption(f"{results.counted(len(votes.answers(now, asked.id)))} of the class")
                else:
                    results.draw(now, asked, question, look, teaches=True)
            with right, st.container(gap="xsmall"):
                _advice(now, asked, question, look)
                _whom(now, asked, question, look)
                _who(now, asked)
        _late(now, asked, question, look)
        moderation.answers(now, asked, question, look)
        if asked.revealed:  # last, since the row that an answer rests on is long
            outcome.truth(question, look, mean=results.of_room(now, asked, question, look).mean)
    except EncoderError as error:
        say_error(error, st.warning, icon=":material/help:")


def _ahead(question: Question, look: Look | None) -> None:
    """What is right, and the hint, before the class sees either."""
    if isinstance(question, ConclusionQuestion) and question.model:
        st.markdown(f"**Only you see this.** A model answer: {in_markdown(question.model)}")
    truth = None if look is None else question.truth(look)
    if look is not None and truth is not None and truth.value is not None and question.kind != "test":
        said = controls.true_value(question, look, truth)
        if question.kind == "draw":  # the whole row would move the class's answers out of the window
            strongest = sorted(exhibit.row(question, look, truth), key=lambda line: -line.share)[:STRONGEST]
            said = f"The largest weights: {', '.join(f'{one.label} {one.said}' for one in strongest)}."
        st.markdown(f"**Only you see this.** {in_markdown(said)}")
    if question.hint:
        st.caption(f"A hint to say: {in_markdown(question.hint)}")


def _late(now: Room, asked: Asked, question: Question, look: Look | None) -> None:
    """Answers that came late, or from the file of the lesson that the class has open: apart from the others."""
    found = late_answers(session.store(), now.code)
    late = {**found.get(from_files.name_of_step(now.view), {}), **found.get(asked.id, {})}
    if bars := results.bars(question, look, [*results.read(question, look, late).values()]):
        st.caption(f"{len(late)} late, or from a lesson’s file. They do not count above.")
        st.html(results.table(bars, show_right=asked.revealed))


def _advice(now: Room, asked: Asked, question: Question, look: Look | None) -> None:
    """Whether a discussion pays, from the first vote. The desk is the teacher's: the class does not see it."""
    if not votes.may_follow(asked):
        return
    vote = results.vote(asked.id, votes.answers(now, asked.id), question, look)
    if vote.right is not None:
        is_most = 2 * len(vote.given) > len([*present(session.members(now.code))])  # a few are not the class
        advice = votes.advice(vote.right) if is_most else ""
        st.markdown(f"**{vote.right:.0%} right** of {len(vote.given)}. {advice}")


def _whom(now: Room, asked: Asked, question: Question, look: Look | None) -> None:
    """Whose reasons to ask for: one who is right, and the most frequent wrong answers, by name if there are names."""
    if question.kind in ("draw", "test", "conclusion", "sentence") or look is None:
        return
    vote = results.vote(asked.id, votes.answers(now, asked.id), question, look)
    members = session.members(now.code) if now.named else {}
    ranked = sorted(vote.bars, key=lambda bar: (not bar.right, -bar.count))[:MOST_ASKED]
    for bar in ranked if len(vote.bars) > 1 else ():
        gave = [one for one, value in vote.given.items() if controls.answer_text(question, look, value) == bar.label]
        names = [members[one].nickname for one in gave if one in members and members[one].nickname][:MOST_ASKED]
        who = ", ".join(map(plain, names)) if names else f"who said it ({bar.count})"
        called = f"{bar.letter} {bar.label}".strip().rstrip(".")
        st.caption(f"Ask why **{plain(called)}**{' (right)' if bar.right else ''}: {who}")


def _who(now: Room, asked: Asked) -> None:
    members, answered = session.members(now.code), session.answers(now.code, asked.id)
    missing = [one.nickname for one in present(members) if one.id not in answered]
    if missing and not asked.revealed:
        names = ", ".join(plain(name) for name in sorted(missing)) if now.named else str(len(missing))
        st.caption(f"Not yet: {names}")


def export(now: Room) -> bytes:
    """All answers of the room's questions as one table, but for the concept test."""
    members, store = session.members(now.code), session.store()
    late, times = late_answers(store, now.code), late_times(store, now.code)
    rows: list[dict[str, Any]] = []
    numbers = numbered_votes(now)
    for asked in (*now.past, *([now.question] if now.question else [])):
        came_late, then = late.pop(asked.id, {}), times.get(asked.id, {})
        if asked.definition["kind"] != "test":  # it has a table of its own, without names
            about, vote = _readable(asked), numbers[asked.id]
            of = library.step_of(asked.definition, asked.view)
            given = session.answers(now.code, asked.id)
            given = {one: "" for one in members if one not in came_late} | given  # who has not answered, too
            rows += results.rows(*about, given, members, vote, store.times(now.code, asked.id), step=of)
            rows += results.rows(*about, came_late, members, vote, then, late=True, step=of)
    for name, given in sorted(late.items()):
        step = from_files.step(name)
        if step is not None and step.question is not None:
            about, of = (
                (step.question, library.look_of(step.view)),
                library.step_of(step.question.definition(), step.view),
            )
            rows += results.rows(*about, given, members, 1, times.get(name, {}), late=True, step=of)
    return as_csv(pd.DataFrame(rows, columns=results.COLUMNS))


def _readable(asked: Asked) -> tuple[Question, Look | None]:
    """As `read`, without a view that does not open any more, such as one of an image that the server has forgotten."""
    try:
        return read(asked)
    except EncoderError:
        return read_question(asked.definition), None


# --- the class --------------------------------------------------------------------------------------------------------


def _refresh(now: Room, name: str) -> None:
    """Draw this part of the page again when members or answers change."""
    room_refresh(session.activity(now.code), key=f"desk:refresh:{name}")


@st.fragment
def _members() -> None:
    now = session.room()
    if now is None:
        return
    _refresh(now, "members")
    try:
        joined = session.members(now.code)
        here = [*present(joined)]
        late = sum(map(len, late_answers(session.store(), now.code).values()))
    except RoomError as error:
        say_error(error, st.warning, icon=None)
        return
    follow_now = sum(one.follows for one in here)
    st.markdown(f"**Here: {len(here)}** · following: {follow_now}")
    elsewhere = Counter(links.title(one.page) for one in here if not one.follows)
    if elsewhere:
        st.caption("On their own: " + ", ".join(f"{page} {count}" for page, count in elsewhere.most_common()))
    if late:
        st.caption(f"Late answers, with those of lessons’ files: {late}. “Answers as CSV” has them.")
    if joined:
        moderation.names(joined, named=now.named)


def present(members: Mapping[str, Member]) -> Iterator[Member]:
    """Those whose browser gave a sign lately."""
    now = time.time()
    return (one for one in members.values() if one.is_present(now))


def _controls(now: Room) -> None:
    bars = BARS not in now.hidden
    key = _key("bars", bars)
    st.toggle(
        "Bars on the wall before the result",
        bars,
        key=key,
        on_change=_show_bars,
        args=(key,),
        help="A student who sees what others chose is drawn to it. The wall always shows how many have answered.",
    )
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.number_input("Timer, minutes", 1, 90, 3, key="desk:minutes", width=140)
        button("Start", "timer", "desk:timer", _start_timer)
        if now.timer > time.time():
            button("Stop", "timer_off", "desk:no-timer", partial(session.change, timer=0.0))
    hides = tuple(name for name in hidden.CONTROLS if name in now.hidden)
    key = _key("hidden", hides)
    st.multiselect(
        "Hide from the class",
        list(hidden.CONTROLS),
        format_func=lambda name: hidden.CONTROLS[name][0],
        default=hides,
        key=key,
        on_change=_hide,
        placeholder="Nothing is hidden",
        args=(key,),
    )


def _key(name: str, value: object) -> str:
    """The key of a control with a value of the room: another one if somebody else changed it, as another tab.

    After a choice made here it stays, so that an open list stays open: a second click would hit what is behind it.
    """
    made, known = st.session_state.get(_KNOWN + name, (0, value))
    made += known != value
    st.session_state[_KNOWN + name] = made, value
    return f"desk:{name}:{made}"


def _chosen(key: str) -> Any:
    """What a control has now, for its callback; `_key` knows it from then on."""
    _, name, made = key.split(":")
    value = st.session_state[key]
    value = tuple(one for one in hidden.CONTROLS if one in value) if isinstance(value, list) else value
    st.session_state[_KNOWN + name] = int(made), value
    return value


def _hide(key: str) -> None:
    chosen = _chosen(key)

    def edit(room: Room) -> Room:
        return replace(room, hidden=(*chosen, *(one for one in room.hidden if one not in hidden.CONTROLS)))

    session.teach(edit)


def _show_bars(key: str) -> None:
    are_shown = _chosen(key)

    def edit(room: Room) -> Room:
        others = tuple(name for name in room.hidden if name != BARS)
        return replace(room, hidden=others if are_shown else (*others, BARS))

    session.teach(edit)


def _start_timer() -> None:
    minutes = st.session_state["desk:minutes"]  # a number that was typed just before the click counts
    session.change(timer=time.time() + 60 * minutes)


def _end(own: Seat) -> None:
    part = expander("Your key, and the end of the room", "desk-end", icon=":material/key:")
    if part is None:
        return
    with part:
        st.markdown("This browser keeps your key. On another machine, or in a private window, use your own link:")
        room_door(key="desk:door", code=own.code, secret=own.key)
        st.markdown(f"The room closes after {limits.ROOM_HOURS.value} hours. Closing it deletes all answers at once.")
        if st.session_state.get(_CLOSES) != own.code:
            button("Close the room", "delete", "desk:close", partial(st.session_state.update, {_CLOSES: own.code}))
            return
        st.warning(
            "Close the room for everybody, and delete its answers? “Answers as CSV” saves them first.",
            icon=":material/delete:",
        )
        with st.container(horizontal=True):
            button("Keep the room", "undo", "desk:close:no", partial(st.session_state.pop, _CLOSES, None))
            button("Close and delete", "delete", "desk:close:yes", session.close, type="primary")
