"""The last resort: what a visitor reads in the place of a page, or of a part of it, that failed."""

import logging

import streamlit as st


def say(error: Exception, page: str) -> None:
    """Draw the sentence of an error. page: the folder of the page. What nobody expected goes to the log."""
    # Not before the first paint: they load the engine.
    from encoder.errors import EncoderError, is_out_of_memory
    from pages.core.words.markdown import say_error

    if is_out_of_memory(error):
        from pages.core.stores import cache

        cache.forget_traces()
        sentence = (
            "The machine ran out of memory. Results of earlier sentences were deleted to free some. "
            "Use a shorter text or a smaller model, or choose another device or bfloat16 under Examples and settings."
        )
    elif isinstance(error, EncoderError):
        say_error(error)
        return
    else:
        logging.getLogger("encoderscope").exception("The page %s failed", page)
        sentence = "Something went wrong on this page. Your text is safe; try another page or model."
    st.error(sentence, icon=":material/error:")
