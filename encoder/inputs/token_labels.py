"""Token labels: what a person reads on an axis for an entry of the vocabulary."""

#: CLIP's mark at the end of a word.
END_OF_WORD = "</w>"
#: White space that is invisible on an axis -> the sign that replaces it.
VISIBLE = str.maketrans({" ": "␣", "\n": "⏎", "\r": "⏎", "\t": "⇥", "\u00a0": "␣", "\u3000": "␣"})


def display_label(token: str, covered: str, byte_level: bool = False) -> str:
    """The label of a token. covered: the characters of the text that the token covers, in whole or in part.

    Word pieces keep their "##"; byte-level and unigram tokens lose the mark of the space before them, and CLIP's tokens
    that of the word's end. A token that is a part of a character (an emoji has four bytes) shows the character and "…";
    white space becomes visible.
    """
    is_part = False
    if byte_level:
        if not covered.endswith(END_OF_WORD):
            token = token.removesuffix(END_OF_WORD) or token
        text = token_text(token)
        is_part = text is None
        token = covered if text is None else text
    elif "▁" in token:
        token = token.replace("▁", " ")
    label = token.strip() or token.translate(VISIBLE)
    return f"{label}…" if is_part else label


def byte_characters() -> dict[str, int]:
    """Character -> byte in byte-level vocabularies (Radford et al. 2019).

    Printable bytes are their own Latin-1 characters. The other bytes use the characters from 256 on, in order: a space
    is "Ġ" and a line break "Ċ".
    """
    printable = {*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)}
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + index): byte for index, byte in enumerate(others)}


BYTE_OF = byte_characters()


def token_text(token: str) -> str | None:
    """The text of a byte-level token; None where its bytes are not whole characters."""
    if any(character not in BYTE_OF for character in token):
        return token  # an added token is plain text
    try:
        return bytes(BYTE_OF[character] for character in token).decode("utf-8")
    except UnicodeDecodeError:
        return None
