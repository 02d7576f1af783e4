"""What the files of a network tell against what is asked of it, before any job; its jobs say the rest."""

from collections.abc import Mapping
from typing import Any

from homogenization.models.declared import Declared


def refuse_without_head(networks: Mapping[str, Declared | None], section: str) -> None:
    """Refuse causal models that are known to lack the language-model head, with which damage is measured.

    Args:
        networks: what files declare of each model; None where nothing can be read.
        section: the section that names the models.

    Raises:
        ValueError: a model lacks its head.
    """
    for name, declared in networks.items():
        if declared is not None and declared.lacks_head:
            raise ValueError(
                f"the model {name!r} ({declared.model_type}) lacks its language-model head, with which damage is "
                "measured; give files that hold it (of random weights, only those with 'tie_word_embeddings: true' "
                f"have one), or name other models under '{section}.models'"
            )


def refuse_without_rotation(networks: Mapping[str, Declared | None]) -> None:
    """Refuse other positions in models that are known to have none that rotate; arguments as `refuse_without_head`.

    Raises:
        ValueError: positions of a model do not rotate.
    """
    for name, declared in networks.items():
        if declared is not None and declared.lacks_rotary_positions:
            raise ValueError(
                f"positions: the model {name!r} ({declared.model_type}) has no rotary positions, and learned ones have "
                "no meaning elsewhere; set 'positions: []', or name other models under 'interventions.models'"
            )


def refuse_untrainable(weights: Any, declared: Declared | None) -> None:
    """Refuse to train what can't be trained as it is asked.

    Args:
        weights: an entry that is trained, with its `arm` and `options`.
        declared: what files declare of the network that it starts from; None where nothing can be read.

    Raises:
        ValueError: the start is an encoder, or has a shorter context or fewer layers than are asked for.
    """
    if declared is None:
        return
    text, options = f"{weights.arm}: the model that is trained ({declared.model_type})", weights.options
    if declared.is_encoder:
        raise ValueError(f"{text} reads a text in both directions and predicts no next token; take a causal one")
    context, n_blocks = declared.context, declared.n_blocks
    if context is not None and options.max_tokens > context:
        raise ValueError(f"{text} reads at most {context} tokens; max_tokens is {options.max_tokens}, lower it")
    layers = options.penalty.layers if options.penalty else []
    beyond = [layer for layer in layers if isinstance(layer, int) and n_blocks is not None and layer > n_blocks]
    if beyond:
        raise ValueError(
            f"{text} has no layers {beyond} for penalty.layers; its blocks make the layers 1 to {n_blocks}. Name some "
            "of these, or 'steepest'"
        )
