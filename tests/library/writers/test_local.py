"""Language models that write in the job: samples, batches, end, memory, identity, what is refused."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import chisquare
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    LlamaModel,
    LogitsProcessorList,
    TemperatureLogitsWarper,
    TopPLogitsWarper,
)

from homogenization.run.errors import HomogenizationError
from homogenization.variants.llm_rewriting import REVIEW_SCHEMA
from homogenization.writers.local import Drawn, LocalWriter
from homogenization.writers.requests import Completion, Failure, Request
from tiny_chat import CHAT_TEMPLATE, REFUSAL, build_chat_model

TEXTS = [
    "Dull.",
    "The plot is thin, the acting is not, and I would see it again.",
    "A film that I will not forget! " * 9,
    "Never again.",
    "The second half saves what the first half spoils, which is everything.",
    "So slow. " * 30,
    "Oddly moving.",
]


@pytest.fixture(scope="module")
def chat(tmp_path_factory) -> Path:
    return build_chat_model(tmp_path_factory.mktemp("chat"))


@pytest.fixture(scope="module")
def babbler(chat, tmp_path_factory) -> Path:
    """The same with random weights, so large that every token of the prompt matters to each that is written."""
    folder = tmp_path_factory.mktemp("babbler")
    shutil.copytree(chat, folder, dirs_exist_ok=True)
    network = AutoModelForCausalLM.from_pretrained(folder)
    torch.manual_seed(0)
    for parameter in network.parameters():
        if parameter.ndim == 2:
            torch.nn.init.normal_(parameter, std=0.15)
    network.save_pretrained(folder)
    return folder


def writer(folder: Path, seed: int = 0, **changes) -> LocalWriter:
    entry = {"weights": {"path": str(folder)}, "dtype": "float32", "device": "cpu", "batch_size": 4}
    sampling = {"temperature": 1.0, "top_p": 1.0, "max_new_tokens": 24}
    return LocalWriter(entry | sampling | changes, seed)


def request(text: str, candidate: int = 0, schema: dict = REVIEW_SCHEMA) -> Request:
    return Request(
        "a", [{"role": "system", "content": "Rewrite."}, {"role": "user", "content": text}], schema, candidate
    )


def answers(made: LocalWriter, requests: list[Request]) -> list[Completion | Failure]:
    found = dict(made.complete(requests))
    assert sorted(found) == list(range(len(requests)))
    return [found[number] for number in range(len(requests))]


def texts_of(made: LocalWriter, requests: list[Request]) -> list[str]:
    return [answer.text for answer in answers(made, requests)]


def copy_with(folder: Path, to: Path, file: str, **fields) -> Path:
    """A copy of the model with other fields in one of its JSON files."""
    shutil.copytree(folder, to)
    (to / file).write_text(json.dumps(json.loads((to / file).read_text()) | fields))
    return to


def test_an_answer_does_not_depend_on_what_else_is_asked(babbler):
    requests = [request(text, candidate) for text in TEXTS for candidate in (0, 1)]
    made = writer(babbler)
    expected = texts_of(made, requests)
    assert len(set(expected)) == len(requests)
    alone = [texts_of(made, [single])[0] for single in requests]
    together = texts_of(writer(babbler, batch_size=len(requests)), requests)
    backwards = texts_of(made, requests[::-1])[::-1]
    assert alone == together == backwards == expected


def windowed(folder: Path, window: int) -> Path:
    """A random Gemma 3 with this window, and the tokenizer of `folder`."""
    config = AutoConfig.for_model(
        "gemma3_text",
        vocab_size=len(AutoTokenizer.from_pretrained(folder)),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=3,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        layer_types=["sliding_attention", "full_attention", "sliding_attention"],
        sliding_window=window,
        max_position_embeddings=4096,
        eos_token_id=AutoTokenizer.from_pretrained(folder).eos_token_id,
    )
    torch.manual_seed(0)
    network = AutoModelForCausalLM.from_config(config)
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    network.save_pretrained(folder)
    return folder


@pytest.mark.parametrize("window", [40, 4096])
def test_sliding_windows_see_what_they_see_alone(chat, tmp_path, window):
    folder = windowed(shutil.copytree(chat, tmp_path / "gemma"), window)
    requests = [request(text) for text in TEXTS]
    made = writer(folder, temperature=0.0)
    apart = [texts_of(made, [single])[0] for single in requests]
    assert len(set(apart)) > 1
    assert texts_of(made, requests) == apart


def test_temperature_0_writes_the_likeliest_token_each_time(babbler):
    network, tokenizer = AutoModelForCausalLM.from_pretrained(babbler), AutoTokenizer.from_pretrained(babbler)
    expected = []
    for text in TEXTS:
        token_ids = tokenizer.apply_chat_template(
            request(text).messages, add_generation_prompt=True, return_dict=False, return_tensors="pt"
        )
        length = token_ids.shape[1]
        for _ in range(12):
            with torch.inference_mode():
                following = network(token_ids, use_cache=False).logits[:, -1:].argmax(dim=-1)
            token_ids = torch.cat([token_ids, following], dim=1)
        expected.append(tokenizer.decode(token_ids[0, length:]))
    made = writer(babbler, temperature=0.0, max_new_tokens=12)
    assert texts_of(made, [request(text) for text in TEXTS]) == expected


def test_seed_candidate_and_text_move_the_sample_and_nothing_else_does(babbler):
    first = texts_of(writer(babbler), [request("Dull.", candidate) for candidate in range(4)])
    assert len(set(first)) == 4
    assert texts_of(writer(babbler), [request("Dull.", candidate) for candidate in range(4)]) == first
    renamed = Request("another name", request("Dull.").messages, REVIEW_SCHEMA, 0)
    assert texts_of(writer(babbler, gpus=1), [renamed]) == first[:1]
    assert texts_of(writer(babbler, seed=1), [request("Dull.")]) != first[:1]


@pytest.mark.parametrize(("temperature", "top_p"), [(1.0, 1.0), (0.6, 1.0), (0.8, 0.7)])
def test_tokens_are_drawn_with_their_probabilities(temperature, top_p):
    rng = np.random.default_rng(0)
    n_draws, scores = 20_000, torch.from_numpy(rng.normal(size=12).astype(np.float32)) * 1.5
    probabilities = torch.softmax(scores.double() / temperature, 0).numpy()
    order = np.argsort(-probabilities)
    n_kept = np.searchsorted(np.cumsum(probabilities[order]), top_p - 1e-12) + 1
    kept = order[:n_kept]
    warpers = LogitsProcessorList([TemperatureLogitsWarper(temperature), TopPLogitsWarper(top_p)])
    likely = warpers(None, scores.expand(n_draws, -1))
    drawn = Drawn(rng.integers(2**62, size=n_draws).tolist(), torch.device("cpu"))
    first, second = (drawn(None, likely).argmax(dim=-1).numpy() for _ in range(2))
    expected = probabilities[kept] / probabilities[kept].sum()
    for drawn in (first, second):
        counts = np.bincount(drawn, minlength=12)
        assert set(np.flatnonzero(counts)) <= set(kept)
        assert chisquare(counts[kept], expected * n_draws).pvalue > 1e-3
    # one step does not tell the next
    pairs = np.histogram2d(first, second, bins=[np.arange(13)] * 2)[0][np.ix_(kept, kept)]
    assert chisquare(pairs.ravel(), np.outer(expected, expected).ravel() * n_draws).pvalue > 1e-3


def test_an_answer_ends_where_the_model_ends_it_or_at_its_longest(chat):
    tokenizer = AutoTokenizer.from_pretrained(chat)
    requests = [request(text, candidate) for text in TEXTS for candidate in range(6)]
    found = answers(writer(chat, max_new_tokens=6), requests)
    for asked, answer in zip(requests, found, strict=True):
        prompt = tokenizer.apply_chat_template(asked.messages, add_generation_prompt=True, tokenize=False)
        assert answer.usage["prompt_tokens"] == len(tokenizer(prompt, add_special_tokens=False)["input_ids"])
        assert answer.usage["total_tokens"] == answer.usage["prompt_tokens"] + answer.usage["completion_tokens"]
    ended = {(answer.text, answer.usage["completion_tokens"]) for answer in found if answer.finish_reason == "stop"}
    # the end token counts, and stands in no text
    assert {('{"review": ""}', 5), (REFUSAL, 6)} <= ended
    cut = [answer for answer in found if answer.finish_reason == "length"]
    assert '{"review": "A joy' in {answer.text for answer in cut}
    assert {answer.usage["completion_tokens"] for answer in cut} == {6}
    assert len(cut) + sum(answer.finish_reason == "stop" for answer in found) == len(found)


def test_all_end_tokens_of_the_checkpoint_end_an_answer(chat, tmp_path):
    tokenizer = AutoTokenizer.from_pretrained(chat)
    ends = [tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids("Ġnot")]
    folder = copy_with(chat, tmp_path / "model", "generation_config.json", eos_token_id=ends)
    found = answers(writer(folder), [request("Dull.", candidate) for candidate in range(60)])
    assert ("Sorry, not", "stop") in {(answer.text, answer.finish_reason) for answer in found}
    assert not any(answer.text.startswith("Sorry, not ") for answer in found)


def test_how_the_checkpoint_would_sample_does_not_matter(chat, tmp_path):
    defaults = {"repetition_penalty": 30.0, "top_k": 1, "temperature": 0.01, "max_length": 20, "suppress_tokens": [5]}
    folder = copy_with(chat, tmp_path / "model", "generation_config.json", **defaults)
    requests = [request(text, candidate) for text in TEXTS for candidate in range(2)]
    assert texts_of(writer(folder), requests) == texts_of(writer(chat), requests)


def test_a_prompt_beyond_the_context_is_a_failure_of_its_own(chat, tmp_path):
    folder = copy_with(chat, tmp_path / "model", "config.json", max_position_embeddings=64)
    found = answers(writer(folder), [request(text) for text in TEXTS])
    failed = [number for number, answer in enumerate(found) if isinstance(answer, Failure)]
    assert failed == [2, 5]
    assert "tokens and max_new_tokens is 24, more than the model's context of 64" in found[2].reason
    assert texts_of(writer(chat), [request("Dull.")]) == [found[0].text]


def test_a_batch_that_does_not_fit_is_told_and_those_before_it_are_kept(chat, monkeypatch):
    forward = LlamaModel.forward

    def with_little_memory(self, input_ids, **options):
        if input_ids.shape[1] > 100:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return forward(self, input_ids, **options)

    monkeypatch.setattr(LlamaModel, "forward", with_little_memory)
    found = []
    with pytest.raises(HomogenizationError, match=r"memory runs out at 2 requests a batch.*Lower batch_size"):
        found.extend(number for number, _ in writer(chat, batch_size=2).complete([request(text) for text in TEXTS]))
    assert 0 in found


def test_a_template_that_prints_the_date_prints_the_same_one_every_day(chat, tmp_path, monkeypatch):
    folder = shutil.copytree(chat, tmp_path / "model")
    (folder / "chat_template.jinja").write_text("{{ strftime_now('%d %B %Y') }} " + CHAT_TEMPLATE)
    made = writer(folder, temperature=0.0)
    prompt = made._model.tokenizer.decode(made._model.token_ids(request("Dull.").messages))
    assert prompt.startswith("26 July 2024 ")


def test_what_identifies_a_model_is_what_it_is_made_of(chat, tmp_path):
    original = writer(chat).identity
    assert json.loads(json.dumps(original)) == original
    assert writer(shutil.copytree(chat, tmp_path / "elsewhere")).identity == original
    assert writer(chat, dtype="bfloat16", batch_size=1).identity != original
    other_template = CHAT_TEMPLATE.replace("<|assistant|>", "<|user|>")
    for name, content in (("chat_template.jinja", other_template), ("tokenizer.tiktoken", "")):
        other = shutil.copytree(chat, tmp_path / name)
        (other / name).write_text(content)
        assert writer(other).identity != original
    other_weights = shutil.copytree(chat, tmp_path / "weights")
    data = bytearray((other_weights / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (other_weights / "model.safetensors").write_bytes(data)
    assert writer(other_weights).identity != original


def test_nothing_is_fetched_or_loaded_until_a_request_is_asked(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    commit = "0123456789abcdef0123456789abcdef01234567"
    made = writer(Path(), weights={"hub": "nobody/nothing", "revision": commit})
    assert made.identity == {"hub": "nobody/nothing", "revision": commit, "dtype": "float32"}
    assert made.parameters["seed"] == 0
    assert list(made.complete([])) == []
    with pytest.raises(HomogenizationError, match="nobody/nothing"):
        list(made.complete([request("Dull.")]))


def test_a_model_without_a_chat_template_is_refused(chat, tmp_path):
    folder = shutil.copytree(chat, tmp_path / "model")
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(HomogenizationError, match=r"has no chat template.*-Instruct"):
        list(writer(folder).complete([request("Dull.")]))


def test_a_template_that_takes_no_system_message_says_so(chat, tmp_path):
    folder = shutil.copytree(chat, tmp_path / "model")
    (folder / "chat_template.jinja").write_text(
        "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
        + CHAT_TEMPLATE
    )
    with pytest.raises(HomogenizationError, match=r"System role not supported.*leave `system` of the prompt empty"):
        list(writer(folder).complete([request("Dull.")]))
    without = Request("a", request("Dull.").messages[1:], REVIEW_SCHEMA, 0)
    assert isinstance(answers(writer(folder), [without])[0], Completion)


def test_more_gpus_than_there_are_are_refused(chat):
    with pytest.raises(HomogenizationError, match=rf"gpu: 99 .* sees {torch.cuda.device_count()}"):
        list(writer(chat, gpus=99).complete([request("Dull.")]))
