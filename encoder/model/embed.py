"""Embedding: ids -> vectors of tokens, segments and positions; for images, patches; for sound, patches or convolutions.

Shapes: B batch, T tokens, E width of the tables (D unless they are factorised), D d_model; of a sound N samples, S
frames of a spectrogram, M mel bands, P patches.
"""

import math
from itertools import pairwise

import torch
from torch import Tensor, nn

from encoder.model.activation import activate
from encoder.model.boxes import Boxes, BoxVectors
from encoder.model.config import EncoderConfig, Patches
from encoder.model.hooks import HookPoint, visiting
from encoder.model.layers import LayerNorm
from encoder.model.paths import Paths, PathVectors


def sinusoidal(positions: Tensor, width: int) -> Tensor:
    """positions [T] -> [T, width]: sin(pos / 10000^(2i/width)) at 2i, the cosine at 2i + 1 (Vaswani et al. 2017, 3.5).

    Computed in float64 and rounded once to float32, so the squared norm is width / 2 at every position.
    """
    exponent = torch.arange(0, width, 2, device="cpu", dtype=torch.float64) / width
    angle = positions.to("cpu", torch.float64).unsqueeze(-1) / 10_000.0**exponent  # [T, width/2]
    table = torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(-2)  # [T, width], sine and cosine in turn
    return table.to(positions.device, torch.float32)


