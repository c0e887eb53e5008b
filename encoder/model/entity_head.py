"""EntityHead: GLiNER's head, which scores each span of words for each label.

Shapes: W words, S spans, C labels, D d_model, P width of the head.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from encoder.errors import ConfigError
from encoder.model.checks import MAX_LAYERS, check_kinds, check_whole


@dataclass(frozen=True)
class EntityHeadConfig:
    """The sizes of the head, and where a label is."""

    #: P, numbers in the vectors of words, spans and labels.
    width: int
    #: Words of the longest span.
    max_width: int
    #: The id of the token before each label.
    marker_id: int
    #: Whether a label's vector is that of its marker, else that of the token after it.
    reads_marker: bool = True
    #: Layers of the LSTM over the words, which reads in both directions; 0: none.
    n_rnn_layers: int = 0

    def __post_init__(self) -> None:
        check_kinds(self)
        check_whole("width", self.width, 1)
        check_whole("max_width", self.max_width, 1)
        check_whole("marker_id", self.marker_id, 0)
        check_whole("n_rnn_layers", self.n_rnn_layers, 0, MAX_LAYERS)
        if self.n_rnn_layers and self.width % 2:
            raise ConfigError(f"width={self.width} is odd, and an LSTM in both directions halves it: choose even.")


def _two_layers(d_in: int, d_out: int) -> nn.Sequential:
    """Two maps with a ReLU; the third module is where gliner has its dropout, so that the names are the same."""
    return nn.Sequential(nn.Linear(d_in, 4 * d_out), nn.ReLU(), nn.Identity(), nn.Linear(4 * d_out, d_out))


class EntityHead(nn.Module):
    """Score of a span for a label: the dot product of their vectors (Zaratiana et al. 2024, span mode markerV0)."""

    def __init__(self, d_model: int, config: EntityHeadConfig) -> None:
        super().__init__()
        self.config = config
        width, layers = config.width, config.n_rnn_layers
        self.projection = nn.Linear(d_model, width) if d_model != width else None
        self.rnn = nn.LSTM(width, width // 2, layers, bidirectional=True, batch_first=True) if layers else None
        self.start, self.end = _two_layers(width, width), _two_layers(width, width)
        self.span, self.label = _two_layers(2 * width, width), _two_layers(width, width)

    def spans(self, n_words: int) -> Tensor:
        """[S, 2]: first and last word of every span, in the order of the text, shorter ones first."""
        starts = torch.arange(n_words)[:, None]
        ends = starts + torch.arange(self.config.max_width)
        return torch.stack((starts.expand_as(ends), ends), dim=-1)[ends < n_words]

    def forward(self, words: Tensor, labels: Tensor, spans: Tensor) -> Tensor:
        """Outputs of the encoder for words [W, D] and labels [C, D], spans [S, 2] -> logits [S, C]."""
        if self.projection is not None:
            words, labels = self.projection(words), self.projection(labels)
        if self.rnn is not None:
            words = self.rnn(words[None])[0][0]
        ends = (self.start(words)[spans[:, 0]], self.end(words)[spans[:, 1]])
        found: Tensor = self.span(torch.cat(ends, dim=-1).relu()) @ self.label(labels).T
        return found
