"""The tokenizer that is loaded is the one that tokenizer.json holds, and the embedding has a row for each token."""

import json

import pytest
from tokenizers import AddedToken, Tokenizer
from tokenizers.models import WordPiece
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer
from tokenizers.processors import TemplateProcessing
from tokenizers.trainers import WordPieceTrainer
from transformers import AutoTokenizer, BertTokenizer, PreTrainedTokenizerFast

from homogenization.models.tokenizer import load_tokenizer
from homogenization.models.untrained import build_random_model, train_tokenizer
from homogenization.run.errors import HomogenizationError

TEXTS = ["The Harbour isn't naïve: 1,234 films in 1997 -- and  “dull”\n\nones.", "Ça ne vaut rien 🎬 — no.", "HARBOUR"]
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
def folder(tmp_path):
    """A folder with such a tokenizer, and the configuration of Qwen2."""
    trained().save(str(tmp_path / "tokenizer.json"))
    described(tmp_path, "qwen2")
    return tmp_path


def described(folder, model_type, n_rows=300, **settings):
    (folder / "config.json").write_text(json.dumps({"model_type": model_type, "vocab_size": n_rows}))
    (folder / "tokenizer_config.json").write_text(json.dumps({**SPECIAL, **settings}))


def read(tokenizer) -> list[list[int]]:
    return tokenizer(TEXTS)["input_ids"]


def of_file(folder) -> list[list[int]]:
    return [encoded.ids for encoded in Tokenizer.from_file(str(folder / "tokenizer.json")).encode_batch(TEXTS)]


@pytest.mark.parametrize("model_type", ["qwen2", "qwen3_5_text", "llama", "gpt2", "siglip2_text_model", "t5"])
@pytest.mark.parametrize("named", ["GPT2Tokenizer", "LlamaTokenizerFast", "TokenizersBackend", "NoSuchTokenizer", None])
def test_tokens_are_those_of_the_file_whatever_class_is_named(folder, model_type, named):
    described(folder, model_type, **({"tokenizer_class": named} if named else {}))
    assert read(load_tokenizer(folder)) == of_file(folder)


@pytest.mark.parametrize(
    "settings",
    [
        {"do_lower_case": False, "tokenizer_class": "BertTokenizer"},
        {"add_prefix_space": True, "tokenizer_class": "GPT2Tokenizer"},
        {"add_bos_token": False, "add_eos_token": True, "tokenizer_class": "LlamaTokenizer"},
        {"split_special_tokens": True, "clean_up_tokenization_spaces": True, "fix_mistral_regex": True},
        {"added_tokens_decoder": {"81": {"content": "films", "special": False}}},
        {"additional_special_tokens": ["ones"], "mask_token": "dull"},
    ],
)
def test_no_setting_beside_the_file_changes_a_token(folder, settings):
    described(folder, "bert", **settings)
    loaded = load_tokenizer(folder)
    assert read(loaded) == of_file(folder)
    assert len(loaded) == trained().get_vocab_size()


def test_names_and_settings_are_those_beside_the_file(folder):
    described(folder, "gpt2", model_max_length=77, chat_template="{{ messages }}", tokenizer_class="GPT2Tokenizer")
    loaded = load_tokenizer(folder)
    assert {name: getattr(loaded, name) for name in SPECIAL} == SPECIAL
    assert (loaded.model_max_length, loaded.chat_template) == (77, "{{ messages }}")
    (folder / "tokenizer_config.json").write_text('{"tokenizer_class": "GPT2Tokenizer"}')
    assert load_tokenizer(folder).bos_token is None, "the class's <|endoftext|> is no token of this file"


def test_what_is_saved_is_what_is_loaded_again(folder, tmp_path):
    first = load_tokenizer(folder)
    first.save_pretrained(tmp_path / "again")
    (tmp_path / "again/config.json").write_text((folder / "config.json").read_text())
    second = load_tokenizer(tmp_path / "again")
    assert read(second) == read(first) == of_file(folder)
    assert {name: getattr(second, name) for name in SPECIAL} == SPECIAL


@pytest.mark.parametrize("model_type", ["qwen2", "gpt2"])
def test_an_untrained_model_reads_the_tokens_that_it_saved(tmp_path, model_type):
    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    build_random_model({"model_type": model_type, **sizes}, 0, TEXTS * 3, 330, tmp_path)
    text = "ends, 1997's HARBOUR\n\n\nfilms!!"
    assert load_tokenizer(tmp_path)(text)["input_ids"] == train_tokenizer(TEXTS * 3, 330).encode(text).ids