def sine_halves(positions: Tensor, width: int) -> Tensor:
    """positions [...] -> [..., width]: sin(pos w_c) in the first half, cos(pos w_c) in the second.

    w_c = 10000^(-c / (width/2 - 1)) (tensor2tensor's form, which fairseq, Whisper and M2M100 use).
    """
    step = math.log(10_000.0) / (width // 2 - 1)
    rates = torch.exp(torch.arange(width // 2, device=positions.device, dtype=torch.float32) * -step)
    angle = positions.unsqueeze(-1).float() * rates
    return torch.cat((angle.sin(), angle.cos()), dim=-1)


def is_sine_halves(table: Tensor) -> bool:
    """Whether a table [N, E] is `sine_halves`: Whisper's checkpoints store these numbers like learned ones."""
    n_positions, width = table.shape
    if width % 2 or width < 4:
        return False
    return torch.allclose(table.float().cpu(), sine_halves(torch.arange(n_positions), width), atol=1e-2)


class ConvolutionalPositions(nn.Module):
    """act(convolution of the steps over time), [B, steps, E] -> [B, T, E]: what Wav2Vec2 adds as positions.

    One step is a token, or in SEW `merged` steps. The kernel is gain x direction / ||direction||, one gain for each
    step of time (weight normalisation, Salimans and Kingma 2016).
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.groups, self.activation = config.position_groups, config.activation
        self.merged = config.merged_steps
        width, kernel = config.embedding_width, config.position_kernel
        self.gain = nn.Parameter(torch.ones(1, 1, kernel))
        self.direction = nn.Parameter(torch.empty(width, width // self.groups, kernel).normal_())
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        weight = self.direction * (self.gain / self.direction.norm(dim=(0, 1), keepdim=True))
        kernel = weight.shape[-1]
        added = nn.functional.conv1d(x.transpose(1, 2), weight, self.bias, self.merged, kernel // 2, groups=self.groups)
        # An even kernel gives one step too many.
        return activate(added[..., : x.shape[1] // self.merged], self.activation).transpose(1, 2)


class StackedPositions(nn.Module):
    """The same by several convolutions, each followed by a LayerNorm without gain and the activation (Data2Vec,
    Baevski et al. 2022)."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.activation = config.activation
        width, kernel = config.embedding_width, config.position_kernel
        self.layers = nn.ModuleList(
            nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=config.position_groups)
            for _ in range(config.position_layers)
        )

    def forward(self, x: Tensor) -> Tensor:
        for convolution in self.layers:
            added = convolution(x.transpose(1, 2))[..., : x.shape[1]].transpose(1, 2)
            x = activate(nn.functional.layer_norm(added, added.shape[-1:]), self.activation)
        return x


class Positions(nn.Module):
    """The positional encoding that is added: a table, sines, or a convolution. Rotary ones act on q and k instead."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        rows = config.patches.n_positions if config.patches else config.max_positions
        self.table = nn.Embedding(rows, config.embedding_width) if config.position == "learned" else None
        convolution = StackedPositions if config.position_layers else ConvolutionalPositions
        self.convolution = convolution(config) if config.position == "convolutional" else None

    def indices(self, inputs: Tensor, mask: Tensor | None, n_tokens: int, first: int = 0) -> Tensor:
        """The encoding's row for every token: [T], or [B, T] where padding has a row of its own.

        first: the tokens before these, which ran earlier.

        RoBERTa identifies padding by its id, so a padding token typed into the text counts as padding here too.
        """
        config = self.config
        if config.pad_position is None:
            return torch.arange(n_tokens, device=inputs.device) + first + config.position_offset
        real = inputs != config.pad_id  # [B, T]
        if mask is not None:
            real = real & mask
        counted = real.long().cumsum(-1) - 1 + first + config.position_offset  # [B, T]
        return counted.masked_fill(~real, config.pad_position)

    def forward(self, inputs: Tensor, mask: Tensor | None, n_tokens: int, first: int = 0) -> Tensor | None:
        """inputs: ids [B, T] (or pixels, or sound) -> [T, E] or [B, T, E]; None where it adds nothing."""
        if self.config.sine_halves:
            places = self.indices(inputs, mask, n_tokens, first)
            sines = sine_halves(places, self.config.embedding_width)
            at_padding = places == (-1 if self.config.pad_position is None else self.config.pad_position)
            return sines.masked_fill(at_padding.unsqueeze(-1), 0.0)  # M2M100's row of padding
        if self.config.position == "sinusoidal":
            return sinusoidal(torch.arange(n_tokens, device=inputs.device) + first, self.config.embedding_width)
        if self.table is None:
            return None
        patches = self.config.patches
        if patches is not None and (patches.registers or patches.detection or patches.table):
            return rows_of_tokens(self.table.weight, patches)
        if self.config.pad_position is None:  # consecutive rows: a view of the table, no copy
            rows = self.table.weight.narrow(0, first + self.config.position_offset, n_tokens)
            return rows if torch.is_grad_enabled() else rows.detach()
        encoding: Tensor = self.table(self.indices(inputs, mask, n_tokens, first))
        return encoding


def rows_of_tokens(table: Tensor, patches: Patches) -> Tensor:
    """A table of an image's positions [n_positions, E] -> [T, E]: for each token its row; 0 for registers.

    Rows of patches are scaled to the image's grid as YOLOS does (Fang et al. 2021).
    """
    n_first = patches.cls + patches.distillation
    first, middle, last = table.tensor_split((n_first, len(table) - patches.detection))
    if patches.table is not None:
        image = middle.T.reshape(1, -1, *patches.table)  # [1, E, rows, columns]
        image = nn.functional.interpolate(image, size=(patches.side, patches.side), mode="bicubic", align_corners=False)
        middle = image[0].flatten(1).T
    return torch.cat((first, table.new_zeros(patches.registers, table.shape[1]), last, middle))


class PatchProjection(nn.Module):
    """Image [B, C, S, S] -> special tokens and a linear map of each patch, [B, T, E] (Dosovitskiy et al. 2021).

    Video [B, F, C, S, S] -> a linear map of each tubelet, time step by time step (Arnab et al. 2021).
    """

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        assert config.patches is not None
        size = config.patches.patch_size
        width, patches = config.embedding_width, config.patches
        self.is_video = patches.frames > 0
        sides = (patches.tubelet, size, size) if self.is_video else (size, size)
        convolution = nn.Conv3d if self.is_video else nn.Conv2d
        self.projection = convolution(patches.channels, width, kernel_size=sides, stride=sides, bias=patches.bias)  # type: ignore[arg-type]
        self.norm = nn.RMSNorm(width, eps=config.norm_eps) if patches.norm else None
        self.special = [name for name, count in patches.special.items() if count]
        for name in self.special:
            self.register_parameter(name, nn.Parameter(torch.zeros(1, patches.special[name], width)))

    def forward(self, pixels: Tensor) -> Tensor:
        if self.is_video:
            pixels = pixels.transpose(1, 2)  # [B, C, F, S, S]
        patches = self.projection(pixels).flatten(2).transpose(1, 2)  # [B, P, E]
        if self.norm is not None:
            patches = self.norm(patches)
        special = (self.get_parameter(name).expand(len(patches), -1, -1) for name in self.special)
        return torch.cat((*special, patches), dim=1)  # [B, T, E]


class SpectrogramProjection(nn.Module):
    """Spectrogram [B, S, M] -> [CLS], distillation token, and a linear map of each patch, [B, P + 2, E]."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        shape = config.spectrogram
        assert shape is not None
        strides = (shape.mel_stride, shape.time_stride)
        self.projection = nn.Conv2d(1, config.embedding_width, kernel_size=shape.patch_size, stride=strides)
        self.cls = nn.Parameter(torch.zeros(1, 1, config.embedding_width))
        self.distillation = nn.Parameter(torch.zeros(1, 1, config.embedding_width))

    def forward(self, spectrogram: Tensor) -> Tensor:
        patches = self.projection(spectrogram.transpose(1, 2).unsqueeze(1)).flatten(2).transpose(1, 2)  # [B, P, E]
        first = [token.expand(len(patches), -1, -1) for token in (self.cls, self.distillation)]
        return torch.cat((*first, patches), dim=1)  # [B, P + 2, E]


class ConvolutionFront(nn.Module):
    """Samples [B, N] or spectrogram [B, M, S] -> tokens [B, T, E], by convolutions over time."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        shape = config.convolutions
        assert shape is not None
        others = len(shape.widths) - 1
        self.activations = (shape.first_activation or shape.activation, *(shape.activation,) * others)
        self.norm_kind = shape.norm
        biases = (shape.bias if shape.first_bias is None else shape.first_bias, *(shape.bias,) * others)
        sizes = zip(pairwise((shape.channels, *shape.widths)), shape.kernels, shape.strides, biases, strict=True)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(*widths, kernel, stride, padding=kernel // 2 if shape.padded else 0, bias=bias)
            for widths, kernel, stride, bias in sizes
        )
        # torch's own norms: they are not a LayerNorm of the encoder, and have its usual eps of 1e-5.
        norms: list[nn.Module] = []
        if shape.norm in ("group", "whole"):
            norms = [nn.GroupNorm(shape.widths[0] if shape.norm == "group" else 1, shape.widths[0])]
        elif shape.norm == "layer":
            norms = [nn.LayerNorm(width) for width in shape.widths]
        self.norms = nn.ModuleList(norms)
        last = shape.widths[-1]
        eps = config.norm_eps if shape.projection_eps is None else shape.projection_eps
        self.projection_norm = nn.LayerNorm(last, eps=eps) if shape.projection_norm else None
        self.projection = nn.Linear(last, config.embedding_width) if shape.projected else None

    def forward(self, sound: Tensor) -> Tensor:
        x = sound if sound.dim() == 3 else sound.unsqueeze(1)  # [B, channels, steps]
        for index, convolution in enumerate(self.convolutions):
            x = convolution(x)
            if self.norm_kind == "layer":
                x = self.norms[index](x.transpose(1, 2)).transpose(1, 2)
            elif self.norm_kind == "group" and index == 0:
                x = self.norms[0](x)
            x = activate(x, self.activations[index])
            if self.norm_kind == "whole" and index == 0:
                x = self.norms[0](x)
        x = x.transpose(1, 2)  # [B, T, width of the last convolution]
        if self.projection_norm is not None:
            x = self.projection_norm(x)
        if self.projection is not None:
            x = self.projection(x)
        return x


class FrameProjection(nn.Module):
    """Frames [B, S, M] -> tokens [B, T, E]: a linear map of each, or of what convolutions of time and bands leave."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        shape = config.frames
        assert shape is not None
        n, past = shape.channels, shape.kernel // 2
        self.convolutions = nn.ModuleList(
            nn.Conv2d(n if layer else 1, n, shape.kernel, shape.stride, past, groups=n if layer else 1)
            for layer in range(shape.layers)
        )
        self.channel_maps = nn.ModuleList(nn.Conv2d(n, n, 1) for _ in range(shape.layers - 1))
        self.norm = nn.LayerNorm(shape.width, eps=config.norm_eps) if shape.norm else None
        self.projection = nn.Linear(shape.n_bands * max(1, n), config.embedding_width)

    def forward(self, frames: Tensor) -> Tensor:
        x = frames
        if len(self.convolutions):
            x = activate(self.convolutions[0](frames.unsqueeze(1)), "relu")  # [B, channels, steps, bands]
            for convolution, channel_map in zip(self.convolutions[1:], self.channel_maps, strict=True):
                x = activate(channel_map(convolution(x)), "relu")
            x = x.transpose(1, 2).flatten(2)
        out: Tensor = self.projection(x if self.norm is None else self.norm(x))
        return out


def token_module(config: EncoderConfig) -> nn.Module:
    """What makes vectors [B, T, E] of the input: a table for text, a projection or convolutions for the others; nothing
    for what is such vectors already."""
    if config.patches is not None:
        return PatchProjection(config)
    if config.spectrogram is not None:
        return SpectrogramProjection(config)
    if config.convolutions is not None:
        return ConvolutionFront(config)
    if config.frames is not None:
        return FrameProjection(config)
    if config.vectors:
        return nn.Identity()
    return nn.Embedding(config.vocab_size, config.embedding_width)


def place_vectors(shape: Boxes | Paths, width: int) -> nn.Module:
    """What makes vectors [B, T, E] of places [B, T, P]."""
    return BoxVectors(shape, width) if isinstance(shape, Boxes) else PathVectors(shape, width)


class BesideEmbedding(nn.Module):
    """The stream of boxes before the first layer: their joined vectors -> projection to D', + positions -> norm."""

    def __init__(self, boxes: Boxes, config: EncoderConfig, apart: EncoderConfig) -> None:
        super().__init__()
        self.boxes = BoxVectors(boxes, config.embedding_width)
        self.projection = nn.Linear(config.embedding_width, apart.d_model)
        self.positions = Positions(apart)
        self.norm = LayerNorm(apart.d_model, apart, "beside.norm") if apart.embedding_norm else None
        self.dropout = nn.Dropout(apart.dropout)
        self.hook_out = HookPoint("embedding.beside")

    def forward(self, boxes: Tensor, inputs: Tensor, mask: Tensor | None) -> Tensor:
        """boxes [B, T, 4] or [1, 1, 4], ids [B, T] -> [B, T, D']."""
        y = self.projection(self.boxes(boxes)) + self.positions(inputs, mask, inputs.shape[1])
        y = y.expand(*inputs.shape, -1)
        with visiting(None):
            y = y if self.norm is None else self.norm(y)
        out: Tensor = self.hook_out(self.dropout(y))
        return out


class PageVectors(nn.Module):
    """The image of a page -> vectors of [CLS] and of its patches, [1, P + 1, E] (LayoutLMv3, Huang et al. 2022).

    `last` is a norm of these and of the words' vectors.
    """

    def __init__(self, shape: Patches, config: EncoderConfig) -> None:
        super().__init__()
        width, size = config.embedding_width, shape.patch_size
        self.projection = nn.Conv2d(shape.channels, width, kernel_size=size, stride=size)
        self.cls = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.zeros(1, shape.n_positions, width))
        self.norm = nn.LayerNorm(width, eps=1e-6)
        self.last = LayerNorm(width, config, "embedding_norm")
        side = shape.image_size
        self.pixels = nn.Buffer(torch.zeros(1, shape.channels, side, side)) if config.reads_page else None

    def forward(self) -> Tensor:
        patches = self.projection(self.pixels).flatten(2).transpose(1, 2)
        found: Tensor = self.norm(torch.cat((self.cls, patches), dim=1) + self.positions)
        return found


class Embedding(nn.Module):
    """tokens (+ segments) (+ positions) (+ boxes) -> norm -> projection to D where E is not D."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        width = config.embedding_width
        self.tokens = token_module(config)
        self.scale, self.mask_id, self.merged = config.embedding_scale, config.mask_id, config.merged_steps
        self.segments = nn.Embedding(config.n_segments, width) if config.n_segments else None
        self.positions = Positions(config)
        apart = config.beside
        self.places = place_vectors(config.places, width) if config.places and not apart else None
        self.nowhere = config.places.nowhere if config.places else ()
        self.beside = BesideEmbedding(config.boxes, config, apart) if config.boxes and apart else None
        self.page = PageVectors(config.page, config) if config.page is not None else None
        self.n_page_tokens = config.n_page_tokens
        self.norm = LayerNorm(width, config, "embedding_norm") if config.embedding_norm else None
        self.projection = nn.Linear(width, config.d_model) if width != config.d_model else None
        self.dropout = nn.Dropout(config.dropout)
        self.hook_tokens = HookPoint("embedding.tokens")
        self.hook_segments = HookPoint("embedding.segments")
        self.hook_position = HookPoint("embedding.position")
        self.hook_places = HookPoint("embedding.places")
        self.hook_out = HookPoint("embedding")

    def forward(
        self,
        inputs: Tensor,
        mask: Tensor | None,
        segments: Tensor | None,
        first: int = 0,
        places: Tensor | None = None,
    ) -> Tensor:
        """inputs: ids [B, T], pixels [B, C, S, S] or [B, F, C, S, S], sound, vectors of tokens [B, T, E] -> [B, T, D].

        places [B, T, P]: of the tokens on their page; None: all are nowhere. With a stream of boxes, its vectors
        follow those of the text: [B, T, D + D'].
        """
        # One vector for all tokens is looked up once.
        if places is None:
            places = torch.tensor(self.nowhere, dtype=torch.long, device=inputs.device).view(1, 1, -1)
        if self.n_page_tokens:
            x = self.with_page(inputs, mask, segments, places)
        else:
            x = self.summed(inputs, mask, segments, first, places)
        x = self.dropout(x)
        if self.projection is not None:
            x = self.projection(x)  # [B, T, D]
        out: Tensor = self.hook_out(x)
        return out if self.beside is None else torch.cat((out, self.beside(places, inputs, mask)), dim=-1)

    def summed(
        self, inputs: Tensor, mask: Tensor | None, segments: Tensor | None, first: int, places: Tensor
    ) -> Tensor:
        """The sum of a token's vectors after its norm, [B, T, E]."""
        steps = x = self.scaled(self.tokens(inputs), inputs, mask)
        if self.merged > 1:
            x = nn.functional.avg_pool1d(steps.transpose(1, 2), self.merged).transpose(1, 2)
        x = self.hook_tokens(x)  # [B, T, E]
        if self.segments is not None:
            # A table of one row (RoBERTa) has no second segment, whatever the tokenizer's ids are.
            single = segments is None or self.segments.num_embeddings == 1 or _all_zero(segments)
            # One vector for all tokens is looked up once, and uses the memory of one.
            ids = torch.zeros(1, 1, dtype=torch.long, device=x.device) if single else segments
            x = x + self.hook_segments(self.segments(ids).expand_as(x))
        if self.positions.convolution is not None:  # computed from the tokens themselves
            position = self.positions.convolution(x if self.merged == 1 else steps)
        else:
            position = self.positions(inputs, mask, x.shape[1], first)
        if position is not None:
            x = x + self.hook_position(position.to(x.dtype))
        if self.places is not None:
            x = x + self.hook_places(self.places(places).expand_as(x))
        return x if self.norm is None else self.norm(x)

    def with_page(self, ids: Tensor, mask: Tensor | None, segments: Tensor | None, places: Tensor) -> Tensor:
        """Vectors of words, as without a page, and of the page, after their common norm. ids [B, T]; [B, T, E].

        These vectors are recorded as those of the tokens.
        """
        assert self.page is not None
        n_words = ids.shape[1] - self.n_page_tokens
        mask, segments = (None if one is None else one[:, :n_words] for one in (mask, segments))
        with visiting(None):
            words = self.summed(ids[:, :n_words], mask, segments, 0, places[:, :n_words])
        x = torch.cat((words, self.page().expand(len(ids), -1, -1)), dim=1)
        found: Tensor = self.page.last(self.hook_tokens(x))
        return found

    @property
    def last_norm(self) -> LayerNorm | None:
        """The norm before the first layer: of the sum of a token's vectors, or of words and of a page."""
        return self.page.last if self.page is not None and self.n_page_tokens else self.norm

    def scaled(self, x: Tensor, inputs: Tensor, mask: Tensor | None) -> Tensor:
        """Tokens' vectors [B, T, E] with the factors of the config; ids [B, T]; mask [B, T] or None."""
        if self.scale != 1.0:
            # The factor in the weights' own type, as Gemma was trained: in bfloat16 it is rounded.
            x = x * torch.tensor(self.scale, dtype=x.dtype, device=x.device)
        if self.mask_id is None:
            return x
        hidden = (inputs == self.mask_id).unsqueeze(-1)  # [B, T, 1]
        # ESM-2 was trained with 15% of tokens chosen, and 80% of these hidden (Lin et al. 2023; Devlin et al. 2019).
        n_real = hidden.shape[1] if mask is None else mask.sum(dim=-1).view(-1, 1, 1)
        share = hidden.sum(dim=1, keepdim=True).to(x.dtype) / n_real
        return x.masked_fill(hidden, 0.0) * ((1.0 - 0.15 * 0.8) / (1.0 - share))


def _all_zero(ids: Tensor) -> bool:
    """Whether all ids are 0. A GPU is not asked, since that would wait for it."""
    return ids.device.type == "cpu" and not ids.any()
