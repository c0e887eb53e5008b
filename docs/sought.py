"""Words of readers for which the search of the documents opens a heading first, where the heading has other words."""

#: (document, its heading) -> what readers type.
SOUGHT = {
    ("readme", "# Install and begin"): "install, begin",
    (
        "own-encoder",
        "# Your own sentence encoder in ten minutes",
    ): "own model, own encoder, my model, sentence transformer, check",
    ("differ", "# Why does my vector differ?"): (
        "vectors differ, why do my vectors differ, why do vectors differ, different vectors, wrong embeddings"
    ),
    ("command-line", "# From a shell"): "embed csv, csv file, batch",
    ("atlas", "# An atlas: all heads over a corpus"): "own corpus, heads by type, confidence interval",
    ("classroom", "## Before the lesson"): (
        "no internet, offline, projector slide, answer key, wifi, wi-fi, phone requirements, which browser, safari"
    ),
    ("classroom", "## Sixty phones, or an isolated network"): "many phones, wifi, isolated network",
    ("lessons", "## Material for a class"): "moodle, qti, learning platform",
    ("lessons", "## Your own lessons"): "change a question, new question, own lesson",
    ("citing", "# How to cite"): "citation, bibtex",
    ("python", "## A trace"): "8192, 8192 tokens, long text, long document",
    ("python", "## Your own measures, outcomes and edits"): "own measure, new measure",
    ("contributing", "## Where a change goes"): "add a measure, add a family, add a page, export format",
}


def with_words(document: str, text: str) -> str:
    """The text with entries of the index after its headings. Raises ValueError for a heading that is not there."""
    for (name, heading), words in SOUGHT.items():
        if name == document:
            before, found, after = text.partition(f"{heading}\n")
            if not found:
                raise ValueError(f"{name}: no heading {heading!r}: change docs/sought.py")
            index = ", ".join(f"!{one}" for one in words.split(", "))
            text = f"{before}{found}\n```{{index}} {index}\n```\n{after}"
    return text
