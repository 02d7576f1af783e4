"""What has to come out whatever the weights: no dose, massive tokens; what is refused; and on a trained model."""

from itertools import count

import numpy as np
import pytest
import torch

from homogenization.corpus.hashing import seeded_hash
from homogenization.interventions import passes
from homogenization.interventions.conditions import MASKED, POSITIONS, STEERING, UNTOUCHED, Condition
from homogenization.interventions.doses import damage
from homogenization.interventions.intervened import intervene
from homogenization.interventions.passes import run, run_in
from homogenization.interventions.patterns import PATTERNS
from homogenization.metrics.geometry import TokenMatrix, cosine_anisotropy
from homogenization.run.errors import HomogenizationError
from tiny_models import CONFIGS, WITHOUT_INTERFACE, language_model, random_texts

TEXTS = list(map(np.array, random_texts([40, 7, 140])))


def tiny(name):
    return language_model(name, (CONFIGS | WITHOUT_INTERFACE)[name])


@pytest.mark.parametrize("name", CONFIGS)
def test_no_dose_is_no_steering_bit_for_bit_and_no_damage(name):
    model = tiny(name)
    for text in TEXTS:
        untouched = run(model, text)
        for pattern in PATTERNS:
            changed = run_in(Condition(STEERING, pattern, 0.0), model, text, untouched, draw=b"r")
            assert all(np.array_equal(*layers) for layers in zip(changed.states, untouched.states, strict=True))
            assert changed.moved_mass == 0.0
            assert damage(untouched, changed, text)[0] in (0.0, None)


def test_massive_keys_are_masked_and_those_that_grow_massive_since_at_most_eight_times(monkeypatch):
    """Token 2 is massive by itself; in trained models, the token behind a masked one may grow massive."""
    model = tiny("llama")
    with torch.no_grad():
        model.network.get_input_embeddings().weight[299] *= 500
    marked = np.array([*TEXTS[0][:2], 299, *TEXTS[0][3:]])
    untouched = run(model, marked)
    assert 2 in untouched.massive
    changed = run_in(Condition(MASKED, "massive"), model, marked, untouched, draw=b"r")
    assert changed.received[2] <= 1 + 1e-4, "its own query alone reads it"
    grown, shut, masked = count(1), [], passes.masked
    monkeypatch.setattr(passes, "massive_tokens", lambda _: frozenset(range(next(grown))))
    monkeypatch.setattr(passes, "masked", lambda places: shut.append(len(places)) or masked(places))
    run_in(Condition(MASKED, "massive"), model, TEXTS[0], run(model, TEXTS[0]), draw=b"r")
    assert shut == list(range(1, 9))


def test_both_sides_of_a_difference_have_the_same_tokens(monkeypatch):
    """`without_first` leaves out what is massive in either run."""
    model, places = tiny("llama"), iter([{5}, {7}])
    monkeypatch.setattr(passes, "massive_tokens", lambda _: frozenset(next(places)))
    made = intervene(model, {"a": TEXTS[0]}, Condition(STEERING, "first", 0.9), ["cosine_anisotropy"], seed=0)
    monkeypatch.undo()
    untouched = run(model, TEXTS[0])
    changed = run_in(Condition(STEERING, "first", 0.9), model, TEXTS[0], untouched, draw=seeded_hash(0, "a"))
    rows = made["metrics"].filter(view="without_first").sort("layer")
    for column, of_run in (("value", changed), ("untouched", untouched)):
        expected = [cosine_anisotropy(TokenMatrix(np.delete(of, [0, 5, 7], axis=0))) for of in of_run.states]
        np.testing.assert_allclose(rows[column], expected, rtol=1e-5)
    left = [np.delete(states, [0, 7], axis=0).mean(axis=0) for states in changed.states]
    np.testing.assert_allclose(made["states"].sort("layer")["state"].to_list(), left, rtol=1e-4, atol=1e-6)
    assert made["doses"]["n_massive"].to_list() == [1]


@pytest.mark.parametrize(
    ("name", "condition", "said"),
    [
        ("gpt2", Condition(POSITIONS, "constant"), "GPT2Model has no rotary positions"),
        ("bert", Condition(POSITIONS, "constant"), "BertModel has no rotary positions"),
        ("llama", Condition(STEERING, "first", 0.1, "4"), "'4' names blocks that .* numbers from 1 to 3"),
        ("falcon", Condition(STEERING, "first", 0.1), "FalconModel: its attention can't be changed"),
        ("bloom", Condition(MASKED, "most_attended"), "BloomModel: its attention can't be changed"),
    ],
)
def test_what_a_model_can_not_do_is_refused_and_its_states_are_read(name, condition, said):
    model, reviews = tiny(name), {"a": TEXTS[1]}
    made = intervene(model, reviews, Condition(UNTOUCHED), ["cosine_anisotropy"], seed=0)
    assert made["doses"].select("kl", "branch_norm").row(0) == (None if name == "bert" else 0.0, False)
    with pytest.raises(HomogenizationError, match=said):
        intervene(model, reviews, condition, ["cosine_anisotropy"], seed=0)


def test_states_that_are_not_finite_name_the_review_and_the_condition():
    model = tiny("llama")
    model.network.get_input_embeddings().weight.data[TEXTS[1][0]] = torch.inf
    with pytest.raises(HomogenizationError, match=r"review b, steering-first-0\.1-all: states that are not finite"):
        intervene(model, {"b": TEXTS[1]}, Condition(STEERING, "first", 0.1), ["cosine_anisotropy"], seed=0)
