"""The check that a packed pass gives the same numbers as transformers' own attention; each model must pass it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import torch

from homogenization.models.blocks import hooked, unsupported
from homogenization.models.devices import is_of_device, ran_out_of_memory
from homogenization.models.widening import widened_by_block
from homogenization.run.errors import HomogenizationError
from homogenization.states.attention import PACKED_ATTENTION
from homogenization.states.network import PackedModel, PassResult, forward, residual_stream_captured, run_packed

# names of the configuration's settings for the width of an attention window
_WINDOW_SETTINGS = ("sliding_window", "attention_chunk_size", "local_attention", "window_size")
_PROBE_LENGTHS = (14, 10)


class Findings(NamedTuple):
    """Findings of the check: who sees whom, and whether a norm follows the last block.

    Attributes:
        causal: whether a query sees only its own key and earlier ones, in all blocks.
        attention_windows: by block, the distance in tokens from which a query no longer sees a key; None for no limit.
        final_norm: whether a norm follows the last block.
    """

    causal: bool
    attention_windows: tuple[int | None, ...]
    final_norm: bool


@dataclass(frozen=True)
class _Passes:
    """Numbers of the probe by both ways.

    Attributes:
        packed: result of the packed pass.
        states: residual stream of the packed pass, (tokens, width) a layer.
        compared: description, layer, and rows (tokens, width) of the packed and of the eager pass, for each text and
            quantity that both give.
    """

    packed: PassResult
    states: list[torch.Tensor]
    compared: list[tuple[str, int, torch.Tensor, torch.Tensor]]

    def rounding(self, layer: int) -> float:
        """Relative difference that the rounding of the residual stream's dtype is expected to make up to a layer.

        The rounding errors of the blocks add up like a random walk, so it grows with the square root of the depth.
        """
        return max(1e-4, 4 * torch.finfo(self.states[0].dtype).eps) * (1 + layer) ** 0.5


def check_against_eager(model: PackedModel, longest: int, record_attention: bool) -> Findings:
    """Compare a packed pass over a short probe with transformers' own eager attention, one text at a time.

    Packing can't honour some architectures: positions that don't restart, a bias in the mask, or attention across
    texts. These show as a difference in the residual stream or in the attention received.

    In half precision, large attention logits (Qwen2.5) make transformers' own rounding larger than any fixed bound.
    Where the bound is exceeded there, both passes are repeated in float32, in which they must agree, and the packed
    pass in half precision must be about as near to float32 as the eager one.

    Args:
        model: transformer to check.
        longest: number of tokens of the longest review; if the model has a shorter attention window, one text of the
            probe exceeds it.
        record_attention: whether the pass records the attention received, as in `run_packed`.

    Raises:
        HomogenizationError: the architecture can't be honoured; the message names it and the difference.
    """
    probes = _probes(model.network.config.get_text_config(), longest)
    passes = _both_ways(model, probes, record_attention)
    _refuse_not_finite(model, passes)
    exceeding = any(_difference(ours, eager) > passes.rounding(layer) for _, layer, ours, eager in passes.compared)
    # weights that accelerate offloads lie on the meta device between passes
    at_hand = not any(weight.is_meta for weight in model.network.parameters())
    if exceeding and at_hand and passes.states[0].dtype != torch.float32:
        with widened_by_block(model.network, model.blocks, torch.float32):
            exact = _both_ways(model, probes, record_attention)
        _compare(model, exact)
        _compare_with_exact(model, passes, exact)
    else:
        _compare(model, passes)
    packed = passes.packed
    causal = packed.packed_pass.is_causal(model.n_blocks)  # which refuses a block that did not attend
    attention_windows = tuple(packed.packed_pass.windows[block] for block in range(model.n_blocks))
    return Findings(causal, attention_windows, _has_final_norm(model, passes.states[-1], packed))


def _both_ways(model: PackedModel, probes: list[torch.Tensor], record_attention: bool) -> _Passes:
    """Run the probe packed, and each of its texts by transformers' eager attention."""
    lengths = [len(probe) for probe in probes]
    states: list[torch.Tensor] = []
    with _told(model, "a pass over packed texts", sum(lengths)):
        packed = run_packed(
            model, torch.cat(probes), lengths, record_attention, lambda _, taken: states.append(taken.clone())
        )
    if len(states) != model.n_blocks + 1 or states[0].shape[-1] != model.width:
        raise unsupported(model.architecture, "its residual stream does not pass once through each block")
    compared = []
    for probe, (start, stop) in zip(probes, pairwise(accumulate(lengths, initial=0)), strict=True):
        by_eager, last, received = _run_eager(model, probe, packed.packed_pass.attended)
        for layer, (ours, eager) in enumerate(zip(states, by_eager, strict=True)):
            compared.append((f"the residual stream of layer {layer}", layer, ours[start:stop], eager))
        compared.append(("the last hidden state", model.n_blocks, packed.last_hidden_state[start:stop], last))
        if packed.received is not None:
            ours = packed.received[:, start:stop, None]
            for block in range(model.n_blocks):
                compared.append((f"attention of block {block + 1}", block + 1, ours[block], received[block][:, None]))
    return _Passes(packed, states, compared)


def _probes(config: Any, longest: int) -> list[torch.Tensor]:
    """Token ids of the probe's texts: random, the same in each run, without padding tokens."""
    lengths = list(_PROBE_LENGTHS)
    windows = [getattr(config, name, None) for name in _WINDOW_SETTINGS]
    crossed = [window for window in windows if isinstance(window, int) and 0 < window < longest]
    if crossed:
        lengths.append(min(max(crossed) + 16, longest))
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(config.vocab_size, (sum(lengths),), generator=generator)
    padding = getattr(config, "pad_token_id", None)
    if padding is not None:
        ids[ids == padding] = (padding + 1) % config.vocab_size
    return list(ids.split(lengths))


