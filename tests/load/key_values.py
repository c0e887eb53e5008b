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
        "is_causal": [False, True],
        "add_cross_attention": [True],
        "pruned_heads": [{"0": [1]}],
        "sentence_transformers": [
            {"activation_fn": "torch.nn.modules.linear.Identity"}, {"activation_fn": "torch.nn.Sigmoid"},
            {"activation_fn": "torch.nn.modules.activation.Tanh"}, {"activation_fn": "code.Identity"}, {},
        ],
        "sbert_ce_default_activation_function": ["torch.nn.modules.linear.Identity", "code.Tanh", None],
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
        "cls_token_box": [[1, 2, 3, 4]],
        "sep_token_box": [[1000, 1000, 1000, 1000]],
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
        "query_length": [5, None, 0],
        "document_length": [6, None],
        "query_expansion": [
            {"strategy": "fixed", "length": 8}, {"strategy": "fixed", "length": 8, "attend": True}, None,
            {"strategy": "append", "length": 2}, {"strategy": "fixed", "length": 7, "token": "the"},
            {"strategy": "other", "length": 7}, {"length": 7}, {},
        ],
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
        "max_active_dims": [3, None, 0],
        "model_type": ["ColBERT", "SentenceTransformer", "MultiVectorEncoder", REMOVED],
        "query_prefix": ["the ", "", None, REMOVED],
        "document_prefix": ["[Q] ", "cat", None, REMOVED],
        "do_query_expansion": [False, True, None],
        "attend_to_expansion_tokens": [True, False],
        "attend_to_mask_tokens": [True],
        "skiplist_words": [[",", "the"], [], None],
    },
    "2_Dense/config.json": {
        "in_features": [32, 7, REMOVED],
        "out_features": [32, 9, REMOVED],
        "bias": [False, True, REMOVED],
        "activation_function": [
            "torch.nn.modules.linear.Identity", "torch.nn.ReLU", "torch.nn.modules.activation.GELU",
            "torch.nn.modules.activation.Tanh", "torch.nn.modules.activation.LeakyReLU", "torch.nn.functional.relu",
            "code.ReLU", "code.Swish", REMOVED, None, 3,
        ],
        "module_input_name": ["token_embeddings", "sentence_embedding", None, REMOVED],
        "module_output_name": ["token_embeddings", "other", "sentence_embedding", None, REMOVED],
        "use_residual": [True, False],
        "init_weight": [1.0],
    },
    "3_LayerNorm/config.json": {"dimension": [7, "32", REMOVED]},
    "4_Normalize/config.json": {
        "module_input_name": ["token_embeddings", "sentence_embedding", "other", REMOVED],
        "module_output_name": ["other", "sentence_embedding", None, REMOVED],
    },
    "1_WeightedLayerPooling/config.json": {
        "layer_start": [0, 1, 2, -1, REMOVED],
        "num_hidden_layers": [1, 2, 3, 12, REMOVED],
        "embedding_dimension": [7],
    },
    "1_SpladePooling/config.json": {
        "pooling_strategy": ["sum", "max", "mean", None, REMOVED],
        "activation_function": ["relu", "log1p_relu", "gelu", None, REMOVED],
        "embedding_dimension": [7, None],
    },
    "2_SparseAutoEncoder/config.json": {
        "input_dim": [32, 7, REMOVED],
        "hidden_dim": [30, 31, REMOVED],
        "k": [1, 4, 30, 31, 0, REMOVED],
        "k_aux": [1],
        "normalize": [True, False, "yes", None],
        "dead_threshold": [1],
    },
    "3_MultiVectorMask/config.json": {
        "skiplist_words": [[",", "the"], [], None, ["nowhere"], ["nowhere", "[UNK]"], "the", [3], REMOVED],
        "skiplist_tasks": ["query", ["query", "document"], [], None, ["other"], 3, REMOVED],
        "keep_only_token_ids": [[5, 6, 7], [], None, 5, [10**9], REMOVED],
    },
    "4_HierarchicalTokenPooling/config.json": {
        "pool_factor": [1.0, 2, 3.5, 0.5, "2", None, REMOVED],
        "num_protected_tokens": [0, 1, 2, 30, None, REMOVED],
        "normalize_embeddings": [True, False, None, REMOVED],
        "tasks": ["query", ["query", "document"], [], None, ["other"], REMOVED],
    },
    "router_config.json": {
        "parameters": [
            {}, {"default_route": "query"}, {"default_route": "nowhere"}, {"allow_empty_key": False},
            {"route_mappings": {"('query', 'text')": "document"}}, {"route_mappings": {"(None, None)": "query"}},
            {"route_mappings": {"('document', None)": "query"}, "default_route": "document"}, REMOVED,
        ],
        "structure": [
            {"query": ["query_0_StaticEmbedding"]}, {"document": ["document_0_Transformer", "document_1_Pooling"]},
            {"query": ["document_0_Transformer", "document_1_Pooling"], "document": ["query_0_StaticEmbedding"]},
            {"text": ["query_0_StaticEmbedding"], "query": ["document_0_Transformer", "document_1_Pooling"]},
        ],
    },
    "artifact.metadata": {
        "query_token_id": ["[unused1]", "the", "nowhere", "", None, 3],
        "doc_token_id": ["[unused0]", "cat", None],
        "query_maxlen": [5, 20, None, 0, REMOVED],
        "doc_maxlen": [5, 200, None, REMOVED],
        "attend_to_mask_tokens": [True, False],
        "mask_punctuation": [True, False, None],
        "dim": [7],
        "similarity": ["l2"],
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
#: Keys of config_sentence_transformers.json that only late interaction has.
PYLATE = (
    "model_type", "query_prefix", "document_prefix", "do_query_expansion", "attend_to_expansion_tokens",
    "attend_to_mask_tokens", "skiplist_words",
)  # fmt: skip
OF_RERANKERS = ("sentence_transformers", "sbert_ce_default_activation_function")
PLAIN = ("plain", "sentence", "roberta")
#: File, or file and key -> the folders of `differential.write_originals` that it belongs to; the first is the one of
#: the tests of one key.
FOLDERS: dict[Any, tuple[str, ...]] = {
    "config.json": (*PLAIN, "steps", "reranker", "colbert"), "tokenizer_config.json": (*PLAIN, "reranker", "late"),
    "special_tokens_map.json": PLAIN[:2], "adapter_config.json": ("adapter",),
    "sentence_bert_config.json": ("sentence", "steps", "late", "splade", "colbert"),
    "modules.json": ("sentence", "steps", "late", "pylate"), "1_Pooling/config.json": ("sentence", "steps", "code"),
    "config_sentence_transformers.json": ("sentence", "steps", "splade", "code", "late", "pylate", "static", "router",
                                          "reranker"),
    "2_Dense/config.json": ("steps",), "3_LayerNorm/config.json": ("steps",), "4_Normalize/config.json": ("steps",),
    "1_WeightedLayerPooling/config.json": ("mix",), "1_SpladePooling/config.json": ("splade",),
    "2_SparseAutoEncoder/config.json": ("code",), "3_MultiVectorMask/config.json": ("late",),
    "4_HierarchicalTokenPooling/config.json": ("late",), "router_config.json": ("router",),
    "artifact.metadata": ("colbert",),
    **{("config_sentence_transformers.json", key): ("pylate", "late", "sentence") for key in PYLATE},
    ("config_sentence_transformers.json", "max_active_dims"): ("splade", "code", "sentence"),
    **{("config.json", key): ("reranker", "sentence") for key in OF_RERANKERS},
    **{
        ("sentence_bert_config.json", key): ("late", "colbert", "pylate", "sentence")
        for key in ("query_length", "document_length", "query_expansion")
    },
}  # fmt: skip


def folders_of(file: str, key: str) -> tuple[str, ...]:
    """The folders that a key belongs to."""
    return FOLDERS.get((file, key)) or FOLDERS[file]
