"""What a researcher writes on a day: every line has a type that the package states."""

from pathlib import Path

import encoder
from encoder import (
    EncoderError,
    TextEncoder,
    Trace,
    causal,
    classify,
    corpus,
    edits,
    export,
    measure,
    probe,
    search,
    similarity,
)


def opened(name: str) -> TextEncoder:
    model = encoder.load(name)
    if not isinstance(model, TextEncoder):
        raise EncoderError(f"{name} takes no text.")
    return model


def heads(model: TextEncoder, text: str) -> tuple[float, int]:
    trace: Trace = model.trace(text, edits=[edits.AblateHead(0, 1)])
    entropy = measure.heads(trace)["entropy"]
    last = measure.rollout(trace, trace.config.n_layers - 1)
    attention = trace.attention(0, 2)
    return float(entropy.mean()) + float(attention.sum()) + float(last.sum()), trace.n_tokens


def causes(model: TextEncoder, text: str, other: str) -> list[float]:
    outcome = causal.Similarity(other)
    effects = causal.ablate_each_head(model, text, outcome)
    patched = causal.patch(model, text, other, where="attention_out")
    return [float(effects.min()), float(patched.abs().max())]


def meaning(model: TextEncoder, texts: list[str]) -> str:
    collection = search.embed(model, texts)
    place, cosine = search.nearest(collection, model, "an animal", k=1)[0]
    found = similarity.attribute(model, texts[0], texts[1], layer=model.config.n_layers)
    return f"{texts[place]} {cosine:.3f} {found.cosine:.3f} {found.matrix.shape}"


def classes(model: TextEncoder, text: str) -> dict[str, float]:
    prediction = classify.predict(model, model.trace(text))
    return dict(zip(prediction.labels, prediction.probabilities, strict=True))


def probes(model: TextEncoder) -> list[float]:
    task = probe.bundled("pos")
    curve = probe.accuracy_by_layer(probe.extract(model, task), task, "mean")
    return [score.accuracy for score in curve.scores]


def dates(name: str, text: str) -> str:
    found = opened(name).generate(text, beams=2)
    cross = found.trace.decoder
    assert cross is not None
    probabilities: list[float] = [step.log_probability for step in found.steps]
    return f"{found.text} {found.log_probability == sum(probabilities)} {cross.n_tokens}"


def files(model: TextEncoder, text: str, folder: Path) -> int:
    view = export.map(model.trace(text), 0, 2, options=export.Options(special="zero"))
    view.frame().to_csv(folder / "head.csv", index=False)
    export.save_html(view, folder / "head.html")
    atlas = corpus.build(model, [text, "A dog ran."], folder / "atlas")
    return atlas.n_texts


def main() -> None:
    model = opened("twin-pre")
    texts = ["The cat sat on the mat.", "A kitten rested on a rug."]
    print(heads(model, texts[0]), causes(model, "The cat sat.", "The dog sat."), meaning(model, texts))
    print(dates("dates-pre", "21/3/98"))
    print(files(model, texts[0], Path.cwd()))


if __name__ == "__main__":
    main()
