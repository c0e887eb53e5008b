"""The classification head of a checkpoint, by its family's table. For a head with faults, a sentence says why."""

from typing import Any

from encoder.checkpoints.families import ClassifierNames, Family, Fields
from encoder.errors import ConfigError, LoadError, quoted
from encoder.model.classifier import Classifier, ClassifierConfig, Kind, Scale
from encoder.model.config import EncoderConfig
from encoder.model.encoder import unfilled

#: Ends of the names in config.json's "architectures" -> kind of the head.
KINDS: dict[str, Kind] = {"ForSequenceClassification": "sequence", "ForTokenClassification": "token",
                          "ForImageClassification": "sequence", "ForVideoClassification": "sequence",
                          "ForAudioClassification": "sequence"}  # fmt: skip
PROBLEMS = {
    None: "softmax",
    "single_label_classification": "softmax",
    "multi_label_classification": "sigmoid",
    "regression": "none",
}
#: torch's names of the activations of a cross-encoder's score -> ours.
SCORES: dict[str, Scale] = {"Identity": "none", "Sigmoid": "sigmoid"}
#: More classes than this are not classes.
MOST_LABELS = 100_000


def kind_of_head(weights: Any, family: Family, fields: Fields) -> Kind | None:
    """What config.json says; without a word there, what the weights are enough for. None: there is no such head."""
    named = fields.get("architectures")
    if isinstance(named, list) and named and all(isinstance(name, str) for name in named):
        return next((kind for end, kind in KINDS.items() if named[0].endswith(end)), None)
    for kind in ("sequence", "token"):
        names = family.classifiers.get(kind)
        if names is not None and all(f"{module}.weight" in weights for module in names.modules(weights.prefix)):
            return kind
    return None


def unfilled_head(
    names: ClassifierNames, kind: Kind, fields: Fields, config: EncoderConfig
) -> tuple[Classifier, dict[str, str]]:
    """The head without its weights, and its parameters' places: our name -> name on disk, with "{encoder}".

    Raises LoadError for fields of config.json that fit no head.
    """
    try:
        head_config = ClassifierConfig(
            kind=kind,
            labels=labels_of(fields),
            dense=names.dense is not None,
            n_summed=config.n_layers + 1 if names.layer_weights and fields.flag("use_weighted_layer_sum", False) else 0,
            norm=names.norm is not None,
            scale=scale_of(fields, kind),
            **names.options(fields),
        )
        with unfilled():
            head = Classifier(config.d_model, head_config)
    except ConfigError as error:
        raise LoadError(str(error)) from error
    modules = {"dense": names.dense, "norm": names.norm, "out": names.out}
    places = {}
    for ours in head.state_dict():
        module, _, kind_of_weight = ours.partition(".")
        if not kind_of_weight:
            places[ours] = str(names.layer_weights)
            continue
        places[ours] = f"{modules[module]}.{kind_of_weight}"
    return head, places


def labels_of(fields: Fields) -> tuple[str, ...]:
    """The names of the classes, in order: id2label, or LABEL_0, LABEL_1 ... Raises LoadError for gaps."""
    named = fields.get("id2label")
    if named is None:
        count = fields.integer("num_labels", 2)
        if not 1 <= count <= MOST_LABELS:
            raise LoadError(f"config.json's num_labels={count} is not a number of classes: correct it.")
        return tuple(f"LABEL_{place}" for place in range(count))
    if not isinstance(named, dict) or not 0 < len(named) <= MOST_LABELS:
        raise LoadError("config.json's id2label names no classes: correct it.")
    labels = {str(place): label for place, label in named.items()}
    places = [str(place) for place in range(len(labels))]
    if set(labels) != set(places) or not all(isinstance(label, str | int) for label in labels.values()):
        raise LoadError(f"config.json's id2label must name the classes 0 to {len(labels) - 1}: correct it.")
    return tuple(str(labels[place]) for place in places)


def score_activation(fields: Fields) -> tuple[str, str | None]:
    """The field that names the activation of a cross-encoder's one logit, and torch's name of it; None: it is the
    sigmoid, since no file names one, or one that is not torch's."""
    newer, older = "sentence_transformers", "sbert_ce_default_activation_function"
    own = fields.get(newer)
    if isinstance(own, dict) and "activation_fn" in own:
        key, found = f"{newer}.activation_fn", own["activation_fn"]
    else:
        key, found = older, fields.get(older)
    if not isinstance(found, str) or not found.startswith("torch."):
        return key, None
    return key, found.rsplit(".", 1)[-1]


def note_on_score(fields: Fields, config: ClassifierConfig) -> tuple[str, ...]:
    """A sentence for a cross-encoder whose activation is another than there is here."""
    key, name = score_activation(fields)
    if len(config.labels) > 1 or config.kind == "token" or name is None or name in SCORES:
        return ()
    return (
        f"sentence-transformers applies {name} to this cross-encoder's logit ({key} in config.json). Here its score is "
        f"the {'logit' if config.scale == 'none' else 'sigmoid of the logit'}.",
    )


def scale_of(fields: Fields, kind: Kind) -> Any:
    """What makes probabilities of the logits. A single class has a probability by itself, or is a score."""
    if kind == "token":
        return "softmax"
    problem = fields.get("problem_type")
    if problem not in PROBLEMS:
        raise LoadError(f"config.json's problem_type={quoted(problem)} is unknown: correct it.")
    one = len(labels_of(fields)) == 1
    if one and (scale := SCORES.get(str(score_activation(fields)[1]))) is not None:
        return scale
    return "sigmoid" if one and PROBLEMS[problem] == "softmax" else PROBLEMS[problem]
