"""The network that is trained: with its language-model head, and with low-rank updates where these are asked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, PreTrainedModel, PreTrainedTokenizerBase

from homogenization.models.blocks import blocks_of
from homogenization.models.devices import placement
from homogenization.models.loading import checked_max_tokens, is_causal, load_config, load_network
from homogenization.models.tokenizer import load_tokenizer
from homogenization.models.untrained import position_embeddings
from homogenization.models.weights import resolve_weights
from homogenization.run.errors import HomogenizationError

_WITHOUT_HEAD = "Training predicts the next token with the language-model head. Take files that hold it."


@dataclass
class Trainable:
    """A network that is trained.

    Attributes:
        network: network with its head, wrapped by peft where updates have a low rank; it makes no random choices.
        blocks: its transformer blocks, in order.
        tokenizer: fast tokenizer.
        parameters: what is trained, by name.
    """

    network: torch.nn.Module
    blocks: torch.nn.ModuleList
    tokenizer: PreTrainedTokenizerBase
    parameters: dict[str, torch.nn.Parameter]

    @property
    def device(self) -> torch.device:
        """Where token ids go and losses are."""
        return self.network.get_input_embeddings().weight.device

    def whole(self) -> PreTrainedModel:
        """The network with its updates merged into its weights; it is trained no more."""
        return self.network.merge_and_unload() if isinstance(self.network, PeftModel) else self.network


def load_trainable(
    weights: Mapping[str, Any], options: Mapping[str, Any], *, device: str, gpus: int, seed: int, bos: str = "default"
) -> Trainable:
    """Load the network that training starts from.

    Args:
        weights: entry of the weights, as for `resolve_weights`.
        options: how it is trained: `max_tokens`, `lora`, `dtype`, `of`; the last three may be absent.
        device: `auto`, `cuda`, `mps` or `cpu`.
        gpus: number of the job's GPUs.
        seed: seed of the low-rank updates.
        bos: whether a BOS token opens a text: `always`, `never`, or `default` (as the tokenizer does).

    Raises:
        HomogenizationError: the model reads texts in both directions, has no head, or reads no texts of
            `max_tokens`; or what `load_network` raises.
    """
    resolved = resolve_weights(weights)
    folder = resolved.folder
    config = load_config(folder)
    if not is_causal(config):
        raise HomogenizationError(
            f"{resolved.description}: {config.model_type} reads a text in both directions and predicts no next token. "
            "Choose a causal language model."
        )
    tokenizer = load_tokenizer(folder, bos)
    checked_max_tokens(options, config, tokenizer, folder)
    # eager attention has one way to compute, on every machine
    loading = {"attn_implementation": "eager", "remedy": _WITHOUT_HEAD, **placement(device, gpus)}
    network = load_network(AutoModelForCausalLM, folder, options.get("dtype", "float32"), **loading)
    network.eval()  # no dropout: a step depends on its texts alone
    blocks = blocks_of(network)
    if options.get("of", {}).get("positions") == "none":
        for parameter in position_embeddings(network):
            parameter.requires_grad_(False)
    if options.get("lora"):
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            lora = LoraConfig(
                r=options["lora"],
                lora_alpha=2 * options["lora"],
                target_modules="all-linear",
                task_type="CAUSAL_LM",
            )
            network = get_peft_model(network, lora).eval()
    parameters = {name: parameter for name, parameter in network.named_parameters() if parameter.requires_grad}
    return Trainable(network, blocks, tokenizer, parameters)
