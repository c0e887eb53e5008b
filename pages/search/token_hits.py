"""What is found: the nearest tokens in their sentences, and what they share."""

from collections import Counter

import pandas as pd
import streamlit as st

from encoder.corpus import TokenHit
from pages.core.view import ViewParams, selection
from pages.core.words import number, plain, token_names
from pages.search.token_query import Query
from pages.state import links, state

#: Characters of a sentence before and after the token.
BEFORE, AFTER = 60, 40
#: Values of a label, and next tokens, that are named.
NAMED = 4


def answer(query: Query, hits: list[TokenHit]) -> None:
    """One line: how many of the hits are the same token, and the largest cosine."""
    name = token_names.bold(query.view.trace.labels, query.place)
    if not hits:
        st.info("No token of the corpus passes this filter: lower its weight.", icon=":material/filter_alt_off:")
        return
    same = sum(hit.token == query.token for hit in hits)
    said = "other words only" if query.others else f"the same token: {same} of {len(hits)}"
    st.markdown(f"{name}: largest cosine **{number(hits[0].cosine)}**; {said}.")


def sentences(query: Query, hits: list[TokenHit]) -> list[str]:
    """A line for each hit; a click opens its sentence in Heads. Returns the whole sentences."""
    texts = query.atlas.texts([hit.text for hit in hits])
    with st.container(gap=None, key="atlas-lines"):
        for rank, hit in enumerate(hits):
            st.button(
                f"**{number(hit.cosine, 2)}** {_marked(texts[hit.text], hit)}", key=f"token-hit:{rank}",
                type="tertiary", on_click=_open, args=(texts[hit.text], hit.position),
            )  # fmt: skip
    return [texts[hit.text] for hit in hits]


def _marked(text: str, hit: TokenHit) -> str:
    """The sentence with the token in bold; a long one is cut on both sides."""
    first, last = max(0, hit.start - BEFORE), min(len(text), hit.end + AFTER)
    # Whole words: from the blank after the first one to that before the last one, where there are such.
    first = first and max(first, text.find(" ", first, hit.start) + 1)
    last = last if last == len(text) else max(text.rfind(" ", hit.end, last), hit.end)
    before, after = ("… " if first else ""), (" …" if last < len(text) else "")
    inside = plain(text[hit.start : hit.end]) or "·"
    return f"{before}{plain(text[first : hit.start])}**{inside}**{plain(text[hit.end : last])}{after}"


def _open(text: str, position: int) -> None:
    """Let “Heads” open with a sentence and the token's row. For callbacks."""
    state.put_all({ViewParams.text: text, ViewParams.pair: ""})
    selection.select(position, None)
    links.open_later("heads")


def shared(query: Query, hits: list[TokenHit]) -> None:
    """What the hits have in common: the token, the next one, labels of their texts."""
    st.markdown("**What they share**")
    rows = [("Token", hit.token) for hit in hits]
    rows += [("Next token", hit.following or "(end)") for hit in hits]
    of_texts = query.atlas.rows([hit.text for hit in hits])
    rows += [
        (f"Label {name}", of_texts[hit.text].labels[place] or "(none)")
        for place, name in enumerate(query.atlas.labels)
        for hit in hits
    ]
    counts = Counter(rows)
    kept = [
        (what, value, count) for what in dict.fromkeys(one for one, _ in rows) for value, count in _most(counts, what)
    ]
    st.dataframe(
        pd.DataFrame(kept, columns=["What", "Value", "Of the hits"]), hide_index=True, width="stretch",
        height="content",
        column_config={"Of the hits": st.column_config.ProgressColumn(format="%d", min_value=0, max_value=len(hits))},
    )  # fmt: skip


def _most(counts: Counter[tuple[str, str]], what: str) -> list[tuple[str, int]]:
    """The values that two hits or more have in common."""
    some = Counter({value: count for (name, value), count in counts.items() if name == what and count > 1})
    return some.most_common(NAMED) or [("(all differ)", 0)]