def test_without_the_file_the_class_reads_its_own_files(tmp_path):
    described(tmp_path, "bert", tokenizer_class="BertTokenizer")
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "film", "##s"]
    (tmp_path / "vocab.txt").write_text("\n".join(tokens))
    assert (
        load_tokenizer(tmp_path)("a films")["input_ids"]
        == BertTokenizer(str(tmp_path / "vocab.txt"))("a films").input_ids
    )


@pytest.mark.parametrize(
    ("model_type", "named"),
    [
        *[("bert", None), ("bert", "BertTokenizer"), ("t5", "T5Tokenizer"), ("xlm-roberta", "XLMRobertaTokenizer")],
        *[("roberta", "RobertaTokenizer"), ("gemma", "GemmaTokenizer"), ("gpt2", "GPT2Tokenizer")],
        *[("llama", "LlamaTokenizer"), ("qwen2", "Qwen2Tokenizer"), ("albert", "AlbertTokenizer")],
    ],
)
def test_a_folder_without_a_vocabulary_is_refused(tmp_path, model_type, named):
    """transformers makes a tokenizer of special tokens alone, for which every word is unknown, or none at all."""
    described(tmp_path, model_type, **({"tokenizer_class": named} if named else {}))
    with pytest.raises(HomogenizationError, match=r"no vocabulary .*tokenizer\.json.* Fetch"):
        load_tokenizer(tmp_path)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (None, None),
        ({"do_lower_case": False}, ["in", "Paris"]),
        ({"do_lower_case": True}, ["in", "p", "##a", "##r", "##i", "##s"]),
    ],
)
def test_a_cased_vocabulary_is_lower_cased_where_its_folder_says_so_alone(tmp_path, settings, words):
    pieces = [*"abcdefghijklmnopqrstuvwxyz", *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")]
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "Paris", "in", *pieces]
    (tmp_path / "vocab.txt").write_text("\n".join(tokens))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert", "vocab_size": len(tokens)}))
    if settings is None:
        with pytest.raises(HomogenizationError, match=r"1 words with capitals \('Paris'\).*do_lower_case"):
            load_tokenizer(tmp_path)
        return
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(settings))
    assert load_tokenizer(tmp_path).tokenize("in Paris") == words


@pytest.mark.parametrize("content", ["", "{", '{"version": "1.0", "model": {"type": "Other"}}'])
def test_a_damaged_file_is_named(folder, content):
    (folder / "tokenizer.json").write_text(content)
    with pytest.raises(HomogenizationError, match=r"no tokenizer can be loaded.*tokenizer\.json is damaged.*again"):
        load_tokenizer(folder)


def test_a_token_of_texts_without_a_row_is_refused_with_both_numbers(folder):
    n_tokens = trained().get_vocab_size()
    described(folder, "llama", n_rows=n_tokens)
    load_tokenizer(folder)
    described(folder, "llama", n_rows=n_tokens - 1)
    with pytest.raises(HomogenizationError, match=rf"has {n_tokens} tokens, .* {n_tokens - 1} rows .*'harbour'"):
        load_tokenizer(folder)


def test_a_special_token_without_a_row_does_no_harm_until_a_text_has_it(folder):
    """As Gemma 3's token for images."""
    made = trained()
    made.add_special_tokens(["<image>"])
    made.save(str(folder / "tokenizer.json"))
    number = made.token_to_id("<image>")
    described(folder, "llama", n_rows=number)
    load_tokenizer(folder)
    made.post_processor = TemplateProcessing(single="<image> $A", special_tokens=[("<image>", number)])
    made.save(str(folder / "tokenizer.json"))
    with pytest.raises(HomogenizationError, match="no vector for '<image>'"):
        load_tokenizer(folder)


def test_fast_tokenizers_of_this_project_stay_as_they_are(tmp_path):
    """A file that transformers reads as it stands: nothing changes, down to the offsets."""
    made = PreTrainedTokenizerFast(tokenizer_object=train_tokenizer(TEXTS * 3, 330), bos_token="<s>", eos_token="</s>")
    made.save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "llama", "vocab_size": 330}')
    loaded, by_class = load_tokenizer(tmp_path), AutoTokenizer.from_pretrained(tmp_path)
    for text in TEXTS:
        assert loaded(text, return_offsets_mapping=True) == by_class(text, return_offsets_mapping=True)
