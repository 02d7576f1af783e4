"""The tokenizer of a model: what its tokenizer.json says, whatever class transformers would make of it."""

import logging
from pathlib import Path

from transformers import AutoTokenizer, PreTrainedConfig, PreTrainedTokenizerBase, PreTrainedTokenizerFast

from homogenization.models.declared import declared_in
from homogenization.models.loading import load_config
from homogenization.models.tokens import opening_token_id
from homogenization.run.errors import HomogenizationError, first_line

logger = logging.getLogger(__name__)

# case, accents, blanks, digits, quotes, line ends, other scripts: where normalisers and pre-tokenizers differ
_PROBES = (
    "",
    "I wouldn't SAY it's Émile's naïve film -- 1,234 of them, in 1997's best!",
    "  Two  spaces,\ttabs\n\n\nand ends \n of lines. ",
    'He said: "No..." (twice); she\u2019d go\u2014 \u00bfy t\u00fa? 10% & $5.50 #1 @home e\u0301\ufb01 a\u00a0b',
    "\u7535\u5f71 \u306f \u0444\u0438\u043b\u044c\u043c \u0641\u064a\u0644\u0645 \U0001f3ac\U0001f44d\U0001f3fd",
    "\u00b2\u00b3\u00bd \u0663\u0664",
)
_MOST_ADDED = 200  # added tokens that are probed
# what a tokenizer is besides its tokenizer.json, as the files beside it and its class say
_SETTINGS = ("model_max_length", "chat_template", "padding_side", "truncation_side", "clean_up_tokenization_spaces")


def load_tokenizer(folder: Path, bos: str = "default") -> PreTrainedTokenizerBase:
    """The fast tokenizer in `folder`.

    Where the folder has a tokenizer.json, this file alone says how a text becomes tokens. transformers makes many
    classes anew from vocabulary and merges, with the normaliser and the pre-tokenizer of the class, which need not be
    those that the model has learnt with; a difference is logged, with an example. Names of special tokens, the chat
    template and the longest input are those that transformers reads from the other files.

    Args:
        folder: Folder of the model.
        bos: `bos` of a model's entry. With `always`, a tokenizer without a BOS token (and without CLS) takes the one
            that config.json names, as for Qwen2.5.

    Raises:
        HomogenizationError: no tokenizer can be loaded, or only a slow one; a token of a text has no row in the
            embedding; or `bos` is `always` and neither the tokenizer nor config.json names a BOS token.
    """
    file = folder / "tokenizer.json"
    try:
        tokenizer = _of_file(file) if file.is_file() else AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    except Exception as error:  # each class fails in its own way, and the tokenizers library raises Exception itself
        where = f"{file} is damaged, or its format unknown" if file.is_file() else f"{folder} holds no tokenizer.json"
        raise HomogenizationError(
            f"{folder}: no tokenizer can be loaded ({first_line(error)}). {where}: fetch the tokenizer again."
        ) from error
    if bos == "always" and opening_token_id(tokenizer) is None:
        tokenizer.bos_token = _configured_bos(tokenizer, folder)
    check_tokenizer(tokenizer, load_config(folder), folder)
    return tokenizer


def _of_file(file: Path) -> PreTrainedTokenizerBase:
    """The tokenizer in `file`, with names of special tokens and settings as transformers reads them beside it."""
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(file))
    try:
        by_class = AutoTokenizer.from_pretrained(file.parent, trust_remote_code=False)
    except Exception as error:  # an architecture without a class, or a class that refuses this file
        logger.info("%s: transformers has no class for it (%s)", file, first_line(error))
        by_class = PreTrainedTokenizerFast.from_pretrained(file.parent)
    for name in tokenizer.SPECIAL_TOKENS_ATTRIBUTES:
        token = getattr(by_class, name)
        # a class names tokens that a file need not have; they would be added behind the last row of the embedding
        known = token is not None and tokenizer.backend_tokenizer.token_to_id(token) is not None
        setattr(tokenizer, name, token if known else None)
    for name in (*_SETTINGS, "model_input_names", "name_or_path"):
        setattr(tokenizer, name, getattr(by_class, name))
    _tell_difference(tokenizer, by_class, file)
    return tokenizer


def _tell_difference(tokenizer: PreTrainedTokenizerBase, by_class: PreTrainedTokenizerBase, file: Path) -> None:
    """Log the first probe that transformers' class turns into other tokens than the file does."""
    added = sorted({**by_class.get_added_vocab(), **tokenizer.get_added_vocab()})[:_MOST_ADDED]
    probes = [*_PROBES, *(f"a {token} b" for token in added)]
    ours, others = (found(probes, verbose=False)["input_ids"] for found in (tokenizer, by_class))
    for probe, *both in zip(probes, ours, others, strict=True):
        if both[0] != both[1]:
            made = [found.convert_ids_to_tokens(ids) for found, ids in zip((tokenizer, by_class), both, strict=True)]
            logger.warning(
                "%s is read as it stands. Of %r it makes %d tokens, %s, and transformers' %s makes %d, %s. If the "
                "model has learnt with the latter, write the file by AutoTokenizer.from_pretrained(…).save_pretrained",
                *(file, probe, len(made[0]), made[0], type(by_class).__name__, len(made[1]), made[1]),
            )
            return


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
