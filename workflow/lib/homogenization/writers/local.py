"""A writer that runs in the job's process: a language model with a chat template, which answers in batches."""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import Any

import torch
from jinja2 import TemplateError
from transformers import (
    AutoModelForCausalLM,
    BatchEncoding,
    GenerationConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)

from homogenization.models.devices import placement
from homogenization.models.loading import context_of, load_network
from homogenization.models.tokens import load_tokenizer
from homogenization.models.weights import MODEL_FILES, ResolvedWeights, resolve_weights
from homogenization.run.errors import HomogenizationError
from homogenization.writers.asking import Answer, Chat, Request

# begins a chat template that prints today's date: a request has one prompt, and so one answer, on every day
_NAMED = [(f"%{name}", datetime(2024, 7, 26).strftime(f"%{name}")) for name in ("-d", *"AaBbdeHIjMmpSYy")]
_NAMING = " ".join(f"| replace({name!r}, {value!r})" for name, value in _NAMED)
_ONE_DAY = "{%- macro strftime_now(format) -%}{{ format " + _NAMING + " }}{%- endmacro +%}"


class LocalWriter:
    """Answers requests with a language model in this process; the first request loads it.

    Args:
        entry: Entry of `writers`: weights, dtype, device, batch_size (requests), temperature (0: always the likeliest
            token), top_p, max_new_tokens; gpus (number of GPUs that share the layers, by default 1).
    """

    def __init__(self, entry: Mapping[str, Any]):
        self._entry = entry

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Commit of the hub, which needs no fetch, or digests of the files; and how answers are drawn."""
        weights, names = self._entry["weights"], ("dtype", "temperature", "top_p", "max_new_tokens")
        drawn = {name: self._entry[name] for name in names}
        pinned = re.fullmatch(r"[0-9a-f]{40}", weights.get("revision") or "")
        if revision := weights["revision"] if "hub" in weights and pinned else self._resolved.revision:
            return {"hub": weights["hub"], "revision": revision, **drawn}
        files = {path for pattern in MODEL_FILES for path in self._resolved.folder.glob(pattern) if path.is_file()}
        return {"files": {path.name: sha256(path.read_bytes()).hexdigest() for path in sorted(files)}, **drawn}

    @cached_property
    def _resolved(self) -> ResolvedWeights:
        return resolve_weights(self._entry["weights"])

    @cached_property
    def _loaded(self) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
        """Network and tokenizer; of the checkpoint's ways to write (a repetition penalty), its end tokens stay."""
        entry, folder = self._entry, self._resolved.folder
        tokenizer, places = load_tokenizer(folder), placement(entry["device"], entry.get("gpus", 1))
        if tokenizer.chat_template is None:
            raise HomogenizationError(
                f"writers: {self._resolved.description} has no chat template. Choose an instruction-tuned model "
                "('-Instruct', '-it'), or add a chat_template.jinja to a copy."
            )
        tokenizer.chat_template = _ONE_DAY + tokenizer.get_chat_template()
        network = load_network(AutoModelForCausalLM, folder, entry["dtype"], **places)
        own = network.generation_config.eos_token_id
        ends = sorted({*(own if isinstance(own, list) else [own]), tokenizer.eos_token_id} - {None})
        drawn = {"do_sample": True, "temperature": entry["temperature"], "top_p": entry["top_p"], "top_k": 0}
        common = {"eos_token_id": ends, "pad_token_id": ends[0], "max_new_tokens": entry["max_new_tokens"]}
        network.generation_config = GenerationConfig(**common, **(drawn if entry["temperature"] else {}))
        tokenizer.padding_side, tokenizer.pad_token_id = "left", ends[0]
        return network, tokenizer

    def complete(self, requests: Mapping[str, Request], keep: Callable[[str, Answer], None]) -> dict[str, str]:
        """As `Writer.complete`, batch by batch, the shortest prompts first; the first request seeds its batch."""
        (network, tokenizer), n_new = self._loaded, self._entry["max_new_tokens"]
        limits = f"Lower batch_size, max_new_tokens ({n_new}) or corpus max_words. Answers that are there are kept."
        order = sorted(requests, key=lambda key: len(requests[key].messages[-1]["content"]))
        for start in range(0, len(order), self._entry["batch_size"]):
            batch = order[start : start + self._entry["batch_size"]]
            prompts = self._prompts([requests[key].messages for key in batch]).to(network.device)
            size, context = prompts["input_ids"].shape[1], context_of(network.config, tokenizer)
            if size + n_new > context:
                raise HomogenizationError(f"writers: a prompt of {size} tokens in a context of {context}. {limits}")
            torch.manual_seed(requests[batch[0]].seed)
            try:
                written = network.generate(**prompts)[:, size:].tolist()
            except torch.OutOfMemoryError as error:
                raise HomogenizationError(
                    f"writers: memory runs out at {len(batch)} requests of up to {size} tokens. {limits}"
                ) from error
            for key, tokens in zip(batch, written, strict=True):
                ended = not set(tokens).isdisjoint(network.generation_config.eos_token_id)
                keep(key, Answer(tokenizer.decode(tokens, skip_special_tokens=True), "stop" if ended else "length"))
        return {}

    def _prompts(self, chats: list[Chat]) -> BatchEncoding:
        form = {"add_generation_prompt": True, "padding": True, "return_tensors": "pt", "return_dict": True}
        try:
            return self._loaded[1].apply_chat_template(chats, **form)
        except TemplateError as error:
            raise HomogenizationError(
                f"writers: the chat template of {self._resolved.description} refuses the messages ({error}). Where it "
                "takes no system message, leave `system` of the prompt empty and say all in `user`."
            ) from error


make_writer = LocalWriter  # what the module of a backend is asked for
