"""The sound of the sidebar: an example, a recording or a file. Its name in the address is `sound`.

Examples are the bundled held-out recordings of spoken digits. A visitor's own sound stays in the session: a link names
it by its digest alone, and opens with an example for everyone else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

import encoder
from encoder.errors import EncoderError, SoundError
from encoder.inputs import sound_files
from encoder.inputs import spoken_digits as recordings
from encoder.inputs.sound import MOST_BYTES, Sound
from pages.core.stores import sources
from pages.core.words.markdown import plain, say_error
from pages.state.params import Param, choice, string
from pages.state.url_state import state

WAYS = {"example": "Example", "record": "Record", "file": "File"}
FIRST = "seven"
#: Sounds that a session keeps.
MOST_KEPT = 6
_KEPT, _TITLES, _TAKEN = "_sounds", "_sound_titles", "_sound_file"
OWN = "own-"


@state.register
@dataclass(frozen=True)
class SoundParams:
    """sound: the name of the input; way: where the next one comes from."""

    sound: Param[str] = string()
    way: Param[str] = choice("example", WAYS, url="sound_from")


def examples() -> tuple[str, ...]:
    """Names of the bundled sounds."""
    return tuple(recordings.examples())


def kept() -> tuple[str, ...]:
    """Names of the sounds that this session keeps."""
    return tuple(st.session_state.get(_KEPT, {}))


def current(model: encoder.AudioEncoder) -> str:
    """The name of the chosen sound; an example where a link names one that is not here."""
    name = state.newest(SoundParams.sound)
    if not name:
        return FIRST
    try:
        whole(name)
    except EncoderError:
        state.note(f"The sound of this link is not here: a link holds no file. You hear “{FIRST}” instead.")
        return FIRST
    return name


def whole(name: str) -> Sound:
    """The sound of a name. Raises EncoderError where there is none."""
    if name in recordings.examples():
        return recordings.examples()[name].sound
    kept: dict[str, Sound] = st.session_state.get(_KEPT, {})
    if name in kept:
        return kept[name]
    raise EncoderError("This sound is not here: choose an example, record one, or open a file.")


def heard(model: encoder.AudioEncoder, name: str) -> tuple[float, Sound]:
    """(start in seconds, the part that the model takes): its loudest part, where it takes less than all."""
    return whole(name).loudest_part(model.seconds)


def find(model: encoder.AudioEncoder, name: str) -> Sound:
    """What `model.trace` takes. Raises EncoderError where there is no such sound."""
    return heard(model, name)[1]


def title(name: str) -> str:
    """The name of a sound for people."""
    if name in recordings.examples():
        return f"“{name}”, said by {recordings.examples()[name].voice}"
    return str(st.session_state.get(_TITLES, {}).get(name, "Your sound"))


def controls(model: encoder.AudioEncoder) -> None:
    """The part of the sidebar for a sound."""
    name = current(model)
    st.markdown("**Sound**")
    way = state.segmented(SoundParams.way, "Sound from", WAYS, width="stretch", label_visibility="collapsed")
    if way == "example":
        options = [*([] if name in recordings.examples() else [name]), *recordings.examples()]
        key = f"sound-example:{name}"
        st.selectbox(
            "Example", options, index=options.index(name), key=key, format_func=title, label_visibility="collapsed",
            on_change=lambda: choose(st.session_state[key]),
        )  # fmt: skip
    elif way == "record":
        _take(st.audio_input("Record a sound", key="sound-record", label_visibility="collapsed"), "Your recording")
    else:
        _take(
            st.file_uploader(
                "Sound file", type=list(sound_files.endings()), key="sound-file", label_visibility="collapsed",
                max_upload_size=MOST_BYTES // 1_000_000,
            )
        )  # fmt: skip
        if not sound_files.has_soundfile():
            st.caption('For FLAC, OGG and MP3: pip install "encoderscope[sound]".')
    _length(model)


def _length(model: encoder.AudioEncoder) -> None:
    """How much of the sound the model takes."""
    name = current(model)
    start, part = heard(model, name)
    if part is not whole(name):
        st.caption(
            f"The model takes {model.seconds:.2f} s. Shown: {start:.2f}-{start + part.seconds:.2f} s "
            f"of {whole(name).seconds:.2f} s."
        )


def choose(name: str) -> None:
    """Show another sound on every page. For callbacks, and before the sound is read in a run."""
    state.put(SoundParams.sound, name)


def _take(given: Any, called: str = "") -> None:
    """Take a file or a recording once; a broken one is a sentence, in each run while it is there."""
    if given is None:
        return
    try:
        if st.session_state.get(_TAKEN) != given.file_id:
            name = keep(sound_files.open_sound(given.getvalue(), given.name), called or plain(given.name))
            st.session_state[_TAKEN] = given.file_id
            choose(name)
    except SoundError as error:
        say_error(error)


def keep(sound: Sound, called: str) -> str:
    """Keep a sound in the session and return its name."""
    name = OWN + sound.digest[:32]
    kept = {**st.session_state.get(_KEPT, {}), name: sound}
    st.session_state[_KEPT] = dict(list(kept.items())[-MOST_KEPT:])
    st.session_state[_TITLES] = {**st.session_state.get(_TITLES, {}), name: f"{called} ({sound.seconds:.1f} s)"}
    return name


def code(model: encoder.AudioEncoder, name: str) -> tuple[str, str]:
    """An import, and the Python expression that gives the sound of a name."""
    if name in recordings.examples():
        imports, sound = "from encoder.spoken import recordings", f'recordings.examples()["{name}"].sound'
    else:
        imports, sound = "from encoder import sound_files", 'sound_files.open_sound("your-sound.wav")'
    return imports, sound if find(model, name) is whole(name) else f"{sound}.loudest_part(model.seconds)[1]"


sources.SOURCES["sound"] = sources.Source(controls, current, find, title, code)  # type: ignore[arg-type]
