"""The check that a packed pass gives the same numbers as transformers' own attention; each model must pass it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from homogenization.models.blocks import unsupported
from homogenization.run.errors import HomogenizationError
from homogenization.states.attention import PACKED_ATTENTION
from homogenization.states.network import PackedModel, PassResult, forward, residual_stream_taken, run_packed

# names of the configuration's settings for the width of an attention window
_WINDOW_SETTINGS = ("sliding_window", "attention_chunk_size", "local_attention", "window_size")
_PROBE_LENGTHS = (14, 10)


@dataclass(frozen=True)
class Findings:
    """Findings of the check: whether attention is causal, and whether a norm follows the last block."""

    causal: bool
    final_norm: bool


def check_against_eager(model: PackedModel, longest: int, record_attention: bool) -> Findings:
    """Compare a packed pass over a short probe with transformers' own eager attention, one text at a time.

    Packing can't honour some architectures: positions that don't restart, a bias in the mask, or attention across
    texts. These show as a difference in the residual stream or in the attention received.

    Args:
        model: transformer to check.
        longest: number of tokens of the longest review; if the model has a shorter attention window, one text of the
            probe exceeds it.
        record_attention: whether the pass records the attention received, as in `run_packed`.

    Raises:
        HomogenizationError: the architecture can't be honoured; the message names it and the difference.
    """
    probes = _probes(model.network.config.get_text_config(), longest)
    lengths = [len(probe) for probe in probes]
    packed_states: list[torch.Tensor] = []
    packed = run_packed(
        model,
        torch.cat(probes),
        lengths,
        record_attention,
        lambda _, states: packed_states.append(states.clone()),
    )
    if len(packed_states) != model.n_blocks + 1 or packed_states[0].shape[-1] != model.width:
        raise unsupported(model.architecture, "its residual stream does not pass once through each block")

    start = 0
    for probe in probes:
        stop = start + len(probe)
        states, last, received = _run_eager(model, probe, packed.packed_pass.attended)
        for layer, (ours, eager) in enumerate(zip(packed_states, states, strict=True)):
            _compare(model, f"the residual stream of layer {layer}", layer, ours[start:stop], eager)
        _compare(model, "the last hidden state", model.n_blocks, packed.last_hidden_state[start:stop], last)
        if packed.received is not None:
            ours = packed.received[:, start:stop, None]
            for block in range(model.n_blocks):
                _compare(model, f"attention of block {block + 1}", block + 1, ours[block], received[block][:, None])
        start = stop
    return Findings(packed.packed_pass.is_causal(model.n_blocks), _has_final_norm(model, packed_states[-1], packed))


def _probes(config: Any, longest: int) -> list[torch.Tensor]:
    """Token ids of the probe's texts: random, the same in each run, without padding tokens."""
    lengths = list(_PROBE_LENGTHS)
    windows = [getattr(config, name, None) for name in _WINDOW_SETTINGS]
    crossed = [window for window in windows if isinstance(window, int) and 0 < window < longest]
    if crossed:
        lengths.append(min(max(crossed) + 16, longest))
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(config.vocab_size, (sum(lengths),), generator=generator)
    ids[ids == config.pad_token_id] = (config.pad_token_id or 0) + 1
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
        with residual_stream_taken(model.blocks, lambda _, taken: states.append(taken.clone())):
            output = forward(model, token_ids)
    except (TypeError, ValueError, RuntimeError) as error:
        raise unsupported(model.architecture, f"transformers' eager attention fails ({error})") from error
    finally:
        model.network.set_attn_implementation(PACKED_ATTENTION)
        for hook in hooks:
            hook.remove()
    return states, output.last_hidden_state[0], received


def _compare(model: PackedModel, what: str, depth: int, ours: torch.Tensor, eager: torch.Tensor) -> None:
    """Refuse the model where the rows of `ours` and `eager` (tokens, width) differ by more than rounding.

    The measure is the mean over tokens of a row's relative difference, so that one token with a huge norm can't hide
    the differences of the others. The rounding errors of the blocks add up like a random walk, so the allowed
    difference grows with the square root of the depth.
    """
    ours, eager = ours.float(), eager.to(ours.device, torch.float32)
    difference = (ours - eager).norm(dim=-1) / eager.norm(dim=-1).clamp_min(1e-12)
    allowed = max(1e-4, 4 * torch.finfo(model.network.dtype).eps) * (1 + depth) ** 0.5
    found = difference.mean().item()
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
        if id(module) not in model.block_of and "norm" in type(module).__name__.lower():
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
