"""Tiny random checkpoints of CLIP and SigLIP, written by transformers, with tokenizers and texts for them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tests.load.reference import IMAGES, SIZES, randomised

#: Sizes of the towers differ, so that one tower's weight in the other shows.
TEXT = {**SIZES, "vocab_size": 99, "max_position_embeddings": 21, "num_hidden_layers": 2}
IMAGE = {**IMAGES, "hidden_size": 24, "num_attention_heads": 3, "intermediate_size": 30, "num_hidden_layers": 3}
ENDS = {"eos_token_id": 98, "bos_token_id": 97}
#: Name -> (transformers' name, fields of the text tower, of the image tower, of both).
FAMILIES: dict[str, tuple[str, dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "clip": ("CLIP", {"eos_token_id": 98, "bos_token_id": 97}, {}, {"projection_dim": 17}),
    "clip-gelu": ("CLIP", {"eos_token_id": 2, "hidden_act": "gelu"}, {"hidden_act": "gelu"}, {"projection_dim": 17}),
    "chinese-clip": ("ChineseCLIP", {}, {}, {"projection_dim": 17}),
    "metaclip2": ("MetaClip2", {"eos_token_id": 98, "bos_token_id": 97}, {}, {"projection_dim": 17}),
    "owlvit": ("OwlViT", ENDS, {}, {"projection_dim": 17}),
    "owlv2": ("Owlv2", ENDS, {}, {"projection_dim": 17}),
    "aimv2": ("Aimv2", {"eos_token_id": 98}, {}, {"projection_dim": 17, "max_logit_scale": 5.0}),
    "aimv2-native": (
        "Aimv2",
        {"eos_token_id": 98, "qkv_bias": True},
        {"is_native": True, "qkv_bias": True, "mlp_bias": True},
        {"projection_dim": 17},
    ),
    "siglip": ("Siglip", {"projection_size": 24}, {}, {}),
    "siglip2": ("Siglip2", {"projection_size": 24}, {"num_patches": 36}, {}),
}
TEXTS = ["w17 w5 w80", "w6", "w33 w34 w35 w36 w37 w38 w39 w40 w41 w42 w43", "w70 w71"]


def config_of(family: str) -> Any:
    """transformers' config of a family."""
    import transformers

    name, text, image, both = FAMILIES[family]
    text, image = {**TEXT, **text}, {**IMAGE, **image}
    if not name.startswith("Siglip"):
        text, image = ({**one, "projection_dim": both["projection_dim"]} for one in (text, image))
    return getattr(transformers, f"{name}Config")(text_config=text, vision_config=image, **both)


def model_of(family: str, head: str = "Model", seed: int = 0, **more: Any) -> nn.Module:
    """A reference model: both towers, or one of them ("TextModel"). All weights random, eager attention, eval mode."""
    import transformers

    config = config_of(family)
    if head.startswith("Text"):
        config = config.text_config
    elif head.startswith("Vision"):
        config = config.vision_config
    for key, value in more.items():
        setattr(config, key, value)
    kind = getattr(transformers, f"{FAMILIES[family][0]}{head}")
    config._attn_implementation = "eager"
    made = randomised(kind._from_config(config, attn_implementation="eager"), seed)
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if name.startswith("logit_"):
                parameter.fill_(1.7 if name == "logit_scale" else -2.1)
    for module in made.modules():
        if type(module).__name__ == "Siglip2VisionModel":
            module.register_forward_pre_hook(in_patches, with_kwargs=True)
    return made


def in_patches(tower: Any, given: Any, fields: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Square images [B, C, S, S] as SigLIP 2 takes them: the pixels of each patch, channels last."""
    size = tower.config.patch_size
    pixels = given[0] if given else fields["pixel_values"]
    side = pixels.shape[-1] // size
    patches = pixels.unflatten(-1, (side, size)).unflatten(-3, (side, size)).permute(0, 2, 4, 3, 5, 1)
    patches = patches.flatten(1, 2).flatten(2)
    more = {
        "pixel_attention_mask": torch.ones(patches.shape[:2], dtype=torch.int32),
        "spatial_shapes": torch.tensor([[side, side]] * len(pixels)),
    }
    return (), {**fields, "pixel_values": patches, **more}


def write(model: nn.Module, folder: Path, family: str) -> Path:
    """save_pretrained, with a tokenizer whose words are their own ids ("w17" is 17), 97 and 98 around a text."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    model.save_pretrained(folder)
    words = ["<unk>", "</s>", *(f"w{index}" for index in range(2, 97)), "<|startoftext|>", "<|endoftext|>"]
    backend = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    special = [words[0], words[1], *words[97:]]
    backend.add_special_tokens(special)
    around = "$A </s>" if family.startswith("siglip") else "<|startoftext|> $A <|endoftext|>"
    backend.post_processor = processors.TemplateProcessing(
        single=around, special_tokens=[(word, words.index(word)) for word in special]
    )
    backend.save(str(folder / "tokenizer.json"))
    pad = "</s>" if family.startswith("siglip") else "<|endoftext|>"
    (folder / "special_tokens_map.json").write_text(json.dumps({"pad_token": pad}), encoding="utf-8")
    return folder


def ids_of(model: Any, texts: list[str]) -> dict[str, torch.Tensor]:
    """What the reference is given for texts: CLIP's are padded with their end. SigLIP's have one length and no mask, as
    from its processor: the padding takes part."""
    sentences = [model.tokenize(text) for text in texts]
    longest = max(len(one) for one in sentences)
    ids = torch.tensor([[*one.ids, *[model.tokenizer.pad_id] * (longest - len(one))] for one in sentences])
    if model.tokenizer.fill_to is not None:
        return {"input_ids": ids}
    mask = torch.tensor([[1] * len(one) + [0] * (longest - len(one)) for one in sentences])
    return {"input_ids": ids, "attention_mask": mask}
