"""A writer that runs in the job's process: a language model with a chat template, which answers in batches."""

import copy
import logging
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import takewhile
from typing import Any

import torch
from jinja2 import TemplateError
from transformers import (
    AutoModelForCausalLM,
    DynamicCache,
    GenerationConfig,
    LogitsProcessorList,
    PreTrainedModel,
    PreTrainedTokenizerBase,
)
from transformers.cache_utils import DynamicLayer, DynamicSlidingWindowLayer

from homogenization.models.devices import placement, ran_out_of_memory
from homogenization.models.loading import context_of, load_config, load_network
from homogenization.models.source import ResolvedWeights
from homogenization.models.tokenizer import load_tokenizer
from homogenization.models.weights import HUB_FILES, resolve_weights
from homogenization.run.errors import HomogenizationError
from homogenization.writers.requests import Completion, Failure, Request, generation, request_seed
from homogenization.writers.sampling import GrammarMask, Grammars, SeededSampling

logger = logging.getLogger(__name__)

# tokens of each answer, after which the answers that ended leave the batch
_STEP = 8
_COMMIT = re.compile(r"[0-9a-f]{40}")


class LocalWriter:
    """Answers requests with a language model in this process; the first request loads it.

    Args:
        entry: Entry of `writers`: weights, dtype, device, batch_size (requests), structured_output ("json_schema" or
            "none"), temperature (0: always the likeliest token), top_p, max_new_tokens; gpus (number of GPUs that share
            the layers, by default 1).
        seed: Seed from which the seed of each request is derived.
    """

    def __init__(self, entry: Mapping[str, Any], seed: int):
        self.parameters = generation(entry, seed)
        self._entry = entry
        self._weights = entry["weights"]
        self._read: tuple[Sequence[int], DynamicCache] | None = None

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
        files = {path for pattern in HUB_FILES for path in self._resolved.folder.glob(pattern) if path.is_file()}
        digests = {path.name: sha256(path.read_bytes()).hexdigest() for path in sorted(files)}
        return {"files": digests, "dtype": self._entry["dtype"]}

    @cached_property
    def _resolved(self) -> ResolvedWeights:
        return resolve_weights(self._weights)

    @cached_property
    def _model(self) -> "_ChatModel":
        return _load_chat_model(self._resolved, self._entry)

    def complete(self, requests: Sequence[Request]) -> Iterator[tuple[int, Completion | Failure]]:
        """Yield (number of the request, result) batch by batch, the shortest prompts first.

        When memory runs out, the batch size is halved for all remaining requests, whose prompts are longer.

        Raises:
            HomogenizationError: the model can't be loaded, its chat template refuses the messages, or llguidance can't
                read the regular expression of a request.
        """
        if not requests:
            return
        prompts = [self._model.token_ids(request.messages) for request in requests]
        longest = self._model.context - self.parameters["max_new_tokens"]
        for number, prompt in enumerate(prompts):
            if len(prompt) > longest:
                yield number, self._too_long(prompt)
        waiting = sorted(
            (number for number, prompt in enumerate(prompts) if len(prompt) <= longest),
            key=lambda number: len(prompts[number]),
        )
        start = self._shared_start([prompts[number] for number in waiting])
        size = self._entry["batch_size"]
        while waiting:
            batch = waiting[:size]
            asked = [requests[number] for number in batch], [prompts[number] for number in batch]
            try:
                answers = self._answers(*asked, start)
            except RuntimeError as error:
                if not ran_out_of_memory(error):
                    raise
                answers = []
            if not answers:  # after `except`: inside, the error still holds the tensors that fill the memory
                torch.cuda.empty_cache()
                if len(batch) > 1:
                    size = len(batch) // 2
                    logger.warning("memory ran out at %d requests a batch; from here on %d", len(batch), size)
                    continue
                answers = [self._too_large(prompts[batch[0]])]
            waiting = waiting[len(batch) :]
            logger.info("%d of %d requests are done", len(requests) - len(waiting), len(requests))
            yield from zip(batch, answers, strict=True)

    def _shared_start(self, prompts: Sequence[list[int]]) -> list[int]:
        """The tokens that all prompts begin with, whose keys and values are computed once; none if they can't be.

        Shorter prompts of a batch are padded behind this start. In a sliding window, padding takes the place of tokens.
        """
        longest = max(map(len, prompts), default=0) + self.parameters["max_new_tokens"]
        if len(prompts) < 2 or longest > self._model.smallest_window:
            return []
        first, last = min(prompts)[:-1], max(prompts)[:-1]  # in the order of words; those between begin as both do
        return [token for token, other in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))]

    def _answers(
        self, requests: Sequence[Request], prompts: Sequence[list[int]], start: Sequence[int]
    ) -> list[Completion]:
        """Answer one batch of requests, whose prompts begin with the tokens `start`."""
        model = self._model
        device = model.network.device
        token_ids, attended = self._padded(prompts, start)
        processors = LogitsProcessorList()
        if self.parameters["structured_output"] != "none":
            matchers = [model.grammars.matcher(request) for request in requests]
            processors.append(GrammarMask(matchers, model.end_tokens))
        if self.parameters["temperature"] > 0:
            seeds = [request_seed(self.parameters["seed"], request) for request in requests]
            processors.append(SeededSampling(seeds, self.parameters["temperature"], self.parameters["top_p"], device))
        cache = self._keys_and_values(token_ids, attended, start) if start else None
        most = self.parameters["max_new_tokens"]
        step = _STEP if model.smallest_window else most  # a network that keeps something else cannot go on
        rows, new = list(range(len(prompts))), [[] for _ in prompts]
        for done in range(0, most, step):
            written = model.network.generate(
                token_ids,
                attention_mask=attended,
                past_key_values=cache,
                max_new_tokens=min(step, most - done),
                logits_processor=processors,
                return_dict_in_generate=True,
            )
            n_before, token_ids, cache = token_ids.shape[1], written.sequences, written.past_key_values
            for row, tokens in zip(rows, token_ids[:, n_before:].tolist(), strict=True):
                new[row] += tokens
            going = [place for place, row in enumerate(rows) if set(new[row]).isdisjoint(model.end_tokens)]
            if not going:
                break
            attended = torch.nn.functional.pad(attended, (0, token_ids.shape[1] - n_before), value=1)
            if len(going) < len(rows):
                rows, token_ids, attended = [rows[place] for place in going], token_ids[going], attended[going]
                cache.batch_select_indices(torch.tensor(going, device=device))
                for processor in processors:
                    processor.keep(going)
        return [self._completion(tokens, len(prompt)) for tokens, prompt in zip(new, prompts, strict=True)]

    def _padded(self, prompts: Sequence[list[int]], start: Sequence[int]) -> tuple[torch.Tensor, torch.Tensor]:
        """The prompts as rows of one width, padded behind `start`; and 1 where a token is none of the padding."""
        width = max(map(len, prompts))
        padding = [width - len(prompt) for prompt in prompts]
        rows = [
            [*start, *[self._model.end_tokens[0]] * n_more, *prompt[len(start) :]]
            for prompt, n_more in zip(prompts, padding, strict=True)
        ]
        attended = [[1] * len(start) + [0] * n_more + [1] * (width - len(start) - n_more) for n_more in padding]
        device = self._model.network.device
        return torch.tensor(rows, device=device), torch.tensor(attended, device=device)

    def _keys_and_values(self, token_ids: torch.Tensor, attended: torch.Tensor, start: Sequence[int]) -> DynamicCache:
        """Keys and values of the prompts but for their last tokens; writing appends to them.

        Those of `start` are computed once for all batches, and those of equal prompts once for all their candidates.
        """
        if self._read is None or self._read[0] != start:
            self._read = None  # before others are computed: they need the memory
            network, cache = self._model.network, DynamicCache(config=self._model.network.config)
            with torch.inference_mode():
                network.base_model(torch.tensor([start], device=network.device), past_key_values=cache)
            self._read = start, cache
        cache = copy.deepcopy(self._read[1])
        (different, attended), numbers = torch.unique(torch.stack([token_ids, attended]), dim=1, return_inverse=True)
        cache.batch_repeat_interleave(len(different))
        options = {"attention_mask": attended, "past_key_values": cache, "return_dict_in_generate": True}
        cache = self._model.network.generate(different, max_new_tokens=1, **options).past_key_values
        cache.crop(-1)
        cache.batch_select_indices(numbers)
        return cache

    def _completion(self, tokens: list[int], n_prompt: int) -> Completion:
        """The answer in the new tokens of one row; the tokens after its first end token are padding."""
        ends = [place for place, token in enumerate(tokens) if token in self._model.end_tokens]
        n_tokens = ends[0] + 1 if ends else len(tokens)
        text = self._model.tokenizer.decode(tokens[:n_tokens], skip_special_tokens=True)
        usage = {"prompt_tokens": n_prompt, "completion_tokens": n_tokens, "total_tokens": n_prompt + n_tokens}
        return Completion(text, "stop" if ends else "length", usage)

    def _too_long(self, prompt: list[int]) -> Failure:
        return Failure(
            f"the prompt has {len(prompt)} tokens and max_new_tokens is {self.parameters['max_new_tokens']}, more than "
            f"the model's context of {self._model.context}; lower max_new_tokens or corpus max_words"
        )

    def _too_large(self, prompt: list[int]) -> Failure:
        return Failure(
            f"memory runs out even for this request alone (a prompt of {len(prompt)} tokens, max_new_tokens "
            f"{self.parameters['max_new_tokens']}); lower max_new_tokens or corpus max_words, or give the writer a "
            "larger GPU or more of them (gpus)"
        )


