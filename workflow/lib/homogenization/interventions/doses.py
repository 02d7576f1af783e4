"""What a condition does to a model: to its predictions, to its sink; and whether a norm undoes a common factor."""

import numpy as np
import torch

from homogenization.interventions.passes import Run
from homogenization.models.network import LanguageModel
from homogenization.states.forward import forward

SINK = 10.0  # times the attention that a token receives on average, 1
TAKEN = 0.25  # of the attention that the sink received
_POSITIONS_AT_ONCE = 64  # of predictions: a vocabulary can have 256,000 words


@torch.inference_mode()
def damage(untouched: Run, changed: Run, token_ids: np.ndarray) -> tuple[float, float] | tuple[None, None]:
    """KL(p_0 ‖ p) of the next-token distributions, mean over the tokens; and the changed run's loss per token, in nats.

    The loss is the mean of -log p(x_i | x_1 … x_i-1), NaN for one token. None without a language-model head.
    """
    if changed.logits is None:
        return None, None
    n_tokens, kl, loss = len(token_ids), 0.0, 0.0
    following = torch.as_tensor(token_ids, device=changed.logits.device)[1:, None]
    for start in range(0, n_tokens, _POSITIONS_AT_ONCE):
        some = slice(start, start + _POSITIONS_AT_ONCE)
        before, after = (one.logits[some].float().log_softmax(-1) for one in (untouched, changed))
        kl += (before.exp() * (before - after)).sum().item()
        loss -= after[: len(following[some])].gather(1, following[some]).sum().item()
    return kl / n_tokens, loss / (n_tokens - 1) if n_tokens > 1 else np.nan


def sink_moved(before: np.ndarray, after: np.ndarray) -> bool:
    """Whether another token takes over the sink, the token that received most attention, (tokens,) in both runs.

    It does where it now receives most, more than ten times the mean token, and by a gain of at least a quarter of what
    the sink received.
    """
    sink, most = int(before.argmax()), int(after.argmax())
    gain = after[most] - before[most]
    return bool(most != sink and after[most] > SINK and gain >= TAKEN * before[sink])


def norms_attention(model: LanguageModel) -> bool:
    """Whether a block passes what its attention puts out through a norm before it adds it to the stream.

    Such a norm (Gemma 2 and 3, OLMo 2, GLM-4) undoes a common factor: half of the weights do what all do, up to the
    norm's epsilon. The norm of BERT reads a sum and is none. False where attention is out of reach.
    """
    tokens = range(8)
    whole = forward(model, tokens, head=False)
    if whole.received is None:
        return False
    halved, nothing = (
        forward(model, tokens, head=False, watch=lambda attention, share=share: share * attention.weights)
        for share in (0.5, 0.0)
    )
    change, all_of_it = ((one.states[1].float() - whole.states[1].float()).norm() for one in (halved, nothing))
    return bool(change < 0.05 * all_of_it)
