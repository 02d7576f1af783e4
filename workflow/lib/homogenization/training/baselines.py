"""What a count of words knows of the next token: losses of a unigram and of a bigram model, to read others against."""

from collections.abc import Sequence

import numpy as np


def baselines(training: Sequence[np.ndarray], held_out: Sequence[np.ndarray], vocab_size: int) -> tuple[float, float]:
    """Mean losses of a unigram and a bigram model on the tokens of `held_out` after the first, in nats.

    The unigram model adds one to every count (Laplace). The bigram model falls back on it as much as its context is
    followed by different tokens: p(t | s) = (c(s, t) + T(s) p(t)) / (c(s) + T(s)), T(s) the number of different
    tokens seen after s (Witten & Bell 1991).

    Args:
        training: tokens of each review that is counted, int64.
        held_out: tokens of each review that is predicted.
        vocab_size: size of the vocabulary.
    """
    before, after = _pairs(training)
    counts = np.bincount(after, minlength=vocab_size)
    unigram = (counts + 1) / (len(after) + vocab_size)
    kinds, times = np.unique(before * vocab_size + after, return_counts=True)
    contexts = np.bincount(before, minlength=vocab_size)
    followers = np.bincount(kinds // vocab_size, minlength=vocab_size)
    previous, predicted = _pairs(held_out)
    places = np.searchsorted(kinds, previous * vocab_size + predicted).clip(max=max(len(kinds) - 1, 0))
    pair_counts = np.where(kinds[places] == previous * vocab_size + predicted, times[places], 0)
    weight = contexts[previous] + followers[previous]
    shares = unigram[predicted]
    bigram = np.where(weight > 0, (pair_counts + followers[previous] * shares) / np.maximum(weight, 1), shares)
    return float(-np.log(shares).mean()), float(-np.log(bigram).mean())


def _pairs(texts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and those that follow them within a text."""
    return np.concatenate([text[:-1] for text in texts]), np.concatenate([text[1:] for text in texts])
