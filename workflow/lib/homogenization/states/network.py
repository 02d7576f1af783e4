"""Forward passes over one text, which hand over the residual stream of each layer."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from transformers import PreTrainedModel

from homogenization.models.blocks import TakeStates, batch_stream_captured, blocks_of, unsupported
from homogenization.run.errors import HomogenizationError
from homogenization.states.attention import RECORDED, AttentionRecord, Through, recording

NOT_FINITE = (
    "states that are not finite. Run the model, and store its states, in bfloat16 or float32 ('dtype' of both), whose "
    "range is wider than float16's; if they are already, its weights are damaged."
)


@dataclass(frozen=True)
class Transformer:
    """A transformer whose blocks are known, ready for passes.

    Attributes:
        network: model of transformers in evaluation mode, with the attention `RECORDED`.
        architecture: name of the network's class, for messages and provenance.
        blocks: transformer blocks, in order.
        block_of: the block's index for the `id` of each module inside the blocks.
    """

    network: PreTrainedModel
    architecture: str
    blocks: torch.nn.ModuleList
    block_of: dict[int, int]

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
        received: attention received, float32 (blocks, tokens).
        attention: records of the attention.
    """

    last_hidden_state: torch.Tensor | None
    logits: torch.Tensor | None
    received: torch.Tensor
    attention: AttentionRecord


class Findings(NamedTuple):
    """What a pass shows: who sees whom, and whether a norm follows the last block.

    Attributes:
        causal: whether a query sees only its own key and earlier ones, in all blocks.
        attention_windows: by block, the distance in tokens from which a query no longer sees a key; None for no limit.
        final_norm: whether a norm follows the last block.
    """

    causal: bool
    attention_windows: tuple[int | None, ...]
    final_norm: bool


def transformer_of(network: PreTrainedModel) -> Transformer:
    """Find the blocks of `network`, a base model, and set its attention to the recorded one.

    Raises:
        HomogenizationError: the network is an encoder-decoder, or does not have exactly one list of as many blocks as
            its configuration gives.
    """
    blocks = blocks_of(network)
    block_of = {id(module): index for index, block in enumerate(blocks) for module in block.modules()}
    network.eval()
    network.set_attn_implementation(RECORDED)
    return Transformer(network, type(network).__name__, blocks, block_of)


def forward(
    model: Transformer,
    token_ids: Sequence[int],
    take: TakeStates | None = None,
    *,
    through: Through | None = None,
    positions: torch.Tensor | None = None,
) -> PassResult:
    """Run `model` over one text.

    Args:
        model: transformer to run.
        token_ids: token ids of the text.
        take: function called with layer 0 and the residual stream (tokens, width) before the first block, then with
            layer l and the residual stream after block l. It must copy what it keeps.
        through: function that the attention weights of each block pass through before they weigh the values.
        positions: position of each token, int64 (tokens,); None to count from the start.

    Raises:
        HomogenizationError: the architecture's attention can't be honoured.
    """

    def taken(layer: int, states: torch.Tensor) -> None:
        if take is not None:
            take(layer, states[0])

    ids = torch.as_tensor(token_ids, device=model.device)[None]
    record = AttentionRecord(model.architecture, model.block_of, through)
    placed = {} if positions is None else {"position_ids": positions[None].to(model.device)}
    # without a mask of ones, transformers may take equal positions for several texts and add borders
    everything = torch.ones_like(ids)
    with recording(record), batch_stream_captured(model.blocks, taken), torch.inference_mode():
        output = model.network(input_ids=ids, attention_mask=everything, use_cache=False, **placed)
    record.is_causal(model.n_blocks)
    last, logits = (getattr(output, name, None) for name in ("last_hidden_state", "logits"))
    return PassResult(
        None if last is None else last[0],
        None if logits is None else logits[0],
        record.all_received(model.device),
        record,
    )


def findings(model: Transformer) -> Findings:
    """What a pass over a short text shows.

    Raises:
        HomogenizationError: the architecture's attention can't be honoured, or what follows its last block is no norm.
    """
    states: list[torch.Tensor] = []
    result = forward(model, [0, 1, 2], lambda _layer, taken: states.append(taken.clone()))
    last = result.last_hidden_state
    if len(states) != model.n_blocks + 1 or states[-1].shape != last.shape:
        raise unsupported(model.architecture, "its residual stream does not pass once through each block")
    record = result.attention
    return Findings(
        record.is_causal(model.n_blocks),
        tuple(record.windows[block] for block in range(model.n_blocks)),
        not torch.equal(states[-1].to(last.device), last),
    )


def refuse_not_finite(states: torch.Tensor, where: str) -> None:
    """Raise unless all `states` are finite.

    Raises:
        HomogenizationError: they are not; it begins with `where`.
    """
    if not states.isfinite().all():
        raise HomogenizationError(f"{where}: {NOT_FINITE}")
