"""Scorers: they rate how well each phrase of a review represents it."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from homogenization.corpus.sentences import is_stop_word, sentence_spans, word_spans, words
from homogenization.run.errors import HomogenizationError, first_line
from homogenization.variants.keyphrases import Scorer


def eligible(text: str, terms: Collection[str], known: Collection[str]) -> Iterator[tuple[str, list[str]]]:
    """The terms that may be key phrases, each with its words that are no stop words.

    Each of these words is in the table, or is a rarer one (a hero's name) that the review repeats: a rare word that
    occurs once is most often a misspelling.
    """
    counts = Counter(words(text))
    for term in terms:
        content = [word for word in term.split() if not is_stop_word(word)]
        if content and all(word in known or counts[word] > 1 for word in content):
            yield term, content


def tfidf_scorer(frequencies: pl.DataFrame, n_documents: int, weights: Mapping[str, Any] | None = None) -> Scorer:
    """Score a phrase by the sum over its words of term frequency times inverse document frequency.

    This is the baseline of Hasan and Ng (2010). idf = ln((1 + N) / (1 + df)) + 1 is scikit-learn's smoothed idf over
    the whole corpus: the score of a phrase depends neither on the other reviews of the sample nor on its position. Term
    frequency is 1 + ln(count of the word in the review), since the count itself favours words that are repeated
    throughout ("film"). A word too rare for the table counts as a word of a single review.

    Args:
        frequencies: Columns word, document_frequency, from `count_document_frequencies`.
        n_documents: Number of reviews that were counted.
        weights: Not used.
    """
    document_frequency = dict(frequencies.select("word", "document_frequency").iter_rows())

    def score(text: str, terms: Counter[str]) -> dict[str, float]:
        counts = Counter(words(text))
        return {
            term: sum(
                (1 + log(counts[word])) * (log((1 + n_documents) / (1 + document_frequency.get(word, 1))) + 1)
                for word in content
            )
            for term, content in eligible(text, terms, document_frequency)
        }

    return score


def keybert_scorer(frequencies: pl.DataFrame, n_documents: int, weights: Mapping[str, Any] | None = None) -> Scorer:
    """Score by cosine similarity to the review's embedding (KeyBERT, Grootendorst 2020), rounded to four decimals.

    KeyBERT embeds a review as one text, which depends on the order of its sentences and is cut at the encoder's
    limit. Here the review's embedding is the mean of its sentences' embeddings, weighted by their words, so the order
    of sentences does not matter. The order of words within a sentence does: an encoder reads positions. Use "tfidf"
    where that is a problem.

    Args:
        frequencies: Columns word, document_frequency; `eligible` reads the words.
        n_documents: Not used.
        weights: Weights of the sentence-transformers model, an entry for
            `homogenization.models.weights.resolve_weights`.

    Raises:
        HomogenizationError: the weights are not found or damaged.
    """
    from sentence_transformers import SentenceTransformer
    from sklearn.metrics.pairwise import cosine_similarity

    from homogenization.models.weights import resolve_weights

    resolved = resolve_weights(weights)
    try:
        encoder = SentenceTransformer(str(resolved.folder), device="cpu")
    except Exception as error:  # each of its modules fails in its own way
        raise HomogenizationError(
            f"keyphrases: sentence-transformers can't load {resolved.description} ({first_line(error)}). Choose one of "
            "its models, or fetch this one again."
        ) from error
    _load_as_models_are(encoder, resolved.folder)
    known = set(frequencies["word"])

    def score(text: str, terms: Counter[str]) -> dict[str, float]:
        allowed = sorted(term for term, _ in eligible(text, terms, known))
        if not allowed:
            return {}
        sentences = sorted(text[slice(*span)] for span in sentence_spans(text))
        n_words = np.array([len(word_spans(sentence)) for sentence in sentences])
        review = n_words @ encoder.encode(sentences, show_progress_bar=False) / n_words.sum()
        cosines = cosine_similarity(review[np.newaxis], encoder.encode(allowed, show_progress_bar=False))[0]
        return {term: round(float(cosine), 4) for term, cosine in zip(allowed, cosines, strict=True)}

    return score


def _load_as_models_are(encoder: Any, folder: Path) -> None:
    """Give a sentence-transformers model the network and the tokenizer that `models` would read from its folder.

    Its own loader lets tensors that the files lack be random, and its tokenizer can be another than tokenizer.json.
    """
    from sentence_transformers.base.modules import Transformer
    from tokenizers.normalizers import Lowercase, Sequence

    from homogenization.models.loading import known_context, load_network
    from homogenization.models.tokenizer import load_tokenizer

    transformer = encoder[0]
    if not isinstance(transformer, Transformer):
        raise HomogenizationError(
            f"keyphrases: {folder} begins with the module {type(transformer).__name__}, which is no network of "
            "transformers. Choose a sentence-transformers model with one, such as all-MiniLM-L6-v2."
        )
    modules = folder / "modules.json"
    place = folder / json.loads(modules.read_text(encoding="utf-8"))[0]["path"] if modules.is_file() else folder
    network, config = transformer.model, transformer.config
    transformer.model = load_network(type(network), place, "float32", not_needed=("pooler.",), config=config)
    tokenizer = load_tokenizer(place)
    if tokenizer.pad_token is None:
        raise HomogenizationError(
            f"keyphrases: the tokenizer in {place} has no padding token, and sentence-transformers reads sentences in "
            "batches. Name one in its tokenizer_config.json (pad_token)."
        )
    limits = (transformer.max_seq_length, known_context(config, tokenizer))
    tokenizer.model_max_length = min(limit for limit in limits if limit)
    if transformer.do_lower_case:
        backend = tokenizer.backend_tokenizer
        backend.normalizer = Sequence([Lowercase(), *([backend.normalizer] if backend.normalizer else [])])
    transformer.processor = tokenizer


# To add a scorer, write a function (frequencies, n_documents, weights) -> Scorer and put it here
SCORERS: dict[str, Callable[..., Scorer]] = {"tfidf": tfidf_scorer, "keybert": keybert_scorer}
