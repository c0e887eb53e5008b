"""Ways of working that a person starts by name: which questions an agent asks, in which order; what it reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Prompt:
    """A way of working."""

    description: str
    #: (argument, what it is), all required.
    needs: Sequence[tuple[str, str]]
    template: str

    def text(self, given: Mapping[str, str]) -> str:
        """The prompt with its arguments, each in quotation marks. Raises ValueError where one is missing."""
        if missing := [name for name, _ in self.needs if not given.get(name)]:
            raise ValueError(f"{missing[0]} is missing.")
        return self.template.format_map({name: f"“{given[name]}”" for name, _ in self.needs})


PROMPTS = {
    "explain_this_pair": Prompt(
        "Why a model finds two texts alike, with the check of each claim.",
        [("model", "the model"), ("first", "one text"), ("second", "the other text")],
        "Explain why the model {model} finds the texts {first} and {second} as alike as it does. Ask "
        "why_two_texts_are_alike first. Report the cosine, the words that make it, and what the parts add up to. Then "
        "name the limit that the answer states, with the link to the view. Claim nothing that no number shows.",
    ),
    "diagnose_my_vectors": Prompt(
        "Which fault of another program explains its vectors.",
        [("model", "the model"), ("texts", "the file of texts"), ("vectors", "the file of vectors")],
        "Another program gave the vectors in {vectors} for the texts in {texts} with the model {model}. Ask "
        "check_a_folder first, then why_vectors_differ. Report the verdict with its evidence, the remedy, and what was "
        "excluded. If the verdict is unknown, say so, and propose the texts that the answer asks for next.",
    ),
    "design_an_ablation": Prompt(
        "An experiment that shows what a head does, before anybody claims it.",
        [("model", "the model"), ("claim", "what a head is said to do"), ("text", "a text that shows it")],
        "Design an ablation that could refute the claim {claim} about the model {model}, on the text {text}. Ask "
        "which_head_does_what for candidates, what_a_token_attends_to for their weights, and "
        "what_changes_without_a_part for their effects. Compare with heads that should not matter. Report the effect "
        "sizes with their outcome, and what other texts must show before the claim holds.",
    ),
}
