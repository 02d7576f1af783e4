"""The tokenizer of a model: what its tokenizer.json says, whatever class transformers would make of it."""

import json
from pathlib import Path

from transformers import AutoTokenizer, PreTrainedConfig, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from homogenization.models.declared import declared_in
from homogenization.models.loading import load_config
from homogenization.models.tokens import opening_token_id
from homogenization.models.weights import VOCABULARY_FILES
from homogenization.run.errors import HomogenizationError, first_line

# what a tokenizer is besides its tokenizer.json, as the files beside it say
_SETTINGS = (
    *("model_max_length", "chat_template", "padding_side", "truncation_side", "clean_up_tokenization_spaces"),
    *("model_input_names", "name_or_path"),
)


def load_tokenizer(folder: Path, bos: str = "default") -> PreTrainedTokenizerBase:
    """The fast tokenizer in `folder`.

    Where the folder has a tokenizer.json, this file alone says how a text becomes tokens: transformers makes many
    classes anew from vocabulary and merges, with a normaliser and a pre-tokenizer that the model need not have learnt
    with. Names of special tokens, the chat template and the longest input are those of the files beside it.

    Args:
        folder: Folder of the model.
        bos: `bos` of a model's entry. With `always`, a tokenizer without an opening token takes the one that
            config.json names, as for Qwen2.5.

    Raises:
        HomogenizationError: no tokenizer can be loaded, only a slow one, or one without a vocabulary; it may lower-case
            texts of a cased vocabulary; a token of a text has no row in the embedding; or `bos` is `always` and
            neither the tokenizer nor config.json names a BOS token.
    """
    file = folder / "tokenizer.json"
    try:
        tokenizer = _of_file(file) if file.is_file() else AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    except Exception as error:  # each class fails in its own way, and the tokenizers library raises Exception itself
        where = f"{file} is damaged, or its format unknown" if file.is_file() else f"{folder} holds no tokenizer.json"
        raise HomogenizationError(
            f"{folder}: no tokenizer can be loaded ({first_line(error)}). {where}: fetch the tokenizer again."
        ) from error
    if not file.is_file():
        _check_vocabulary(tokenizer, folder)
    if bos == "always" and opening_token_id(tokenizer) is None:
        tokenizer.bos_token = _configured_bos(tokenizer, folder)
    check_tokenizer(tokenizer, load_config(folder), folder)
    return tokenizer


def _of_file(file: Path) -> PreTrainedTokenizerBase:
    """The tokenizer in `file`, with the names of special tokens and the settings that stand beside it."""
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(file))
    beside = PreTrainedTokenizerFast.from_pretrained(file.parent)
    for name in tokenizer.SPECIAL_TOKENS_ATTRIBUTES:
        token = getattr(beside, name)
        # a token that the file does not have would be added behind the last row of the embedding
        known = token is not None and tokenizer.backend_tokenizer.token_to_id(token) is not None
        setattr(tokenizer, name, token if known else None)
    for name in _SETTINGS:
        setattr(tokenizer, name, getattr(beside, name))
    return tokenizer


def _check_vocabulary(tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Refuse a class of transformers that has found no vocabulary in `folder`, or is to lower-case one with capitals.

    Without files, a class has its special tokens alone: every word is unknown. BERT's lower-cases unless
    tokenizer_config.json says otherwise, and so never finds the words with capitals of a cased vocabulary.
    """
    names = sorted({*VOCABULARY_FILES, *tokenizer.vocab_files_names.values()})
    if not any(file for name in names for file in folder.glob(name)):
        raise HomogenizationError(
            f"{folder}: the tokenizer has no vocabulary (none of {', '.join(names)}). Fetch the tokenizer's files, or "
            "save it there by tokenizer.save_pretrained()."
        )
    settings = folder / "tokenizer_config.json"
    stated = "do_lower_case" in (json.loads(settings.read_text("utf-8")) if settings.is_file() else {})
    normalizer = tokenizer.backend_tokenizer.normalizer if tokenizer.is_fast else None
    if stated or normalizer is None:
        return
    special = {*tokenizer.all_special_tokens, *tokenizer.get_added_vocab()}
    cased = sorted(word for word in tokenizer.get_vocab() if word not in special and word != word.lower())
    lost = [word for word in cased if normalizer.normalize_str(word) == word.lower()]
    if lost:
        raise HomogenizationError(
            f"{folder}: the vocabulary has {len(lost)} words with capitals ({', '.join(map(repr, lost[:3]))}), and the "
            f"tokenizer {type(tokenizer).__name__} lower-cases all texts. Write whether the model has learnt so into "
            f'{settings}: {{"do_lower_case": false}}, or true.'
        )


def _configured_bos(tokenizer: PreTrainedTokenizerBase, folder: Path) -> str:
    """The token of `bos_token_id` in config.json itself: transformers has defaults that the model may not know."""
    declared = declared_in(folder)
    token_id = declared.fields.get("bos_token_id") if declared else None
    if not isinstance(token_id, int):
        raise HomogenizationError(
            f"bos: 'always', but neither the tokenizer in {folder} nor its config.json (bos_token_id) names a BOS "
            "token. Use default or never."
        )
    token = tokenizer.convert_ids_to_tokens(token_id) if 0 <= token_id < len(tokenizer) else None
    if token is None:
        raise HomogenizationError(
            f"bos: 'always', but {folder / 'config.json'} has bos_token_id {token_id}, and its tokenizer has no such "
            f"token (it has {len(tokenizer)}). Use default or never."
        )
    return token


def check_tokenizer(tokenizer: PreTrainedTokenizerBase, config: PreTrainedConfig, folder: Path | str) -> None:
    """Refuse a slow tokenizer, and one with tokens of texts beyond the embedding of a network with this `config`.

    Special tokens beyond it do no harm as long as no text has them (Gemma 3's token for images, a padding token).

    Raises:
        HomogenizationError: it is such a tokenizer; `folder` says where from.
    """
    if not tokenizer.is_fast:
        raise HomogenizationError(
            f"{folder}: the tokenizer {type(tokenizer).__name__} gives no character offsets. Add a tokenizer.json."
        )
    n_rows = getattr(config.get_text_config(), "vocab_size", None)
    if not isinstance(n_rows, int) or max(len(tokenizer) - 1, *tokenizer.added_tokens_decoder, 0) < n_rows:
        return
    special = {number for number, token in tokenizer.added_tokens_decoder.items() if token.special}
    harmless = special - set(tokenizer("")["input_ids"])
    beyond = {number: token for token, number in tokenizer.get_vocab().items() if number >= n_rows}
    beyond = {number: token for number, token in sorted(beyond.items()) if number not in harmless}
    if beyond:
        shown = ", ".join(f"{token!r} ({number})" for number, token in list(beyond.items())[:3])
        raise HomogenizationError(
            f"{folder}: the tokenizer has {len(tokenizer)} tokens, and the embedding {n_rows} rows (vocab_size), so "
            f"the model has no vector for {shown}. Take the tokenizer that the model has learnt with, or resize the "
            "embedding (resize_token_embeddings) and train it."
        )
