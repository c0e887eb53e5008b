"""Tiny random checkpoints of models that write, and their decoders next to transformers: logits, maps, generation."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

import encoder
from tests.load import reference, sounds
from tests.load.every_family import BART, LED, LONGT5, ROBERTA, T5, TEXTS, Case, numbers_of

WRITES = {"decoder_layers": 2, "decoder_attention_heads": 4, "decoder_ffn_dim": 44, "max_position_embeddings": 211}
B = {**BART, **WRITES, "encoder_attention_heads": 6, "decoder_start_token_id": 2}
FIRST_IS_PAD = {**B, "pad_token_id": 0, "eos_token_id": 3, "decoder_start_token_id": 0, "forced_eos_token_id": 3}
T = {**T5, "num_decoder_layers": 2, "eos_token_id": 3, "decoder_start_token_id": 0}
GATED = {**T, "feed_forward_proj": "gated-gelu"}
W = {
    **sounds.FAMILIES["whisper"][1], "encoder_layers": 2, "decoder_layers": 2, "decoder_attention_heads": 4,
    "max_target_positions": 60, "eos_token_id": 3, "suppress_tokens": None, "begin_suppress_tokens": None,
}  # fmt: skip
#: T5's queries, which have no scale.
SHARP = r"Attention\.q\."
OF, LM = "ForConditionalGeneration", "ForCausalLM"
#: Those that read the vectors of an encoder.
SEQ2SEQ = {
    "t5": Case("T5", "T5", T, f"T5{OF}", softer=SHARP),
    "t5, gated": Case("T5 v1.1", "T5", {**GATED, "tie_word_embeddings": False}, f"T5{OF}", softer=SHARP),
    "mt5": Case("mT5", "MT5", GATED, f"MT5{OF}", softer=SHARP),
    "umt5": Case("UMT5", "UMT5", GATED, f"UMT5{OF}", softer=SHARP),
    "bart": Case("BART", "Bart", {**B, "forced_bos_token_id": 0}, f"Bart{OF}", special=ROBERTA),
    "mbart": Case("mBART", "MBart", {**B, "scale_embedding": True}, f"MBart{OF}", special=ROBERTA),
    "pegasus": Case("Pegasus", "Pegasus", FIRST_IS_PAD, f"Pegasus{OF}"),
    "marian": Case("Marian", "Marian", {**FIRST_IS_PAD, "scale_embedding": True}, "MarianMTModel", softer="shared",
                   kept="embed_positions"),
    "m2m100": Case("M2M100, NLLB", "M2M100", B, f"M2M100{OF}", special=ROBERTA),
    "led": Case("LED", "LED", {**B, **LED}, f"LED{OF}", special=ROBERTA),
    "bigbird_pegasus": Case("BigBird-Pegasus", "BigBirdPegasus", {**FIRST_IS_PAD, "use_bias": True},
                            f"BigBirdPegasus{OF}"),
    "longt5": Case("LongT5, local", "LongT5", {**T, **LONGT5}, f"LongT5{OF}", softer=SHARP),
    "whisper": Case("Whisper", "Whisper", W, f"Whisper{OF}"),
}  # fmt: skip
#: Those that continue a text.
ALONE = {
    name: Case(title, kind, {**TEXTS[base].fields, **more}, model, gains_from_one=TEXTS[base].gains_from_one)
    for name, model, more in (
        ("gpt2", "GPT2LMHeadModel", {"eos_token_id": 3, "bos_token_id": 2}),
        ("llama", f"Llama{LM}", {}),
        ("llama, untied", f"Llama{LM}", {"tie_word_embeddings": False}),
        ("gemma2", f"Gemma2{LM}", {}),
        ("gpt_neox", f"GPTNeoX{LM}", {}),
        ("nanochat", f"NanoChat{LM}", {"tie_word_embeddings": False}),
        ("opt", f"OPT{LM}", {}),
        ("phi", f"Phi{LM}", {}),
        ("bloom", f"Bloom{LM}", {}),
        ("qwen2", f"Qwen2{LM}", {}),
        ("phi3", f"Phi3{LM}", {}),
        ("gptj", f"GPTJ{LM}", {}),
        ("gpt_neo", f"GPTNeo{LM}", {}),
        ("mpt", f"Mpt{LM}", {}),
        ("granite", f"Granite{LM}", {}),
    )
    for base in [name.split(",")[0]]
    for title, kind in [(TEXTS[base].title, TEXTS[base].kind)]
}
CASES = SEQ2SEQ | ALONE
SOUND_SECONDS = 0.4


@dataclass(frozen=True)
class Pair:
    """Ours and the reference on the same weights."""

    case: Case
    ours: Any
    theirs: Any

    def text(self, seed: int, length: int = 9) -> Any:
        """An input: a text, or a sound."""
        if self.case.kind == "Whisper":
            return sounds.tone(SOUND_SECONDS, seed=seed)
        return reference.sentence(length, seed)

    def given(self, text: Any) -> dict[str, Tensor]:
        """The same for the reference."""
        if self.case.kind == "Whisper":
            return {"input_features": self.ours.prepare(text)[None].to(self.ours.encoder.dtype)}
        return {"input_ids": torch.tensor([self.ours.tokenize(text).ids])}


def made(case: Case, seed: int = 0) -> nn.Module:
    """The reference with random weights, the words' biases too."""
    model = case.make(seed)
    if hasattr(model, "final_logits_bias"):
        model.final_logits_bias.copy_((torch.randn(model.final_logits_bias.shape) * 256).round() / 256)
    return model