def _run_eager(
    model: PackedModel, token_ids: torch.Tensor, attention_modules: dict[int, torch.nn.Module]
) -> tuple[list[torch.Tensor], torch.Tensor, dict[int, torch.Tensor]]:
    """Residual stream per layer, last hidden state and attention received per block of one text, by transformers."""
    states: list[torch.Tensor] = []
    received: dict[int, torch.Tensor] = {}

    def sum_columns(block: int) -> Callable:
        def hook(_module: torch.nn.Module, _inputs: tuple, output: Any) -> None:
            weights = output[1] if isinstance(output, tuple) and len(output) > 1 else None
            if weights is None:
                raise unsupported(model.architecture, f"block {block + 1} gives no attention weights to check against")
            received[block] = weights[0].float().mean(dim=0).sum(dim=0)

        return hook

    hooks = [module.register_forward_hook(sum_columns(block)) for block, module in attention_modules.items()]
    model.network.set_attn_implementation("eager")
    try:
        with (
            hooked(hooks),
            _told(model, "transformers' eager attention", len(token_ids)),
            residual_stream_captured(model.blocks, lambda _, taken: states.append(taken.clone())),
        ):
            output = forward(model, token_ids)
    finally:
        model.network.set_attn_implementation(PACKED_ATTENTION)
    return states, output.last_hidden_state[0], received


def _refuse_not_finite(model: PackedModel, passes: _Passes) -> None:
    """Refuse numbers that overflow, or stem from damaged weights, before they pass for a fault of the architecture."""
    dtype = passes.states[0].dtype
    for what, _, ours, eager in passes.compared:
        if not (ours.isfinite().all() and eager.isfinite().all()):
            cause = (
                f"float16 ends at {torch.finfo(dtype).max:,.0f}. Set dtype: bfloat16 or float32, whose range is wider"
                if dtype == torch.float16
                else "config.json or the weights are damaged. Fetch both again, from one place"
            )
            raise HomogenizationError(f"{model.architecture}: {what} is not finite in a short text: {cause}.")


@contextmanager
def _told(model: PackedModel, what: str, n_tokens: int) -> Iterator[None]:
    """A failure in the `with` block, a pass over so many tokens, as the refusal of the architecture."""
    try:
        yield
    except (TypeError, ValueError, AttributeError, RuntimeError) as error:
        if ran_out_of_memory(error):
            raise HomogenizationError(
                f"{model.architecture}: memory runs out in the check, in {what} of {n_tokens} tokens. Give the model "
                "more GPUs (gpus), or run it in bfloat16 (dtype)."
            ) from error
        if is_of_device(error):
            raise
        raise unsupported(model.architecture, f"{what} fails ({error})") from error


def _compare(model: PackedModel, passes: _Passes) -> None:
    """Refuse the model where packed and eager rows differ by more than rounding."""
    for what, layer, ours, eager in passes.compared:
        _refuse_above(model, what, _difference(ours, eager), passes.rounding(layer))


def _compare_with_exact(model: PackedModel, passes: _Passes, exact: _Passes) -> None:
    """Refuse the model where packed rows are twice as far from those in float32 as eager rows are.

    The attention received is one row of all tokens here, since rounding is large beside a token's that is nearly zero.
    """
    for (what, layer, *both), (_, _, _, reference) in zip(passes.compared, exact.compared, strict=True):
        rows = [row.T if row.shape[1] == 1 else row for row in (*both, reference)]
        ours, eager = (_difference(row, rows[-1]) for row in rows[:2])
        _refuse_above(model, f"{what}, beside float32,", ours, max(passes.rounding(layer), 2 * eager))


def _difference(ours: torch.Tensor, reference: torch.Tensor) -> float:
    """Mean over tokens of a row's relative difference, so that one token with a huge norm can't hide the others'."""
    ours, reference = ours.float(), reference.to(ours.device, torch.float32)
    return ((ours - reference).norm(dim=-1) / reference.norm(dim=-1).clamp_min(1e-12)).mean().item()


def _refuse_above(model: PackedModel, what: str, found: float, allowed: float) -> None:
    if not found <= allowed:
        raise unsupported(
            model.architecture,
            f"{what} differs between packed texts and transformers' eager attention on single ones "
            f"(relative difference {found:.2g}, rounding explains {allowed:.2g})",
        )


def _has_final_norm(model: PackedModel, last_residual: torch.Tensor, packed: PassResult) -> bool:
    """Whether the model ends with a norm after its last block (the last hidden state is that norm's output)."""
    last_hidden_state = packed.last_hidden_state.to(last_residual.device)
    if torch.equal(last_hidden_state, last_residual):
        return False
    for module in model.network.modules():
        is_norm = "norm" in type(module).__name__.lower() and not any(module.children())
        if id(module) not in model.block_of and is_norm:
            with torch.inference_mode():
                try:
                    normed = module(last_residual[None])[0]
                except RuntimeError:  # a norm of another width
                    continue
            if torch.allclose(normed.to(last_residual.device), last_hidden_state, rtol=1e-3, atol=1e-3):
                return True
    raise HomogenizationError(
        f"{model.architecture}: what follows the last block is no norm, so the last hidden state has no name here; "
        "the model is refused. Choose a model whose blocks are followed by a norm or by nothing."
    )
