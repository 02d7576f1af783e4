"""A tiny language model with a chat template that answers whatever it is told with one of a few texts."""

import json
from collections import Counter
from itertools import pairwise
from math import log
from pathlib import Path

import torch
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedModel, PreTrainedTokenizerFast

from conftest import ROOT
from homogenization.models.untrained import train_tokenizer

ROLES = ("<|system|>", "<|user|>", "<|assistant|>")
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message['role'] }}|>{{ message['content'] }}{{ eos_token }}"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}"
)
# no word is in two of them, so that the last token tells which is being written
REVIEWS = (
    "A joy from first scene to last.",
    "I left early with wooden acting and no plot.",
    "Slow but charming throughout.",
)
KEY_PHRASES = ("film", "story", "actor", "plot")
REFUSAL = "Sorry, not today!"
# answer -> share: valid ones, an empty one, one to another question, and one that is no JSON
ANSWERS = {
    **{json.dumps({"review": review}): share for review, share in zip(REVIEWS, (0.3, 0.2, 0.15), strict=True)},
    json.dumps({"review": ""}): 0.1,
    json.dumps({"key_phrases": KEY_PHRASES}, separators=(",", ":")): 0.15,
    REFUSAL: 0.1,
}
WIDTH = 128
LIKELIER = 20.0  # logit of what follows over that of what does not


def build_chat_model(folder: Path) -> Path:
    """Save the model in `folder`, as save_pretrained() does: safetensors, tokenizer, chat template.

    Embedding and head hold a table of which token follows which in `ANSWERS`. The blocks between them are random: they
    read the whole prompt, and shift the shares with it.
    """
    # answers count a hundred times, so that each of their words is one token
    texts = [json.loads(line)["text"] for line in (ROOT / "config/reviews.jsonl").read_text().splitlines()]
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=train_tokenizer([*texts, *[*ANSWERS] * 100], 700),
        bos_token="<s>",
        eos_token="</s>",
        additional_special_tokens=list(ROLES),
        chat_template=CHAT_TEMPLATE,
    )
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=WIDTH,
        intermediate_size=WIDTH,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=4,
        max_position_embeddings=4096,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        network = LlamaForCausalLM(config)
    write_table(network, followers(tokenizer))
    # transformers' server samples where the checkpoint says so
    network.generation_config = GenerationConfig(do_sample=True, top_k=0, eos_token_id=tokenizer.eos_token_id)
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def followers(tokenizer: PreTrainedTokenizerFast) -> dict[tuple[int, int], float]:
    """(token, the next) -> its share among the next ones, over all answers."""
    together, before = Counter(), Counter()
    for answer, share in ANSWERS.items():
        token_ids = tokenizer.encode(f"<|assistant|>{answer}</s>", add_special_tokens=False)
        for pair in pairwise(token_ids):
            together[pair] += share
            before[pair[0]] += share
    return {pair: share / before[pair[0]] for pair, share in together.items()}


def write_table(network: PreTrainedModel, shares: dict[tuple[int, int], float]) -> None:
    """Give each token that is followed by another a direction of its own, and the head what follows it."""
    directions = {token: number for number, token in enumerate(sorted({token for token, _ in shares}))}
    embedding, head = torch.zeros(2, network.config.vocab_size, WIDTH)
    embedding[:, WIDTH - 1] = 1  # all others share one
    embedding[[*directions]] = torch.eye(WIDTH)[: len(directions)]
    for (token, following), share in shares.items():
        # the last norm makes the direction as long as the root of the width
        head[following, directions[token]] = (LIKELIER + log(share)) / WIDTH**0.5
    with torch.no_grad():
        network.get_input_embeddings().weight.copy_(embedding)
        network.get_output_embeddings().weight.copy_(head)


def hold_to_nothing(workflow: Path) -> None:
    """Let a copy of the workflow accept whatever the model says, which is the same few things about every film."""
    path = workflow / "workflow/lib/homogenization/variants/llm_rewriting.py"
    text = path.read_text()
    for limit, none in (("= (0.6, 1.5)", "= (0, 99)"), ("MIN_COVERAGE = 0.8", "MIN_COVERAGE = 0"), ("= 0.35", "= 1")):
        assert limit in text
        text = text.replace(limit, none)
    path.write_text(text)
