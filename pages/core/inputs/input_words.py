"""What an input and its parts are called on the screen: one place for sentences, images, videos and sounds."""

from dataclasses import dataclass

from encoder import Trace
from encoder.inputs.layout import InputKind
from encoder.inputs.sound_layout import TimeSteps
from pages.core.view.view import RANGES


@dataclass(frozen=True)
class InputWords:
    """input: the whole ("sentence"); text: the same where it may have any length; token: what the encoder processes one
    by one; part: a token that is not special, in the words of people ("word").
    """

    input: str
    inputs: str
    text: str
    token: str
    part: str

    @property
    def tokens(self) -> str:
        """Several tokens."""
        return several(self.token)

    @property
    def parts(self) -> str:
        """Several parts."""
        return several(self.part)

    @property
    def not_special(self) -> str:
        """All tokens but the special ones: of a text, words and marks."""
        return "tokens that are not special" if self.part == "word" else self.parts

    @property
    def ranges(self) -> dict[str, str]:
        """Where the colours of a map can end: `view.RANGES`, in these words."""
        return {**RANGES, "words": self.parts.capitalize()}

    @property
    def range_help(self) -> str:
        """What the ranges mean."""
        return (
            f"**{self.parts.capitalize()}**: the colours end at the largest weight between {self.not_special}, "
            "so that special tokens do not hide the others; the colour bar says where. **0 to 1** lets you compare "
            "heads. **Fit to map**: they end at the largest weight."
        )

    @property
    def vector(self) -> str:
        """The vector of the whole input."""
        return f"{self.input} vector"


def several(one: str) -> str:
    """The plural."""
    return f"{one}es" if one.endswith("ch") else f"{one}s"


WORDS: dict[InputKind, InputWords] = {
    "text": InputWords("sentence", "sentences", "text", "token", "word"),
    "image": InputWords("image", "images", "image", "token", "patch"),
    "video": InputWords("video", "videos", "video", "token", "tubelet"),
    "sound": InputWords("sound", "sounds", "sound", "token", "time step"),
}
#: A sound whose tokens are patches of its spectrogram.
SPECTROGRAM = InputWords("sound", "sounds", "sound", "token", "patch")


def words_of(trace: Trace) -> InputWords:
    """The words for the input of a trace."""
    if trace.kind == "sound" and not isinstance(trace.layout, TimeSteps):
        return SPECTROGRAM
    return WORDS[trace.kind]
