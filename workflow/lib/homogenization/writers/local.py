"""A writer that runs in the job's process: a language model with a chat template, which answers in batches."""

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from hashlib import sha256
from typing import Any

import torch
from jinja2 import TemplateError
from transformers import (
    AutoModelForCausalLM,
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    TemperatureLogitsWarper,
    TopPLogitsWarper,
)

from homogenization.models.devices import placement
from homogenization.models.loading import context_of, load_config, load_network
from homogenization.models.tokens import load_tokenizer
from homogenization.models.weights import MODEL_FILES, ResolvedWeights, resolve_weights
from homogenization.run.errors import HomogenizationError
from homogenization.writers.requests import Completion, Failure, Request, generation, request_seed

logger = logging.getLogger(__name__)

_COMMIT = re.compile(r"[0-9a-f]{40}")
# begins a chat template that prints today's date: a request has one prompt, and so one answer, on every day
TODAY = datetime(2024, 7, 26)
_NAMED = [(f"%{name}", TODAY.strftime(f"%{name}")) for name in ("-d", *"AaBbdeHIjMmpSYy")]
_NAMING = " ".join(f"| replace({name!r}, {value!r})" for name, value in _NAMED)
_ONE_DAY = "{%- macro strftime_now(format) -%}{{ format " + _NAMING + " }}{%- endmacro +%}"


class LocalWriter:
    """Answers requests with a language model in this process; the first request loads it.

    Args:
        entry: Entry of `writers`: weights, dtype, device, batch_size (requests), temperature (0: always the likeliest
            token), top_p, max_new_tokens; gpus (number of GPUs that share the layers, by default 1).
        seed: Seed from which the seed of each request is derived.
    """

    def __init__(self, entry: Mapping[str, Any], seed: int):
        self.parameters = generation(entry, seed)
        self._entry = entry
        self._weights = entry["weights"]

    @cached_property
    def identity(self) -> dict[str, Any]:
        """Commit of the hub or digests of the files, and dtype. No weights are loaded; a given commit needs no fetch.

        Raises:
            HomogenizationError: the weights are not found.
        """
        hub, revision = self._weights.get("hub"), self._weights.get("revision")
        if hub is not None and not _COMMIT.fullmatch(revision or ""):
            revision = self._resolved.revision
        if hub is not None and revision is not None:
            return {"hub": hub, "revision": revision, "dtype": self._entry["dtype"]}
        # the chat template, for example, changes the prompt
        files = {path for pattern in MODEL_FILES for path in self._resolved.folder.glob(pattern) if path.is_file()}
        digests = {path.name: sha256(path.read_bytes()).hexdigest() for path in sorted(files)}
        return {"files": digests, "dtype": self._entry["dtype"]}

    @cached_property
    def _resolved(self) -> ResolvedWeights:
        return resolve_weights(self._weights)

    @cached_property
    def _model(self) -> "_ChatModel":
        logger.info("loading %s", self._resolved.description)
        return _load_chat_model(self._resolved, self._entry)

    def complete(self, requests: Sequence[Request]) -> Iterator[tuple[int, Completion | Failure]]:
        """Yield (number of the request, result) batch by batch, the shortest prompts first.

        Raises:
            HomogenizationError: the model can't be loaded, its chat template refuses the messages, or a batch does not
                fit into the memory.
        """
        prompts = [self._model.token_ids(request.messages) for request in requests]
        most = self.parameters["max_new_tokens"]
        fitting = []
        for number in sorted(range(len(prompts)), key=lambda number: len(prompts[number])):
            if len(prompts[number]) + most <= self._model.context:
                fitting.append(number)
                continue
            yield (
                number,
                Failure(
                    f"the prompt has {len(prompts[number])} tokens and max_new_tokens is {most}, more than the model's "
                    f"context of {self._model.context}; lower max_new_tokens or corpus max_words"
                ),
            )
        size = self._entry["batch_size"]
        for batch in (fitting[start : start + size] for start in range(0, len(fitting), size)):
            try:
                answers = self._answers([requests[n] for n in batch], [prompts[n] for n in batch])
            except torch.OutOfMemoryError as error:
                raise HomogenizationError(
                    f"writers: memory runs out at {len(batch)} requests a batch, with prompts of up to "
                    f"{len(prompts[batch[-1]])} tokens. Lower batch_size, max_new_tokens or corpus max_words, or give "
                    "the writer more GPUs (gpus). No answer that is there is asked for again."
                ) from error
            yield from zip(batch, answers, strict=True)

    def _answers(self, requests: Sequence[Request], prompts: Sequence[list[int]]) -> list[Completion]:
        """Answer one batch of requests, whose prompts are padded on the left."""
        network, ends = self._model.network, self._model.end_tokens
        width = max(map(len, prompts))
        token_ids = torch.tensor([[ends[0]] * (width - len(prompt)) + prompt for prompt in prompts])
        attended = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts])
        processors = LogitsProcessorList()
        if self.parameters["temperature"] > 0:
            processors.append(TemperatureLogitsWarper(float(self.parameters["temperature"])))
            if self.parameters["top_p"] < 1:
                processors.append(TopPLogitsWarper(self.parameters["top_p"]))
            processors.append(Drawn([request_seed(self.parameters["seed"], one) for one in requests], network.device))
        written = network.generate(
            token_ids.to(network.device),
            attention_mask=attended.to(network.device),
            max_new_tokens=self.parameters["max_new_tokens"],
            logits_processor=processors,
        )
        new = written[:, width:].tolist()
        return [self._completion(tokens, len(prompt)) for tokens, prompt in zip(new, prompts, strict=True)]

    def _completion(self, tokens: list[int], n_prompt: int) -> Completion:
        """The answer in the new tokens of one row; the tokens after its first end token are padding."""
        ends = [place for place, token in enumerate(tokens) if token in self._model.end_tokens]
        n_tokens = ends[0] + 1 if ends else len(tokens)
        text = self._model.tokenizer.decode(tokens[:n_tokens], skip_special_tokens=True)
        usage = {"prompt_tokens": n_prompt, "completion_tokens": n_tokens, "total_tokens": n_prompt + n_tokens}
        return Completion(text, "stop" if ends else "length", usage)


