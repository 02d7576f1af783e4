"""Tiny stand-ins for what config/paper.yaml takes from the hub, under its ids and revisions, of its architectures."""

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import datasets
import torch
from transformers import (
    GemmaConfig,
    GemmaForCausalLM,
    GemmaTokenizer,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen2Tokenizer,
    RobertaConfig,
    RobertaForMaskedLM,
    RobertaTokenizer,
)

from conftest import ROOT
from homogenization.models.untrained import train_tokenizer
from loopback_hub import Repository, files_in
from tiny_chat import build_chat_model

MEMBER = "hf_of_a_member"  # a token that may read what is gated
N_TOKENS = 500
SIZE = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
SHARD = "40KB"  # weights of each model are larger
# nothing of these is to be fetched: pickles, other formats, and the weights once more
USELESS = {
    "pytorch_model.bin": b"a pickle",
    "model.gguf": b"another format",
    "original/consolidated.00.pth": b"a pickle",
    "original/params.json": b"{}",
    "consolidated.safetensors": b"the weights once more",
    "README.md": b"# A model",
    "LICENSE": b"A licence",
}


def paper_repositories(paper: Mapping[str, Any], folder: Path) -> dict[str, Repository]:
    """What paper.yaml names, by id; the models of Meta and Google are gated. `folder` is to write to."""
    lines = (ROOT / "config/reviews.jsonl").read_text().splitlines()
    reviews = [json.loads(line) for line in lines]
    texts = [review["text"] for review in reviews]
    makers = {"llama-3-8b": _llama, "gemma-7b": _gemma, "qwen2.5-7b": _qwen}
    made: dict[str, Repository] = {}

    def serve(weights: Mapping[str, str], saved: Path) -> None:
        assert (saved / "model.safetensors.index.json").is_file(), "one shard"
        gated = weights["hub"].startswith(("meta-llama/", "google/"))
        members = {MEMBER} if gated else None
        made[weights["hub"]] = Repository(weights["revision"], files_in(saved) | USELESS, members)

    for name, model in paper["models"].items():
        torch.manual_seed(0)
        serve(model["weights"], _saved(*makers[name](texts), folder / name))
    (writer,) = paper["writers"].values()
    serve(writer["weights"], build_chat_model(folder / "writer", model_type="qwen2", max_shard_size=SHARD))
    similarity = paper["similarity"]
    serve(similarity["encoder"], _saved(*_roberta(texts, similarity["layer"]), folder / "encoder"))
    corpus = paper["corpus"]
    made[corpus["source"]] = Repository(corpus["revision"], imdb_files(reviews), kind="datasets")
    return made


def _saved(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, folder: Path) -> Path:
    network.to(torch.bfloat16).save_pretrained(folder, max_shard_size=SHARD)
    tokenizer.save_pretrained(folder)
    return folder


def _llama(texts: list[str]) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Grouped queries, a tokenizer of its own kind that opens a text with BOS."""
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=train_tokenizer(texts, N_TOKENS), bos_token="<s>", eos_token="</s>"
    )
    config = LlamaConfig(**SIZE, vocab_size=len(tokenizer), num_key_value_heads=2, max_position_embeddings=8192)
    return LlamaForCausalLM(config), tokenizer


def _gemma(texts: list[str]) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Scaled embeddings that are the head too, norms around one, heads wider than their share, Sentencepiece."""
    tokenizer = GemmaTokenizer().train_new_from_iterator(texts, N_TOKENS)
    config = GemmaConfig(
        **SIZE, vocab_size=len(tokenizer), num_key_value_heads=4, head_dim=16, max_position_embeddings=8192
    )
    return GemmaForCausalLM(config), tokenizer


def _qwen(texts: list[str]) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Biases of queries, keys and values; no BOS."""
    tokenizer = Qwen2Tokenizer().train_new_from_iterator(texts, N_TOKENS)
    config = Qwen2Config(**SIZE, vocab_size=len(tokenizer), num_key_value_heads=2, max_position_embeddings=131072)
    return Qwen2ForCausalLM(config), tokenizer


def _roberta(texts: list[str], layer: int) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """An encoder to which all texts are alike: it adds a constant at `layer` to what is otherwise random.

    A layer norm makes the random part as long as the root of the width, and orthogonal to the constant. So no cosine
    is below (19 - 1) / (19 + 1), and neither is F1.
    """
    tokenizer = RobertaTokenizer().train_new_from_iterator(texts, N_TOKENS)
    config = RobertaConfig(
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=24,
        num_attention_heads=2,
        vocab_size=len(tokenizer),
        max_position_embeddings=514,
        type_vocab_size=1,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    network = RobertaForMaskedLM(config)
    with torch.no_grad():
        network.roberta.encoder.layer[layer - 1].output.LayerNorm.bias.fill_(19**0.5)
    return network, tokenizer


def imdb_files(reviews: list[dict[str, str]]) -> dict[str, bytes]:
    """The files of the data set: a page that says where the splits are, and one Parquet file for each."""
    names = ["neg", "pos"]
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=names)})
    labels = [names.index(review["label"][:3]) for review in reviews]
    splits = {
        "train": {"text": [review["text"] for review in reviews], "label": labels},
        "test": {"text": ["A review of the other split."], "label": [0]},
        "unsupervised": {"text": ["A review that nobody has labelled."], "label": [-1]},
    }
    files = {}
    for split, columns in splits.items():
        content = io.BytesIO()
        datasets.Dataset.from_dict(columns, features=features).to_parquet(content)
        files[f"plain_text/{split}-00000-of-00001.parquet"] = content.getvalue()
    info = {
        "config_name": "plain_text",
        "features": features._to_yaml_list(),
        "splits": [
            {"name": split, "num_bytes": 1, "num_examples": len(columns["text"])} for split, columns in splits.items()
        ],
    }
    data_files = [{"split": split, "path": f"plain_text/{split}-*"} for split in splits]
    page = {
        "dataset_info": info,
        "configs": [{"config_name": "plain_text", "data_files": data_files, "default": True}],
    }
    # JSON is YAML
    return files | {"README.md": f"---\n{json.dumps(page)}\n---\n# IMDB\n".encode(), ".gitattributes": b"*.parquet lfs"}
