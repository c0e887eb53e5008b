"""The nine steps as parts of a page: `show(view)` each, with the step's picture, formula, numbers and check."""

from pages.forward_pass import embedding, ffn, norm, output, projection, scores, softmax, text, weighted_sum

SHOW = {
    "ids": text.show,
    "embedding": embedding.show,
    "qkv": projection.show,
    "scores": scores.show,
    "softmax": softmax.show,
    "mixing": weighted_sum.show,
    "norm": norm.show,
    "ffn": ffn.show,
    "output": output.show,
}