make_writer = LocalWriter  # what the module of a backend is asked for


class Drawn(LogitsProcessor):
    """Adds Gumbel noise to the scores, so that the largest is a draw from them (Gumbel 1954).

    Each row has its own random generator, so an answer does not depend on the other rows of the batch.
    """

    def __init__(self, seeds: Sequence[int], device: torch.device):
        self._generators = [torch.Generator(device).manual_seed(seed) for seed in seeds]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores, rows × vocabulary, with noise."""
        noise = torch.empty_like(scores)
        for row, generator in zip(noise, self._generators, strict=True):
            row.exponential_(generator=generator)
        # a zero would give an infinite score, or NaN for an excluded token
        return scores - noise.clamp_min_(torch.finfo(noise.dtype).tiny).log_()


@dataclass(frozen=True)
class _ChatModel:
    """A loaded model.

    Attributes:
        network: The network with its head, on its device.
        tokenizer: A fast tokenizer with a chat template.
        context: Largest number of tokens of prompt and answer together.
        end_tokens: Tokens that end an answer, at least one.
    """

    network: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    context: int
    end_tokens: list[int]

    def token_ids(self, messages: list[dict[str, str]]) -> list[int]:
        """The token ids of the prompt that the chat template makes of `messages`."""
        try:
            return self.tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)
        except TemplateError as error:
            raise HomogenizationError(
                f"writers: the chat template of {self.tokenizer.name_or_path} refuses the messages ({error}). Where it "
                "takes no system message, leave `system` of the prompt empty and say all in `user`."
            ) from error


def _load_chat_model(weights: ResolvedWeights, entry: Mapping[str, Any]) -> _ChatModel:
    """Load network and tokenizer, without the checkpoint's sampling settings.

    A checkpoint's repetition penalty, for example, would make the words of the review less likely.
    """
    folder = weights.folder
    tokenizer = load_tokenizer(folder)
    if tokenizer.chat_template is None:
        raise HomogenizationError(
            f"writers: {weights.description} has no chat template, so it is not made for instructions. Choose an "
            "instruction-tuned model ('-Instruct', '-it'), or add a chat_template.jinja to a copy."
        )
    named = tokenizer.chat_template
    one = isinstance(named, str)
    tokenizer.chat_template = _ONE_DAY + named if one else {name: _ONE_DAY + text for name, text in named.items()}
    places = placement(entry["device"], entry.get("gpus", 1))
    network = load_network(AutoModelForCausalLM, folder, entry["dtype"], **places)
    configured = network.generation_config.eos_token_id
    ends = [*(configured if isinstance(configured, list) else [configured]), tokenizer.eos_token_id]
    end_tokens = sorted({token for token in ends if token is not None})
    if not end_tokens:
        raise HomogenizationError(f"writers: neither model nor tokenizer of {weights.description} has an end token.")
    network.generation_config = GenerationConfig(eos_token_id=end_tokens, pad_token_id=end_tokens[0], do_sample=False)
    return _ChatModel(network, tokenizer, context_of(load_config(folder), tokenizer), end_tokens)