make_writer = LocalWriter  # what the module of a backend is asked for


@dataclass(frozen=True)
class _ChatModel:
    """A loaded model.

    Attributes:
        network: The network with its head, on its device.
        tokenizer: A fast tokenizer with a chat template.
        context: Largest number of tokens of prompt and answer together.
        end_tokens: Tokens that end an answer, at least one.
        grammars: Matchers for this tokenizer.
        smallest_window: How many tokens each layer attends to at least; infinite where all attend to all.
    """

    network: PreTrainedModel
    tokenizer: PreTrainedTokenizerBase
    context: int
    end_tokens: list[int]
    grammars: Grammars
    smallest_window: float

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
    config = load_config(folder)
    places = placement(entry["device"], entry.get("gpus", 1))
    network = load_network(AutoModelForCausalLM, folder, entry["dtype"], **places)
    configured = network.generation_config.eos_token_id
    ends = [*(configured if isinstance(configured, list) else [configured]), tokenizer.eos_token_id]
    end_tokens = sorted({token for token in ends if token is not None})
    if not end_tokens:
        raise HomogenizationError(f"writers: neither model nor tokenizer of {weights.description} has an end token.")
    network.generation_config = GenerationConfig(eos_token_id=end_tokens, pad_token_id=end_tokens[0], do_sample=False)
    grammars = Grammars(tokenizer, config.get_text_config().vocab_size, end_tokens)
    context = context_of(config, tokenizer, folder)
    return _ChatModel(network, tokenizer, context, end_tokens, grammars, _smallest_window(network))


def _smallest_window(network: PreTrainedModel) -> float:
    """The smallest number of tokens that a layer attends to; 0 where one keeps something else than keys and values."""
    if network._is_stateful:
        return 0
    kinds = {type(layer): layer for layer in DynamicCache(config=network.config).layers}
    if not kinds.keys() <= {DynamicLayer, DynamicSlidingWindowLayer}:
        return 0
    return min((getattr(layer, "sliding_window", None) or math.inf for layer in kinds.values()), default=math.inf)
