"""Names of the classes of tokenizers in transformers 5: of each family, and of those that are not built here."""

#: The class of a tokenizer -> the model_types whose class it is where no file names one.
_CLASSES = {
    "AlbertTokenizer": "albert",
    "BertTokenizer": "bert bros chinese_clip distilbert electra ernie layoutlm megatron-bert nomic_bert squeezebert",
    "BigBirdTokenizer": "big_bird",
    "CLIPTokenizer": "aimv2 clip clip_text_model owlv2 owlvit",
    "CamembertTokenizer": "camembert",
    "DPRQuestionEncoderTokenizer": "dpr",
    "DebertaTokenizer": "deberta",
    "DebertaV2Tokenizer": "deberta-v2",
    "EsmTokenizer": "esm",
    "EsmcTokenizer": "esmc",
    "FlaubertTokenizer": "flaubert",
    "GPT2Tokenizer": "gpt2 gpt_neo gptj opt phi starcoder2",
    "GPTNeoXTokenizer": "gpt_neox mpt olmoe",
    "GemmaTokenizer": "gemma gemma2 gemma3_text t5gemma",
    "LEDTokenizer": "led",
    "LayoutLMv3Tokenizer": "layoutlmv3",
    "MBartTokenizer": "mbart",
    "MPNetTokenizer": "mpnet",
    "ParakeetTokenizer": "parakeet_ctc parakeet_rnnt parakeet_tdt",
    "PegasusTokenizer": "pegasus",
    "MarkupLMTokenizer": "markuplm",
    "Qwen2Tokenizer": "qwen2 qwen3 qwen3_moe",
    "RemBertTokenizer": "rembert",
    "RoFormerTokenizer": "roformer",
    "RobertaTokenizer": "bart data2vec-text lilt longformer roberta roberta-prelayernorm",
    "Siglip2Tokenizer": "siglip2",
    "SplinterTokenizer": "splinter",
    "T5Tokenizer": "mt5 t5",
    "TokenizersBackend": "bigbird_pegasus granite ministral mistral mixtral modernbert modernbert-decoder phi3 umt5 "
    "xlm-roberta-xl",
    "Wav2Vec2CTCTokenizer": "data2vec-audio hubert unispeech unispeech-sat wav2vec2 wav2vec2-bert wav2vec2-conformer",
    "WhisperTokenizer": "whisper",
    "XLMRobertaTokenizer": "gte jina_embeddings_v3 metaclip_2 xlm-roberta xmod",
    "XLMTokenizer": "xlm",
}
#: model_type -> its class, without "Fast". Other families take tokenizer.json as it is.
OF_MODELS = {model: name for name, models in _CLASSES.items() for model in models.split()}
#: model_types whose class comes before the one that tokenizer_config.json names.
FOLLOWS_MODEL = ("modernbert", "modernbert-decoder", "phi3", "qwen2", "siglip2")
#: Classes that make a tokenizer of their own, and are not built here.
OTHERS = frozenset(
    """
    BarthezTokenizer BartphoTokenizer BertweetTokenizer BioGptTokenizer BlenderbotSmallTokenizer
    BlenderbotTokenizer ByT5Tokenizer CTRLTokenizer CanineTokenizer ClvpTokenizer CodeLlamaTokenizer
    CohereTokenizer ConvBertTokenizer CpmAntTokenizer CpmTokenizer DPRReaderTokenizer DiaTokenizer
    EsmcTokenizer FNetTokenizer FSMTTokenizer FlaubertTokenizer FunnelTokenizer
    GPTNeoXJapaneseTokenizer HerbertTokenizer LasrTokenizer LayoutLMv2Tokenizer
    LayoutXLMTokenizer LukeTokenizer MBart50Tokenizer MBartTokenizer MarkupLMTokenizer MgpstrTokenizer
    MvpTokenizer MyT5Tokenizer NllbTokenizer NougatTokenizer OpenAIGPTTokenizer PLBartTokenizer
    ParakeetTokenizer PegasusTokenizer PerceiverTokenizer PhobertTokenizer ProphetNetTokenizer
    Qwen3_5Tokenizer RagTokenizer ReformerTokenizer RoCBertTokenizer RoFormerTokenizer SeamlessM4TTokenizer
    SplinterTokenizer TapasTokenizer UdopTokenizer VideoPrismTokenizer VitsTokenizer Wav2Vec2CTCTokenizer
    Wav2Vec2PhonemeCTCTokenizer WhisperTokenizer XGLMTokenizer XLMTokenizer XLNetTokenizer
    """.split()
)
