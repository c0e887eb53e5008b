"""The chosen sound: an example, a recording or a file. Its name in the address is `sound`.

Examples are the bundled held-out recordings of spoken digits.
"""

from collections.abc import Mapping

import streamlit as st

from encoder import AudioEncoder, Sound
from encoder.inputs import sound_files, spoken_digits
from encoder.inputs.sound import MOST_BYTES
from pages.core.inputs.file_input import FileInput
from pages.core.stores import input_kinds
from pages.state import Param, choice, state, string

WAYS = {"example": "Example", "record": "Record", "file": "File"}


@state.register
class SoundParams:
    """sound: the name of the input; way: where the next one comes from."""

    sound: Param[str] = string()
    way: Param[str] = choice("example", WAYS, url="sound_from")


class SoundInput(FileInput):
    """Sounds. Where a model accepts less than all of a sound, it gets the loudest part."""

    kind, own = "sound", "own-"
    most_bytes = MOST_BYTES

    def examples(self, model: AudioEncoder) -> Mapping[str, str]:
        return {name: self.title(name) for name in spoken_digits.examples()}

    def first(self, model: AudioEncoder) -> str:
        return "seven"

    def bundled(self, model: AudioEncoder, name: str) -> Sound | None:
        known = spoken_digits.examples()
        return known[name].sound if name in known else None

    def given(self, model: AudioEncoder, name: str) -> Sound:
        return self.heard(model, name)[1]

    def heard(self, model: AudioEncoder, name: str) -> tuple[float, Sound]:
        """(start in seconds, the part that the model accepts)."""
        return self.whole(model, name).loudest_part(model.seconds)

    def title(self, name: str) -> str:
        if name in spoken_digits.examples():
            return f"“{name}”, said by {spoken_digits.examples()[name].voice}"
        return super().title(name)

    def controls(self, model: AudioEncoder) -> None:
        super().controls(model)
        name = self.current(model)
        whole, (start, part) = self.whole(model, name), self.heard(model, name)
        if part is not whole:
            st.caption(
                f"The model accepts {model.seconds:.2f} s. Shown: {start:.2f}-{start + part.seconds:.2f} s "
                f"of {whole.seconds:.2f} s."
            )

    def choose_way(self, model: AudioEncoder) -> str:
        way = state.segmented(self.way, "Sound from", WAYS, width="content", label_visibility="collapsed")
        if way == "file" and not sound_files.has_soundfile():
            st.caption('For FLAC, OGG and MP3: pip install "encoderscope[sound]".')
        return way

    def endings(self) -> list[str]:
        return list(sound_files.endings())

    def take_otherwise(self, model: AudioEncoder, way: str) -> None:
        recorded = st.audio_input("Record a sound", key="sound-record", label_visibility="collapsed")
        self.take(model, recorded, "Your recording")

    def read(self, model: AudioEncoder, content: bytes, file: str, called: str) -> str:
        sound = sound_files.open_sound(content, file)
        return self.keep(self.own + sound.digest[:32], f"{called} ({sound.seconds:.1f} s)", sound)

    def code(self, model: AudioEncoder, name: str) -> tuple[str, str]:
        if name in spoken_digits.examples():
            imports, sound = "from encoder.inputs import spoken_digits", f'spoken_digits.examples()["{name}"].sound'
        else:
            imports, sound = "", 'model.open("your-sound.wav")'
        is_whole = self.given(model, name) is self.whole(model, name)
        return imports, sound if is_whole else f"{sound}.loudest_part(model.seconds)[1]"


SOUNDS = SoundInput(SoundParams.sound, SoundParams.way)
input_kinds.SOURCES["sound"] = SOUNDS
