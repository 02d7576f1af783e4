"""Language models that write in the job: batches, ends, memory, identity, what is refused."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaModel

from homogenization.run.errors import HomogenizationError
from homogenization.writers.local import Writer
from tiny_chat import CHAT_TEMPLATE, REFUSAL, build_chat_model

TEXTS = [
    "Dull.",
    "The plot is thin, the acting is not, and I would see it again.",
    "A film that I will not forget! " * 9,
    "Never again.",
    "The second half saves what the first half spoils, which is everything.",
    "So slow. " * 30,
]


@pytest.fixture(scope="module")
def chat(tmp_path_factory) -> Path:
    return build_chat_model(tmp_path_factory.mktemp("chat"))


@pytest.fixture(scope="module")
def babbler(chat, tmp_path_factory) -> Path:
    """The same with random weights, so large that every token of the prompt matters to each that is written."""
    folder = shutil.copytree(chat, tmp_path_factory.mktemp("babbler") / "model")
    network = AutoModelForCausalLM.from_pretrained(folder)
    torch.manual_seed(0)
    for parameter in network.parameters():
        if parameter.ndim == 2:
            torch.nn.init.normal_(parameter, std=0.15)
    network.save_pretrained(folder)
    return folder


def writer(folder: Path, **changes) -> Writer:
    entry = {"weights": {"path": str(folder)}, "device": "cpu", "gpus": 0, "batch_size": 4}
    return Writer(entry | {"temperature": 1.0, "max_new_tokens": 24} | changes)


def messages(text):
    return [{"role": "system", "content": "Rewrite."}, {"role": "user", "content": text}]


def answers(made: Writer, texts=TEXTS, seed=0):
    kept, chats = {}, {f"{seed + number:07x}": messages(text) for number, text in enumerate(texts)}
    assert made.complete(chats, kept.__setitem__) == {}
    return [kept[key] for key in chats]


def copy_with(folder: Path, to: Path, file: str, **fields) -> Path:
    """A copy of the model with other fields in one of its JSON files."""
    shutil.copytree(folder, to)
    (to / file).write_text(json.dumps(json.loads((to / file).read_text()) | fields))
    return to


def test_temperature_0_writes_the_likeliest_token_each_time_whatever_else_is_asked(babbler):
    network, tokenizer = AutoModelForCausalLM.from_pretrained(babbler), AutoTokenizer.from_pretrained(babbler)
    expected = []
    for text in TEXTS:
        form = {"add_generation_prompt": True, "return_dict": False, "return_tensors": "pt"}
        token_ids = tokenizer.apply_chat_template(messages(text), **form)
        length = token_ids.shape[1]
        for _ in range(12):
            with torch.inference_mode():
                following = network(token_ids, use_cache=False).logits[:, -1:].argmax(dim=-1)
            token_ids = torch.cat([token_ids, following], dim=1)
        expected.append(tokenizer.decode(token_ids[0, length:]))
    for size in (1, 4, 99):
        made = writer(babbler, temperature=0, max_new_tokens=12, batch_size=size)
        assert [answer.text for answer in answers(made)] == expected


def test_draws_follow_the_seed_of_each_answer_and_the_shares_of_the_model(chat, babbler):
    for folder in (chat, babbler):  # in one, answers end early
        assert len({tuple(answers(writer(folder, batch_size=size), TEXTS * 2)) for size in (4, 4, 1, 99)}) == 1
    assert answers(writer(babbler), seed=99) != answers(writer(babbler))
    found = [answer.text for answer in answers(writer(chat, batch_size=400), ["Dull."] * 400)]
    assert 0.04 < found.count(REFUSAL) / 400 < 0.2  # .1


def test_an_answer_ends_where_the_model_ends_it_or_at_its_longest(chat, tmp_path):
    found = answers(writer(chat, max_new_tokens=6), TEXTS * 6)
    assert {answer.text for answer in found if answer.finish_reason == "stop"} == {'{"review": ""}', REFUSAL}
    assert '{"review": "A joy' in {answer.text for answer in found if answer.finish_reason == "length"}
    tokenizer = AutoTokenizer.from_pretrained(chat)
    ends = [tokenizer.eos_token_id, tokenizer.convert_tokens_to_ids("Ġnot")]
    folder = copy_with(chat, tmp_path / "model", "generation_config.json", eos_token_id=ends)
    assert ("Sorry, not", "stop") in {(one.text, one.finish_reason) for one in answers(writer(folder), TEXTS * 9)}


def test_how_the_checkpoint_would_sample_does_not_matter(chat, tmp_path):
    defaults = {"repetition_penalty": 30.0, "top_k": 1, "temperature": 0.01, "max_length": 20, "suppress_tokens": [5]}
    folder = copy_with(chat, tmp_path / "model", "generation_config.json", **defaults)
    assert answers(writer(folder)) == answers(writer(chat))


def test_a_prompt_beyond_the_context_and_a_batch_beyond_the_memory_are_told(chat, tmp_path, monkeypatch):
    folder = copy_with(chat, tmp_path / "model", "config.json", max_position_embeddings=64)
    with pytest.raises(HomogenizationError, match=r"in a context of 64.*max_new_tokens or corpus\.max_words"):
        answers(writer(folder))
    forward, kept = LlamaModel.forward, []

    def with_little_memory(self, input_ids, **options):
        if input_ids.shape[1] > 100:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")
        return forward(self, input_ids, **options)

    monkeypatch.setattr(LlamaModel, "forward", with_little_memory)
    chats = {f"{number:07x}": messages(text) for number, text in enumerate(TEXTS)}
    with pytest.raises(HomogenizationError, match=r"memory runs out at 2 chats.*Lower batch_size"):
        writer(chat, batch_size=2).complete(chats, lambda key, _: kept.append(key))
    assert "0000000" in kept


def test_what_identifies_a_model_is_what_it_is_made_of(chat, tmp_path):
    original = writer(chat).identity
    assert writer(shutil.copytree(chat, tmp_path / "elsewhere"), batch_size=1).identity == original
    for change in ({"temperature": 0.5}, {"max_new_tokens": 6}):
        assert writer(chat, **change).identity != original
    for name in ("chat_template.jinja", "model.safetensors"):
        other = shutil.copytree(chat, tmp_path / name)
        with (other / name).open("ab") as file:
            file.write(b" ")
        assert writer(other).identity != original


def test_a_model_without_a_chat_template_or_without_a_system_message_is_refused(chat, tmp_path):
    folder = shutil.copytree(chat, tmp_path / "model")
    refusing = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}{% endif %}"
    (folder / "chat_template.jinja").write_text(refusing + CHAT_TEMPLATE)
    with pytest.raises(HomogenizationError, match=r"System role not supported.*leave `system` of the prompt empty"):
        answers(writer(folder))
    (folder / "chat_template.jinja").unlink()
    with pytest.raises(HomogenizationError, match="-Instruct"):
        answers(writer(folder))
