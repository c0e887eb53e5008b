"""Values of each key of encoder/checkpoints/keys.toml that the tests and the fuzzer try, by file."""

from __future__ import annotations

from typing import Any

from tests.load.differential import REMOVED

MODULES = "sentence_transformers.models."
TEXT = {"method": "forward", "method_output_name": "last_hidden_state"}
VALUES: dict[str, dict[str, list[Any]]] = {
    "config.json": {
        "model_type": ["roberta", "distilbert", "electra", "gptj", REMOVED],
        "tokenizer_class": ["DistilBertTokenizer", "BertTokenizerFast", "PreTrainedTokenizerFast", "OfNobody", None],
        "pad_token_id": [-1, None, 3, 0, REMOVED],
        "vocab_size": [10, 50, REMOVED],
        "hidden_act": ["relu", "gelu_new", "silu", "mish", REMOVED],
        "layer_norm_eps": [1e-5, 0.1, REMOVED],
        "num_hidden_layers": [1, 3],
        "type_vocab_size": [1, 2, REMOVED],
        "position_embedding_type": ["relative_key", "rope", "absolute", None],
        "hidden_dropout_prob": [0.5, REMOVED],
        "classifier_dropout": [0.5, None],
        "initializer_range": [1.0, REMOVED],
        "use_cache": [False, True],
        "output_hidden_states": [True],
        "transformers_version": ["2.0", REMOVED],
        "auto_map": [{"AutoModel": "code.Model"}],
        "is_decoder": [True],
        "add_cross_attention": [True],
        "pruned_heads": [{"0": [1]}],
        "quantization_config": [{"quant_method": "bitsandbytes", "load_in_8bit": True}],
        "dtype": ["float32", "bfloat16", "float16", REMOVED],
    },
    "tokenizer_config.json": {
        "tokenizer_class": [
            "DistilBertTokenizer", "PreTrainedTokenizerFast", "ElectraTokenizer", "MPNetTokenizer", "RobertaTokenizer",
            "GPT2Tokenizer", "DebertaTokenizer", "OfNobody", REMOVED, None,
        ],
        "added_tokens_decoder": [
            {"5": {"content": "the", "special": True}}, {"6": {"content": "cat", "normalized": False}}, {}, 3,
        ],
        "do_lower_case": [False, True, "no", REMOVED],
        "strip_accents": [False, True, None],
        "tokenize_chinese_chars": [False, True],
        "cls_token": ["[SEP]", "the", "<new>", None, REMOVED],
        "sep_token": ["[CLS]", "<new>", None, REMOVED],
        "unk_token": ["[PAD]", "cat", REMOVED],
        "pad_token": ["[UNK]", REMOVED],
        "mask_token": ["the", "<mask>", {"content": "[MASK]", "lstrip": True}, REMOVED],
        "bos_token": ["[CLS]", "<first>"],
        "extra_special_tokens": [["cat"], ["<new>"], {"image_token": "<image>"}, []],
        "additional_special_tokens": [["sat"], []],
        "image_token": ["on", "<image>"],
        "model_input_names": [["input_ids", "attention_mask"], ["input_ids", "token_type_ids", "attention_mask"]],
        "model_max_length": [6, 10**30, None],
        "max_len": [6],
        "truncation_side": ["left", "right", "top"],
        "split_special_tokens": [True, False],
        "add_bos_token": [True],
        "add_eos_token": [True],
        "padding_side": ["left"],
        "clean_up_tokenization_spaces": [True, False],
        "do_basic_tokenize": [False, True],
        "never_split": [["cat"], None],
        "name_or_path": ["org/other"],
        "processor_class": ["AutoProcessor"],
        "chat_template": ["{{ messages }}"],
        "backend": ["tokenizers"],
        "add_prefix_space": [True, False],
        "trim_offsets": [True, False],
    },
    "special_tokens_map.json": {
        "sep_token": ["[MASK]", {"content": "[MASK]", "lstrip": True}],
        "mask_token": ["the", "<new>"],
        "additional_special_tokens": [["sat"]],
    },
    "sentence_bert_config.json": {
        "max_seq_length": [6, 5, None, REMOVED],
        "do_lower_case": [True, False],
        "config_kwargs": [{"num_hidden_layers": 1}, {"hidden_act": "relu"}, {}],
        "config_args": [{"num_hidden_layers": 1}],
        "processor_kwargs": [
            {"model_max_length": 6}, {"do_lower_case": False}, {"truncation_side": "left", "model_max_length": 5}, {},
        ],
        "tokenizer_args": [{"model_max_length": 7}, {"strip_accents": False}],
        "model_kwargs": [{"dtype": "float32"}, {"dtype": "float16"}, {"attn_implementation": "eager"}, {"x": 1}],
        "model_args": [{"torch_dtype": "bfloat16"}],
        "processing_kwargs": [
            {"text": {"max_length": 6, "truncation": True}}, {"text": {"add_special_tokens": False}},
            {"text": {"truncation": False}}, {"text": {"padding": "max_length", "max_length": 20}},
            {"common": {"return_tensors": "pt"}}, {"text": {"split_special_tokens": True}}, {"image": {"x": 1}},
        ],
        "modality_config": [
            {"text": TEXT}, {"text": {"method": "forward", "method_output_name": ["hidden_states", 1]}},
            {"text": {"method": "forward", "method_output_name": ["hidden_states", -1]}},
            {"text": {"method": "forward", "method_output_name": ["hidden_states", 0]}},
            {"text": TEXT, "message": {**TEXT, "format": "flat"}},
        ],
        "transformer_task": ["feature-extraction", "fill-mask", "text-generation"],
        "tokenizer_name_or_path": ["elsewhere"],
        "unpad_inputs": [True, False, None],
        "query_length": [5],
    },
    "modules.json": {
        "type": [
            "custom.Transformer", f"{MODULES}Transformer", ("custom_st.Pooling",), (f"{MODULES}WordEmbeddings",),
            "sentence_transformers.base.modules.transformer.Transformer",
        ],
        "name": ["first"],
        "idx": [7],
    },
    "1_Pooling/config.json": {
        "pooling_mode": ["cls", "max", ["max", "mean"], "lasttoken", "weightedmean", "mean_sqrt_len_tokens", "odd"],
        "pooling_mode_max_tokens": [True, False],
        "pooling_mode_cls_token": [True],
        "pooling_mode_mean_tokens": [False, REMOVED],
        "pooling_mode_lasttoken": [True],
        "include_prompt": [False, True, None],
        "word_embedding_dimension": [32, 7],
    },
    "config_sentence_transformers.json": {
        "prompts": [{"query": "Hello ", "document": ""}],
        "default_prompt_name": [None],
        "truncate_dim": [8, None],
        "similarity_fn_name": ["dot", "cosine", None],
        "__version__": [{"sentence_transformers": "2.0.0"}],
    },
    "adapter_config.json": {
        "peft_type": ["LORA", "IA3", "VERA"],
        "lora_alpha": [4, 16],
        "use_rslora": [True, False],
        "alpha_pattern": [{"query": 4}],
        "base_model_name_or_path": ["org/base", None],
        "target_modules": [["value"], "all-linear"],
    },
}  # fmt: skip
#: File -> the folders of `differential.write_originals` that it belongs to.
FOLDERS = {
    "config.json": ("plain", "sentence", "roberta"), "tokenizer_config.json": ("plain", "sentence", "roberta"),
    "special_tokens_map.json": ("plain", "sentence"), "adapter_config.json": ("adapter",),
}  # fmt: skip
