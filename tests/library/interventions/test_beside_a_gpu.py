"""What would keep a GPU waiting, or fill it: uploads, logits of a whole pack, waits between passes, and measuring."""

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from fake_cuda import forget_uploads
from homogenization.interventions import intervened
from homogenization.interventions.conditions import MASKED, STEERING, UNTOUCHED, Condition
from homogenization.interventions.passes import damage
from homogenization.interventions.patterns import PATTERNS, Sight
from homogenization.interventions.schedule import Pack, apply
from homogenization.states.network import run_packed
from plain_interventions import tiny_language_model
from tiny_models import CONFIGS, VOCABULARY, random_texts

LENGTHS = [40, 7, 140]
TEXTS = list(map(np.array, random_texts(LENGTHS)))
N_CHUNKS = 4  # of queries: the longest text has two


def pack_of(name, n_blocks=3):
    config = type(CONFIGS[name])(**{**CONFIGS[name].to_dict(), "num_hidden_layers": n_blocks})
    return Pack(tiny_language_model(name, config)[1], name, ["a", "b", "c"], TEXTS, 0)


@pytest.mark.parametrize(
    "condition",
    [
        *(Condition(STEERING, pattern, 0.2) for pattern in PATTERNS if pattern != "permuted"),  # drawn for each block
        Condition(MASKED, "random_1"),
        Condition(MASKED, "most_attended"),
    ],
    ids=lambda condition: condition.key,
)
def test_what_follows_from_places_is_uploaded_once_for_all_blocks(condition):
    few, many = (uploads_of(condition, n_blocks) for n_blocks in (2, 5))
    assert few == many <= 3 * N_CHUNKS


def uploads_of(condition, n_blocks):
    pack, made, upload = pack_of("llama", n_blocks), [], Sight.tensor
    untouched = pack.through()
    forget_uploads()
    with patch.object(Sight, "tensor", lambda *rest: made.append(rest) or upload(*rest)):
        apply(condition, pack, untouched)
    return len(made)


class Largest(TorchDispatchMode):
    """The most rows of a tensor of logits."""

    rows = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        if isinstance(result, torch.Tensor) and result.shape[-1:] == (VOCABULARY,):
            self.rows = max(self.rows, result.shape[:-1].numel())
        return result


@pytest.mark.parametrize("name", ["llama", "gemma2", "gpt2", "gpt_neox"])
def test_the_head_reads_one_review_at_a_time_and_gives_the_logits_of_the_whole_network(name):
    pack = pack_of(name)
    with Largest() as largest:
        untouched = pack.through()
        assert largest.rows == 0
        changed = apply(Condition(STEERING, "first", 0.2), pack, untouched)
        found = damage(untouched, changed, pack.token_ids).rows()
    assert largest.rows == max(LENGTHS)
    whole = run_packed(pack.model, pack.token_ids, LENGTHS, False, lambda *_: None, through=lambda seen: seen.weights)
    for review, logits in enumerate(whole.logits.split(LENGTHS)):
        assert torch.equal(untouched.logits_of(review), logits)
        loss = torch.nn.functional.cross_entropy(changed.logits_of(review)[:-1], torch.as_tensor(TEXTS[review][1:]))
        assert found[review, 1] == pytest.approx(float(loss), rel=1e-6)
    assert "forward" not in vars(pack.model.network.base_model), "the base model runs again"


def test_a_pass_is_not_waited_for():
    """From its start until the head has read the last review, nothing is asked of the device but copies that begin."""
    pack = pack_of("llama")
    untouched = pack.through()
    waits = []

    def waited(name):
        return lambda *rest: waits.append(name)

    names = ("cpu", "item", "tolist", "numpy", "__bool__", "__float__", "__int__", "__index__", "nonzero")
    patches = [patch.object(torch.Tensor, name, waited(name)) for name in names]
    for one in patches:
        one.start()
    try:
        changed = apply(Condition(STEERING, "uniform", 0.2), pack, untouched)
        damages = damage(untouched, changed, pack.token_ids)
    finally:
        for one in patches:
            one.stop()
    assert not waits
    assert (damages.rows()[:, 0] > 0).all()


def test_threads_beside_a_gpu_find_the_same(monkeypatch):
    """Forced here on a CPU; more reviews in a pass than threads, more conditions than wait."""
    pack, measuring, measure = pack_of("llama"), set(), intervened.read
    steered = [Condition(STEERING, pattern, 0.2) for pattern in ("first", "removed", "uniform")]
    asked = [Condition(UNTOUCHED), *steered], ["cosine_anisotropy"], {"model": "m", "variant": "v"}, 4096
    inline = intervened.intervene(pack, *asked)

    def measured(*arguments):
        measuring.add(threading.current_thread().name)
        return measure(*arguments)

    @contextmanager
    def threads(_model):
        with ThreadPoolExecutor(2) as pool:
            yield pool

    monkeypatch.setattr(intervened, "read", measured)
    monkeypatch.setattr(intervened, "_beside", threads)
    assert all(one.equals(other) for one, other in zip(intervened.intervene(pack, *asked), inline, strict=True))
    assert threading.main_thread().name not in measuring
