"""Choice of the next token for each answer of a batch: grammar, temperature, top-p and seeded random numbers."""

import json
from collections.abc import Sequence

import llguidance.hf
import numpy as np
import torch
from llguidance import LLMatcher, LLTokenizer
from transformers import LogitsProcessor, PreTrainedTokenizerBase, TemperatureLogitsWarper, TopPLogitsWarper

from homogenization.run.errors import HomogenizationError
from homogenization.writers.requests import WHITE_SPACE, Request

_LIKELIEST = 512  # tokens


class SeededSampling(LogitsProcessor):
    """Makes the largest score a random sample: scores / temperature, cut to top-p, plus Gumbel noise.

    The largest of log p + Gumbel noise is a draw from p (Gumbel 1954), so greedy decoding samples. Each row has its
    own random generator, so an answer does not depend on the other rows of the batch.

    Args:
        seeds: One seed for each row of the batch.
        temperature: Divisor of the scores, above 0.
        top_p: Probability of the likeliest tokens that can be drawn; the others never are.
        device: Device of the scores; other kinds of devices draw other random numbers.
    """

    def __init__(self, seeds: Sequence[int], temperature: float, top_p: float, device: torch.device):
        self._temperature = TemperatureLogitsWarper(float(temperature))
        self._top_p = TopPLogitsWarper(top_p) if top_p < 1 else None
        self._share = top_p
        self._generators = [torch.Generator(device).manual_seed(seed) for seed in seeds]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The changed scores; float32, rows × vocabulary, like the argument."""
        scores = self._temperature(input_ids, scores)
        if self._top_p is not None:
            scores = self._cut(input_ids, scores)
        noise = torch.empty_like(scores)
        for row, generator in zip(noise, self._generators, strict=True):
            row.exponential_(generator=generator)
        # a zero would give an infinite score, or NaN for an excluded token
        return scores - noise.clamp_min_(torch.finfo(noise.dtype).tiny).log_()

    def _cut(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores cut to top-p, by the likeliest tokens alone where these are enough.

        Transformers sorts the whole vocabulary, which takes a CPU half as long as a pass of 1.5 billion parameters.
        """
        likeliest = scores.topk(min(_LIKELIEST, scores.shape[1])).values
        probability = (likeliest - scores.logsumexp(dim=-1, keepdim=True)).exp()
        kept = probability.cumsum(dim=-1) - probability < self._share  # what is likelier does not make up the share
        if kept[:, -1].any():
            return self._top_p(input_ids, scores)
        least = likeliest.masked_fill(~kept, torch.inf).amin(dim=-1, keepdim=True)
        return scores.masked_fill(scores < least, -torch.inf)

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows of the batch alone."""
        self._generators = [self._generators[row] for row in rows]


class GrammarMask(LogitsProcessor):
    """Excludes the tokens with which an answer would violate its grammar.

    Args:
        matchers: Unused matchers from `Grammars.matcher`, one for each row of the batch.
        end_tokens: Tokens that end an answer.
    """

    def __init__(self, matchers: Sequence[LLMatcher], end_tokens: Sequence[int]):
        self._matchers = matchers
        self._end_tokens = frozenset(end_tokens)
        self._n_calls = 0
        self._ended = [False] * len(matchers)

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """The scores, rows × vocabulary, with -inf for excluded tokens."""
        if self._n_calls > 0:  # in the first call, the last token belongs to the prompt
            for row, token in enumerate(input_ids[:, -1].tolist()):
                self._take(row, token)
        self._n_calls += 1
        allowed = np.ones(scores.shape, dtype=bool)
        for row, matcher in enumerate(self._matchers):
            if not self._ended[row]:
                bits = np.frombuffer(matcher.compute_bitmask(), dtype=np.uint8)
                allowed[row] = np.unpackbits(bits, bitorder="little")[: scores.shape[1]]
        return scores.masked_fill(~torch.from_numpy(allowed).to(scores.device), -torch.inf)

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows of the batch alone."""
        self._matchers = [self._matchers[row] for row in rows]
        self._ended = [self._ended[row] for row in rows]

    def _take(self, row: int, token: int) -> None:
        """Advance the grammar of a row by the token drawn for it; tokens after an end token are padding."""
        self._ended[row] |= token in self._end_tokens
        if not self._ended[row] and not self._matchers[row].consume_token(token):
            raise RuntimeError(f"token {token} was drawn against the grammar: {self._matchers[row].get_error()}")


class Grammars:
    """Makes matchers of JSON schemas and of regular expressions for one tokenizer.

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

    def matcher(self, request: Request) -> LLMatcher:
        """A new matcher of texts that satisfy the schema of `request`, as JSON, or match its regular expression.

        Raises:
            HomogenizationError: llguidance can't read the regular expression.
            RuntimeError: llguidance can't read the schema.
        """
        if request.regex is not None:
            grammar = LLMatcher.grammar_from_regex(request.regex)
        else:
            grammar = LLMatcher.grammar_from_json_schema(json.dumps(request.schema), overrides=WHITE_SPACE)
        matcher = LLMatcher(self._tokens, grammar)
        if not matcher.is_error():
            return matcher
        reason = " ".join(matcher.get_error().split())
        if request.regex is not None:
            raise HomogenizationError(
                f"writers: llguidance can't read the regular expression {request.regex!r} ({reason}). It takes no "
                "anchors, no look-around and no back-references."
            )
        raise RuntimeError(f"no grammar for {request.schema}: {reason}")
