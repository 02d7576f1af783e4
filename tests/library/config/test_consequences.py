"""The section `consequences`: what is read in which conditions, and what a mistake says."""

import copy

import pytest

from conftest import ROOT, SMALL
from homogenization.config.study import Study, load_study
from homogenization.run.errors import HomogenizationError


def study_of(consequences, **changes) -> Study:
    raw = copy.deepcopy(SMALL) | {"consequences": consequences, "claims": None} | changes
    raw["corpus"] |= {"source": str(ROOT / "config/reviews.jsonl")}
    return load_study(raw)


@pytest.mark.parametrize(
    ("consequences", "said"),
    [
        ({"perturbations": ["typos"]}, "unknown name 'typos' (did you mean 'typo'?); allowed: typo, deleted_word"),
        ({"variants": ["front"]}, "lack 'original'"),
        ({"variants": ["original", "fornt"]}, "did you mean 'front'?"),
        ({"models": ["tyny"]}, "did you mean 'tiny'?"),
        (
            {"conditions": ["steering:first:0.3:all"]},
            "allowed: untouched, steering:first:0.2:all, steering:removed:0.2:all",
        ),
        ({"intervened": ["original", "end"]}, "intervened: ['end'] are not read; allowed: original, front, typo"),
        ({"n_reviews": 8}, "5 folds need 10 reviews of two labels, and 8 are read"),
        ({"probes": {"penalty": 0.0}}, "consequences.probes.penalty: 0.0 is not allowed"),
        ({"condition": []}, "unknown key"),
    ],
)
def test_a_mistake_names_key_value_and_what_is_allowed(consequences, said):
    with pytest.raises(HomogenizationError) as raised:
        study_of(consequences)
    assert "consequences" in str(raised.value)
    assert said in str(raised.value)


def test_a_model_without_its_head_is_refused_before_anything_runs():
    untied = {"weights": {"random": {"model_type": "llama"}}, "device": "cpu"}
    with pytest.raises(HomogenizationError, match=r"consequences: the model 'untied' \(llama\) lacks its .*head"):
        study_of({"n_reviews": 10}, models={"untied": untied}, interventions=None)


def test_conditions_need_interventions_and_names_of_perturbed_texts_are_theirs():
    with pytest.raises(HomogenizationError, match="there is no section 'interventions'"):
        study_of({"conditions": ["steering:first:0.2:all"]}, interventions=None)
    variants = {**SMALL["variants"], "typo": SMALL["variants"]["front"] | {"position": "end"}}
    with pytest.raises(HomogenizationError, match=r"the variants \['typo'\] bear names of perturbed texts"):
        study_of({}, variants=variants)
    assert study_of({"perturbations": []}, variants=variants).reading.texts == ["original", "front", "typo"]


def test_originals_and_perturbed_texts_are_read_in_all_conditions_and_variants_untouched():
    reading = study_of({"n_reviews": 10}).reading
    assert reading.texts == ["original", "front", "typo", "deleted_word"]
    assert reading.shards == ["000", "001"]
    assert [reading.n_reviews(shard) for shard in reading.shards] == [6, 4]
    assert len(reading.conditions("tiny", "typo")) == 4
    assert [one[0] for one in reading.conditions("tiny", "front")] == ["untouched"]
    assert reading.n_passes("tiny", "original", "001") == 16
    costs = reading.planned_jobs("tiny")
    assert costs[:3] == [["original", "000", 6, 4], ["original", "001", 4, 4], ["front", "000", 6, 1]]
    assert costs[4] == ["original", "000", 6, 4]  # the typo
    assert (len(reading.metrics("front")), reading.metrics("typo")) == (2, [])
    chosen = study_of({"n_reviews": 10, "conditions": ["masked:first"], "intervened": ["original", "front"]}).reading
    assert [one[:2] for one in chosen.conditions("tiny", "front")] == [["untouched", None], ["masked", "first"]]
    assert len(chosen.conditions("tiny", "typo")) == 1


def test_without_labels_or_interventions_there_is_less():
    unlabelled = study_of({"n_reviews": 4}, corpus=SMALL["corpus"] | {"label_column": None}).reading
    assert unlabelled.probes is None
    assert not study_of({"n_reviews": 10}, interventions=None).reading.intervenes
    assert study_of(None).reading is None