@contextmanager
def pair(case: Case, dtype: torch.dtype = torch.float32, settings: dict[str, Any] | None = None) -> Iterator[Pair]:
    """A checkpoint on both sides, in this number type. settings: of generation_config.json."""
    theirs = made(case)
    for name, value in (settings or {}).items():
        setattr(theirs.generation_config, name, value)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "model"
        theirs.save_pretrained(folder)
        reference.write_tokenizer(folder, "roberta" if case.special == ROBERTA else "bert")
        ours: Any = encoder.load(folder, device="cpu")
    if dtype == torch.float32:
        yield Pair(case, ours, theirs)
        return
    with numbers_of(dtype):
        rebuilt = case.build().to(dtype)
        rebuilt.load_state_dict(dict(theirs.named_parameters()), strict=False)
        if hasattr(theirs, "final_logits_bias"):
            rebuilt.final_logits_bias.copy_(theirs.final_logits_bias)
        rebuilt.generation_config = theirs.generation_config
        for module in (ours.encoder, *ours.heads.values()):
            module.to(dtype)
        yield Pair(case, ours, rebuilt)


def differences(case: Case, dtype: torch.dtype) -> list[float]:
    """The largest differences in this number type, as `differences_of` gives them."""
    with pair(case, dtype) as both:
        return differences_of(both)


def differences_of(both: Pair) -> list[float]:
    """The largest differences of logits (as a share of the largest, where that is above 1), of the decoder's own maps
    and, where there is one, of its cross-attention, over a short target and a long one."""
    worst: list[float] = []
    with torch.no_grad():
        for length in (3, 40):
            text, target = both.text(length, length), reference.sentence(length, length + 1)
            if both.ours.decoder.reads:
                trace = both.ours.trace(text, target=target).decoder
                more = {**both.given(text), "decoder_input_ids": torch.tensor([trace.ids])}
            else:
                trace = both.ours.trace(text)
                more = both.given(text)
            found = both.theirs(**more, output_attentions=True)
            logits = both.ours.decoder.logits(trace.output)
            own = "decoder_attentions" if both.ours.decoder.reads else "attentions"
            pairs = [(trace.layer_attention, found[own])]
            if both.ours.decoder.reads:
                pairs.append((trace.layer_cross_attention, found.cross_attentions))
            far = [float((logits - found.logits[0]).abs().max()) / max(1.0, float(found.logits.abs().max()))]
            far += [max(float((ours(n) - one[0]).abs().max()) for n, one in enumerate(all_)) for ours, all_ in pairs]
            worst = [max(several) for several in zip(worst or far, far, strict=True)]
    return worst


def generated(both: Pair, text: Any, n_tokens: int, beams: int, **more: Any) -> tuple[list[int], list[int]]:
    """The ids of an output, ours and the reference's, its prompt left out on both sides."""
    ours = both.ours.generate(text, n_tokens, beams=beams)
    options = {"max_new_tokens": n_tokens, "num_beams": beams, "do_sample": False, **more}
    given = both.given(text)
    if "input_ids" in given:
        options["attention_mask"] = torch.ones_like(given["input_ids"])
    with torch.no_grad():
        found = both.theirs.generate(**given, **options)[0].tolist()
    if both.case.kind == "Whisper":  # it gives the output without prompt, end, and padding, which the model may write
        written = [one for one in ours.ids if one not in both.ours.decoder.settings.end]
        while written and written[-1] == both.theirs.generation_config.pad_token_id:
            written.pop()
        return written, found
    start = len(ours.prompt)
    return list(ours.ids), found[start:]
