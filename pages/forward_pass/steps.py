"""The nine steps: `show(view, params)` draws the picture, the formula, the numbers and the check of a step."""

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
