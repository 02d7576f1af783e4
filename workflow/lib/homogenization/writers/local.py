"""A writer that runs in the job's process: a language model with a chat template, which answers in batches."""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from hashlib import file_digest
from typing import Any

import torch
from jinja2 import TemplateError
from transformers import AutoModelForCausalLM, GenerationConfig, PreTrainedModel, PreTrainedTokenizerBase
from transformers.generation import LogitsProcessor, TemperatureLogitsWarper, TopPLogitsWarper

from homogenization.models.devices import placement
from homogenization.models.loading import context_of, load_network
from homogenization.models.tokens import load_tokenizer
from homogenization.models.weights import MODEL_FILES, resolve_weights
from homogenization.run.errors import HomogenizationError
from homogenization.writers.asking import TOP_P, Answer, Chat, seed_of

_LIMITS = "Lower batch_size, max_new_tokens or corpus.max_words."
# Llama's template prints today's date unless it is given one: a request has one prompt on every day
_FORM = {"add_generation_prompt": True, "padding": True, "return_tensors": "pt", "return_dict": True}
_FORM |= {"date_string": "26 July 2024"}


class _Drawn(LogitsProcessor):
    """Makes the likeliest token of each row a draw by its own seed: shares over exponential noise, as `multinomial`."""

    def __init__(self, seeds: Iterable[int], device: torch.device):
        self._generators = [torch.Generator(device).manual_seed(seed) for seed in seeds]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        shares = scores.softmax(dim=-1)
        for row, generator in zip(shares, self._generators, strict=True):
            row /= torch.empty_like(row).exponential_(generator=generator)
        return shares


class Writer:
    """Answers chats with a language model in this process; the first one loads it, in bfloat16 on a GPU.

    `entry` is one of `writers`, with the device, and gpus, the number of GPUs that share the layers.
    """

    def __init__(self, entry: Mapping[str, Any]):
        self._entry, self._weights = entry, resolve_weights(entry["weights"])

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Commit of the hub or digests of the files, and how answers are drawn."""
        drawn = {name: self._entry[name] for name in ("temperature", "max_new_tokens")}
        if self._weights.revision:
            return {"hub": self._entry["weights"]["hub"], "revision": self._weights.revision, **drawn}
        digests = {}
        for path in sorted({path for pattern in MODEL_FILES for path in self._weights.folder.glob(pattern)}):
            with path.open("rb") as file:
                digests[path.name] = file_digest(file, "sha256").hexdigest()
        return {"files": digests, **drawn}

    @cached_property
    def _loaded(self) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        """Network and tokenizer; of the checkpoint's ways to write (a repetition penalty), its end tokens stay."""
        entry, tokenizer = self._entry, load_tokenizer(self._weights.folder)
        places = placement(entry["device"], entry["gpus"])
        dtype = "bfloat16" if places else "float32"
        network = load_network(AutoModelForCausalLM, self._weights.folder, dtype, **places)
        own = network.generation_config.eos_token_id
        ends = sorted({*(own if isinstance(own, list) else [own]), tokenizer.eos_token_id} - {None})
        limits = {"pad_token_id": ends[0], "max_new_tokens": entry["max_new_tokens"]}
        network.generation_config = GenerationConfig(eos_token_id=ends, **limits)
        tokenizer.padding_side, tokenizer.pad_token_id = "left", ends[0]
        return network, tokenizer

    def complete(self, chats: Mapping[str, Chat], keep: Callable[[str, Answer], None]) -> dict[str, str]:
        """Hand each answer to `keep`, batch by batch, the shortest chats first; its key seeds its draws."""
        (network, tokenizer), n_in_batch = self._loaded, self._entry["batch_size"]
        temperature = self._entry["temperature"]
        # transformers would put a processor before its own warpers, and draws come last
        warpers = [TemperatureLogitsWarper(temperature), TopPLogitsWarper(TOP_P)] if temperature else []
        order = sorted(chats, key=lambda key: len(chats[key][-1]["content"]))
        for batch in (order[start : start + n_in_batch] for start in range(0, len(order), n_in_batch)):
            try:
                prompts = tokenizer.apply_chat_template([chats[key] for key in batch], **_FORM)
            except (TemplateError, ValueError) as error:
                raise HomogenizationError(
                    f"writers: the chat template of {self._weights.description} makes no prompt ({error}). Choose an "
                    "instruction-tuned model ('-Instruct', '-it'). Where its template takes no system message, leave "
                    "`system` of the prompt empty and say all in `user`."
                ) from error
            size, context = prompts["input_ids"].shape[1], context_of(network.config, tokenizer)
            if size + self._entry["max_new_tokens"] > context:
                raise HomogenizationError(f"writers: a prompt of {size} tokens in a context of {context}. {_LIMITS}")
            drawn = [*warpers, _Drawn(map(seed_of, batch), network.device)] if warpers else []
            try:
                written = network.generate(**prompts.to(network.device), logits_processor=drawn)[:, size:].tolist()
            except torch.OutOfMemoryError as error:
                asked = f"{len(batch)} chats of up to {size} tokens"
                raise HomogenizationError(f"writers: memory runs out at {asked}. {_LIMITS}") from error
            for key, tokens in zip(batch, written, strict=True):
                ended = not set(tokens).isdisjoint(network.generation_config.eos_token_id)
                keep(key, Answer(tokenizer.decode(tokens, skip_special_tokens=True), "stop" if ended else "length"))
        return {}
