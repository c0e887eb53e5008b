"""Images and sounds that are chosen: bundled examples, and what a visitor draws, records or opens as a file.

A visitor's own input stays in the session: a link names it by the digest of its content only, and opens with an
example for everyone else.
"""

from collections.abc import Mapping
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import streamlit as st

from encoder import EncoderError
from encoder.encoders.named import NamedEncoder
from pages.core.stores.input_kinds import Input
from pages.core.words import errors_said, plain
from pages.state import Param, state

#: Inputs that a session keeps.
MOST_KEPT = 6


class FileInput(Input):
    """What images, videos and sounds share.

    chosen, way: the values of the address, an input's name and where the next one comes from; own: the beginning of the
    names of a visitor's own inputs; most_bytes: of a file.
    """

    own: ClassVar[str]
    most_bytes: ClassVar[int]

    def __init__(self, chosen: Param[str], way: Param[str]) -> None:
        self.chosen, self.way = chosen, way
        # Names are digests, so one name means one input for all sessions. Their sessions keep the inputs themselves.
        self._contents: WeakValueDictionary[str, Any] = WeakValueDictionary()

    # --- what each kind says --------------------------------------------------------------------------------------

    def examples(self, model: NamedEncoder) -> Mapping[str, str]:
        """Name -> title of the bundled inputs for a model."""
        raise NotImplementedError

    def first(self, model: NamedEncoder) -> str:
        """The name of the example that a new visitor has."""
        raise NotImplementedError

    def bundled(self, model: NamedEncoder, name: str) -> Any:
        """The bundled input of a name, or None."""
        raise NotImplementedError

    def keeps_files(self, model: NamedEncoder) -> bool:
        """Whether the session keeps a visitor's own inputs for this model; else their names hold them."""
        return True

    def is_of_this_model(self, model: NamedEncoder, name: str) -> bool:
        """Whether a name that is not here belongs to the model, and not to the one before."""
        return True

    def read(self, model: NamedEncoder, content: bytes, file: str, called: str) -> str:
        """The name of a file's input, which is kept. Raises EncoderError for a broken file."""
        raise NotImplementedError

    def choose_way(self, model: NamedEncoder) -> str:
        """The widget of the ways: "example", "file", and others that `take_otherwise` draws."""
        raise NotImplementedError

    def endings(self) -> list[str]:
        """Of the files' names."""
        raise NotImplementedError

    def take_otherwise(self, model: NamedEncoder, way: str) -> None:
        """The widget of another way."""
        raise NotImplementedError

    # --- what a name means ----------------------------------------------------------------------------------------

    def kept(self) -> dict[str, tuple[str, Any]]:
        """Name -> title and content of what this session keeps."""
        return st.session_state.get(f"_{self.kind}s", {})

    def keep(self, name: str, title: str, content: Any) -> str:
        """Keep an input in the session and return its name."""
        content = self._contents.setdefault(name, content)
        kept = {**self.kept(), name: (title, content)}
        st.session_state[f"_{self.kind}s"] = dict(list(kept.items())[-MOST_KEPT:])
        return name

    def current(self, model: NamedEncoder) -> str:
        """The name of the chosen input; an example where a link names one that is not here, or of another model."""
        name, first = state.newest(self.chosen), self.first(model)
        if not name:
            return first
        try:
            self.find(model, name)
        except EncoderError:
            if self.is_of_this_model(model, name):
                state.note(
                    f"The {self.kind} of this link is not here: a link holds no file. Shown: {self.title(first)}."
                )
            return first
        return name

    def find(self, model: NamedEncoder, name: str) -> Any:
        if name.startswith(self.own) and name not in self.kept():
            raise self._missing()
        return self.given(model, name)

    def given(self, model: NamedEncoder, name: str) -> Any:
        return self.whole(model, name)

    def whole(self, model: NamedEncoder, name: str) -> Any:
        """The whole input of a name, of which the model may take a part. Raises EncoderError where there is none."""
        found = self.bundled(model, name)
        found = self._contents.get(name) if found is None else found
        if found is None:
            raise self._missing()
        return found

    def _missing(self) -> EncoderError:
        return EncoderError(f"This {self.kind} is not here: choose an example, or open a file.")

    def title(self, name: str) -> str:
        return self.kept().get(name, (f"Your {self.kind}", None))[0]

    def names(self, model: NamedEncoder) -> dict[str, str]:
        own = self.kept() if self.keeps_files(model) else ()
        return {**self.examples(model), **{name: self.title(name) for name in own}}

    # --- the controls ---------------------------------------------------------------------------------------------

    def controls(self, model: NamedEncoder) -> None:
        """The controls of this input."""
        with st.container(horizontal=True, gap="xsmall"):
            way = self.choose_way(model)
            if way == "example":
                self._choose_example(model)
        if way == "example":
            return
        if way == "file":
            self.take_files(model)
        else:
            self.take_otherwise(model, way)

    def take_files(self, model: NamedEncoder) -> None:
        """The widget of a visitor's own file."""
        given = st.file_uploader(
            f"{self.kind.capitalize()} file",
            type=self.endings(),
            key=f"{self.kind}-file",
            label_visibility="collapsed",
            max_upload_size=self.most_bytes // 1_000_000,
        )
        self.take(model, given)

    def _choose_example(self, model: NamedEncoder) -> None:
        name = self.current(model)
        known = {**({} if name in self.examples(model) else {name: self.title(name)}), **self.examples(model)}
        key = f"{self.kind}-example:{name}"
        st.selectbox(
            "Example",
            list(known),
            index=list(known).index(name),
            key=key,
            format_func=known.get,
            label_visibility="collapsed",
            on_change=lambda: self.choose(st.session_state[key]),
        )

    def choose(self, name: str) -> None:
        """Show another input on every page. For callbacks, and before the input is read in a run."""
        state.put(self.chosen, name)

    def take(self, model: NamedEncoder, given: Any, called: str = "") -> None:
        """Take a file, a photo or a recording once; a broken one is a sentence, in each run while it is there."""
        if given is None:
            return
        seen, key = (given.file_id, self.keeps_files(model)), f"_{self.kind}_file"
        with errors_said():
            if st.session_state.get(key) != seen:
                name = self.read(model, given.getvalue(), given.name, called or plain(given.name))
                st.session_state[key] = seen
                self.choose(name)
