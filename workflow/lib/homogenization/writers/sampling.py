"""The next token of each answer of a batch: its grammar, temperature, top-p, and random numbers of its own."""

import json
from collections.abc import Sequence
from typing import Any

import llguidance.hf
import numpy as np
import torch
from llguidance import LLMatcher, LLTokenizer
from transformers import LogitsProcessor, PreTrainedTokenizerBase, TemperatureLogitsWarper, TopPLogitsWarper

# a small model that may put as much white space as it likes can go on with it for ever
_WHITE_SPACE = {"whitespace_pattern": r"[ \n]?"}


class SeededSampling(LogitsProcessor):
    """Turns scores so that the largest is a sample: scores / temperature, cut to top-p, plus Gumbel noise.

    The largest of log p + Gumbel noise is a draw from p (Gumbel 1954), so greedy decoding samples. Each row draws its
    noise from a generator of its own: what an answer becomes does not depend on what else is in the batch.

    Args:
        seeds: One for each row of the batch.
        temperature: Above 0.
        top_p: Tokens behind the likeliest ones of this probability are never drawn.
        device: Where the scores are; another kind of device draws other numbers.
    """

    def __init__(self, seeds: Sequence[int], temperature: float, top_p: float, device: torch.device):
        self._temperature = TemperatureLogitsWarper(float(temperature))
        self._top_p = TopPLogitsWarper(top_p) if top_p < 1 else None
        self._generators = [torch.Generator(device).manual_seed(seed) for seed in seeds]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """float32 scores, rows × vocabulary, in and out."""
        scores = self._temperature(input_ids, scores)
        if self._top_p is not None:
            scores = self._top_p(input_ids, scores)
        noise = torch.empty_like(scores)
        for row, generator in zip(noise, self._generators, strict=True):
            row.exponential_(generator=generator)
        # a zero would be an infinite score, or NaN where the token is ruled out
        return scores - noise.clamp_min_(torch.finfo(noise.dtype).tiny).log_()


class GrammarMask(LogitsProcessor):
    """Leaves each answer only the tokens with which it can still become what its grammar describes.

    Args:
        matchers: The grammar of each row of the batch, from `Grammars.matcher`, none used before.
        end_tokens: Tokens that end an answer.
    """

    def __init__(self, matchers: Sequence[LLMatcher], end_tokens: Sequence[int]):
        self._matchers = matchers
        self._end_tokens = frozenset(end_tokens)
        self._n_calls = 0
        self._ended = [False] * len(matchers)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Scores, rows × vocabulary, with -inf for what is not allowed."""
        if self._n_calls > 0:  # before, the last token belongs to the prompt
            for row, token in enumerate(input_ids[:, -1].tolist()):
                self._take(row, token)
        self._n_calls += 1
        allowed = np.ones(scores.shape, dtype=bool)
        for row, matcher in enumerate(self._matchers):
            if not self._ended[row]:
                bits = np.frombuffer(matcher.compute_bitmask(), dtype=np.uint8)
                allowed[row] = np.unpackbits(bits, bitorder="little")[: scores.shape[1]]
        return scores.masked_fill(~torch.from_numpy(allowed).to(scores.device), -torch.inf)

    def _take(self, row: int, token: int) -> None:
        """Let the grammar of a row know the token that was drawn for it; what follows its end is padding."""
        self._ended[row] |= token in self._end_tokens
        if not self._ended[row] and not self._matchers[row].consume_token(token):
            raise RuntimeError(f"token {token} was drawn against the grammar: {self._matchers[row].get_error()}")


class Grammars:
    """Makes matchers of JSON schemas for one tokenizer.

    Args:
        tokenizer: A fast tokenizer.
        n_scores: Width of the model's scores, which may be larger than the vocabulary.
        end_tokens: Tokens that end an answer.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, n_scores: int, end_tokens: Sequence[int]):
        n_tokens = max(n_scores, len(tokenizer))
        self._tokens: LLTokenizer = llguidance.hf.from_tokenizer(
            tokenizer, n_vocab=n_tokens, eos_token=list(end_tokens)
        )

    def matcher(self, schema: dict[str, Any]) -> LLMatcher:
        """A matcher of texts that are JSON under `schema`, at their beginning."""
        matcher = LLMatcher(
            self._tokens, LLMatcher.grammar_from_json_schema(json.dumps(schema), overrides=_WHITE_SPACE)
        )
        if matcher.is_error():
            raise RuntimeError(f"no grammar for {schema}: {matcher.get_error()}")
        return matcher
