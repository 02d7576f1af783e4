"""Forward passes over reviews packed end to end, which hand over the residual stream of each layer."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import torch
from transformers import PreTrainedModel

from homogenization.models.blocks import TakeStates, batch_stream_captured, blocks_of
from homogenization.models.loading import padding_position
from homogenization.run.errors import HomogenizationError
from homogenization.states.attention import PACKED_ATTENTION, PackedPass, Through, attending_to

NOT_FINITE = (
    "states that are not finite. Run the model, and store its states, in bfloat16 or float32 ('dtype' of both), whose "
    "range is wider than float16's; if they are already, its weights are damaged."
)


@dataclass(frozen=True)
class PackedModel:
    """A transformer whose blocks are known, ready for passes over packed reviews.

    Attributes:
        network: base model of transformers in evaluation mode, with the attention `PACKED_ATTENTION`.
        architecture: name of the network's class, for messages and provenance.
        blocks: transformer blocks, in order.
        block_of: the block's index for the `id` of each module inside the blocks.
        padding: id of padding tokens, and their position, behind which each review begins; None where reviews begin
            at 0.
    """

    network: PreTrainedModel
    architecture: str
    blocks: torch.nn.ModuleList
    block_of: dict[int, int]
    padding: int | None

    @property
    def device(self) -> torch.device:
        """The device of token ids and of the last hidden state; blocks may be on other devices."""
        # weights that accelerate offloads are on no device until they are needed
        hook = getattr(self.network, "_hf_hook", None)
        return self.network.device if hook is None else torch.device(hook.execution_device)

    @property
    def n_blocks(self) -> int:
        """Number of blocks; the residual stream has one layer more."""
        return len(self.blocks)

    @property
    def width(self) -> int:
        """Width of the residual stream."""
        return self.network.config.get_text_config().hidden_size


@dataclass(frozen=True)
class PassResult:
    """Results of a forward pass besides the residual stream.

    Attributes:
        last_hidden_state: states (tokens, width) after the final norm, or after the last block without such a norm;
            None for a network with a language-model head.
        logits: logits of the next token (tokens, vocabulary); None for a network without such a head.
        received: attention received, float32 (blocks, tokens); None if it was not recorded.
        packed_pass: records of the attention.
    """

    last_hidden_state: torch.Tensor | None
    logits: torch.Tensor | None
    received: torch.Tensor | None
    packed_pass: PackedPass


def packed_model(network: PreTrainedModel) -> PackedModel:
    """Find the blocks of `network` and set its attention to the packed one.

    Raises:
        HomogenizationError: the network is an encoder-decoder, or does not have exactly one list of as many blocks as
            its configuration gives.
    """
    blocks = blocks_of(network)
    block_of = {id(module): index for index, block in enumerate(blocks) for module in block.modules()}
    network.eval()
    network.set_attn_implementation(PACKED_ATTENTION)
    return PackedModel(network, type(network).__name__, blocks, block_of, padding_position(network))


def run_packed(
    model: PackedModel,
    token_ids: Sequence[int],
    lengths: Sequence[int],
    record_attention: bool,
    take: TakeStates,
    *,
    through: Through | None = None,
    positions: torch.Tensor | None = None,
) -> PassResult:
    """Run `model` over reviews that lie end to end.

    The numbers of a review are those of a pass over this review alone, up to the rounding of the dtype.

    Args:
        model: transformer to run.
        token_ids: token ids of all reviews of the pack.
        lengths: number of tokens of each review; they sum to the number of token ids.
        record_attention: whether to sum up the attention that each token receives.
        take: function called with layer 0 and the residual stream (tokens, width) before the first block, then with
            layer l and the residual stream after block l. It must copy what it keeps.
        through: function that the attention weights of each block pass through before they weigh the values.
        positions: position of each token, int64 (tokens,); None to count the tokens of each review.

    Raises:
        HomogenizationError: the architecture's attention can't be honoured.
    """
    device = model.device
    offsets = [0]
    for length in lengths:
        offsets.append(offsets[-1] + length)
    packed_pass = PackedPass(model.architecture, model.block_of, offsets, {} if record_attention else None, through)
    if positions is None:
        positions = _positions(token_ids, lengths, model.padding)
    with attending_to(packed_pass), residual_stream_captured(model.blocks, take):
        output = forward(model, token_ids, position_ids=positions[None].to(device))
    packed_pass.is_causal(model.n_blocks)
    last, logits = (getattr(output, name, None) for name in ("last_hidden_state", "logits"))
    return PassResult(
        None if last is None else last[0],
        None if logits is None else logits[0],
        packed_pass.all_received(device),
        packed_pass,
    )


def refuse_not_finite(states: torch.Tensor, where: str) -> None:
    """Raise unless all `states` are finite.

    Raises:
        HomogenizationError: they are not; it begins with `where`.
    """
    if not states.isfinite().all():
        raise HomogenizationError(f"{where}: {NOT_FINITE}")


def _positions(token_ids: Sequence[int], lengths: Sequence[int], padding: int | None) -> torch.Tensor:
    """The position of each token in its review, int64 (tokens,), as transformers counts them in one text alone."""
    if padding is None:
        return torch.cat([torch.arange(length) for length in lengths])
    counted = (torch.as_tensor(token_ids) != padding).split(list(lengths))
    return torch.cat([of_review.cumsum(0) * of_review for of_review in counted]) + padding


def forward(model: PackedModel, token_ids: Sequence[int], **arguments: torch.Tensor) -> Any:
    """The network's output for `token_ids`, (tokens,), as a batch of one, without a cache of keys and values."""
    ids = torch.as_tensor(token_ids, device=model.device)[None]
    # without a mask of ones, transformers takes restarting positions for packed sequences and adds its own borders
    with torch.inference_mode():
        return model.network(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False, **arguments)


def residual_stream_captured(blocks: torch.nn.ModuleList, take: TakeStates) -> AbstractContextManager[None]:
    """Hand the residual stream before the first block and after each block to `take`, (tokens, width) each."""
    return batch_stream_captured(blocks, lambda layer, states: take(layer, states[0]))
