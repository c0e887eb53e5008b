"""The faults that a diagnosis runs, with the programs in which they were seen: a page of `make docs`."""

from encoder.diagnose import FAULTS

#: Fault -> addresses of threads in which people met it, below https://github.com/.
SEEN = {
    "accents": ("ollama/ollama/issues/15609", "ggml-org/llama.cpp/issues/5496"),
    "attended-padding": ("jkrukowski/swift-embeddings/pull/20", "lean-dojo/ReProver/issues/34"),
    "bidirectional": ("huggingface/text-embeddings-inference/issues/642",),
    "causal": ("vllm-project/vllm/pull/14609", "huggingface/sentence-transformers/issues/3513"),
    "causal-lost-with-padding": ("huggingface/candle/issues/3567",),
    "dense-missing": ("vllm-project/vllm/issues/39579", "ggml-org/llama.cpp/pull/16367", "plur-ai/plur/issues/270"),
    "eos-missing": ("ggml-org/llama.cpp/issues/14252", "embeddings-benchmark/mteb/pull/5237"),
    "fixed-padding": ("spiceai/spiceai/issues/13415",),
    "image-crop": ("epheterson/immich-apple-silicon/pull/122",),
    "image-resize": ("jina-ai/clip-as-service/issues/904", "vllm-project/semantic-router/issues/2166"),
    "image-scaled-first": ("allenai/mmc4/issues/12",),
    "last-token-place": ("xiezijun714-lang/Echo/pull/24", "opensearch-project/ml-commons/pull/4744"),
    "lower-case": ("xyzhang626/embeddings.cpp/issues/1",),
    "matryoshka-order": ("huggingface/text-embeddings-inference/pull/676", "ai-dynamo/dynamo/pull/10248"),
    "normalise-missing": ("ollama/ollama/issues/11375", "ollama/ollama-js/issues/228"),
    "other-revision": ("embeddings-benchmark/mteb/pull/5377",),
    "padding-side": ("huggingface/text-embeddings-inference/pull/646",),
    "pooled-padding": ("huggingface/sentence-transformers/issues/2569",),
    "pooling": ("vllm-project/vllm/issues/45995", "elixir-nx/bumblebee/issues/384", "kh0pper/crow/pull/355"),
    "position-offset": ("huggingface/sentence-transformers/pull/3879", "sbryngelson/ANEForge/pull/257"),
    "precision": ("huggingface/transformers.js/issues/296", "jundot/omlx/pull/3640"),
    "prompt-missing": ("basicmachines-co/basic-memory/issues/1284", "jeanibarz/knowledge-base-mcp-server/issues/567"),
    "prompt-other": ("philippgille/chromem-go/pull/49",),
    "rotary-scaling": ("vllm-project/vllm/issues/41236",),
    "template": ("jundot/omlx/issues/1817",),
    "truncation": ("martin-conur/quackformers/issues/34", "weaviate/t2v-transformers-models/issues/122"),
    "window": ("npatsakula/svod/pull/122",),
    "word-markers": ("huggingface/sentence-transformers/pull/3911",),
}


def text() -> str:
    """Every fault of the registry as a row of a Markdown table."""
    lines = [
        "# Faults",
        "",
        f"{len(FAULTS)} faults. `encoderscope diagnose` runs each of them, with the values that fit the model.",
        "",
        "| fault | stage | what happens | remedy | seen in |",
        "|---|---|---|---|---|",
    ]
    for kind in FAULTS.values():
        what = " ".join((kind.__doc__ or "").split())
        seen = ", ".join(f"[{place.split('/')[1]} {place.split('/')[-1]}](https://github.com/{place})"
                         for place in SEEN.get(kind.name, ()))  # fmt: skip
        remedy = kind.remedy.replace("|", "\\|")
        lines.append(f"| `{kind.name}` | {kind.stage} | {what} | {remedy} | {seen or '-'} |")
    return "\n".join(lines)
