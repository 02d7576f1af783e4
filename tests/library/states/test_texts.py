"""Reviews that are longer than a model reads are left out."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from transformers import PreTrainedTokenizerFast

from extracted import EMBEDDED, trained_tokenizer
from homogenization.models.tokens import tokenize
from homogenization.run.errors import HomogenizationError
from homogenization.states.texts import Texts, tokens_read

TEXTS = EMBEDDED[:10]
IDS = [f"r{index}" for index in range(len(TEXTS))]
TOKENIZER = PreTrainedTokenizerFast(tokenizer_object=trained_tokenizer())
LENGTHS = tokenize(TOKENIZER, IDS, TEXTS, "default").lengths


def reader(max_tokens):
    return SimpleNamespace(tokenizer=TOKENIZER, bos="default", max_tokens=max_tokens)


def test_long_originals_and_long_texts_are_left_out():
    limit = int(np.median(LENGTHS))
    fit = [name for name, length in zip(IDS, LENGTHS, strict=True) if length <= limit]
    assert 0 < len(fit) < len(IDS)
    read, tokens = tokens_read(reader(limit), Texts(IDS, TEXTS))
    assert (read, tokens.lengths.tolist()) == (fit, LENGTHS[limit >= LENGTHS].tolist())
    assert tokens_read(reader(limit), Texts(IDS, ["Short."] * len(IDS), TEXTS))[0] == fit
    longer = [text + " Really." if name == fit[0] else text for name, text in zip(IDS, TEXTS, strict=True)]
    exact = int(LENGTHS[IDS.index(fit[0])])
    assert fit[0] in tokens_read(reader(exact), Texts(IDS, TEXTS))[0]
    assert fit[0] not in tokens_read(reader(exact), Texts(IDS, longer, TEXTS))[0]


def test_originals_of_which_none_can_be_read_are_refused_and_few_of_them_left_out(caplog):
    with pytest.raises(HomogenizationError, match=r"none of the 20 originals fits into 3 tokens"):
        tokens_read(reader(3), Texts(IDS * 2, TEXTS * 2))
    assert tokens_read(reader(3), Texts([], []))[0] == [] == caplog.messages
    assert tokens_read(reader(3), Texts(IDS, TEXTS))[0] == []
    assert "none of the 10 originals" in caplog.text


def test_the_first_originals_by_rank_stand_beside_the_reviews_of_a_variant(tmp_path):
    originals = pl.DataFrame({"review_id": ["a", "b", "c"], "text": ["A", "B", "C"], "rank": [2, 0, 1]})
    rewritten = pl.DataFrame({"review_id": ["c", "a"], "text": ["c!", "a!"]})
    paths = [str(tmp_path / name) for name in ("variant", "original")]
    for table, path in zip((rewritten, originals), paths, strict=True):
        table.write_parquet(path)
    assert Texts.of_files(*paths) == Texts(["c", "a"], ["c!", "a!"], ["C", "A"])
    assert Texts.of_files(*paths, 2) == Texts(["c"], ["c!"], ["C"])
