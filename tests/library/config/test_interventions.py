"""The section `interventions`: the jobs that follow from it, and what a mistake says."""

import copy

import pytest

from conftest import ROOT, SMALL
from homogenization.config.study import Study, load_study
from homogenization.run.errors import HomogenizationError


def study_of(interventions, **changes) -> Study:
    raw = copy.deepcopy(SMALL) | {"interventions": interventions, "claims": None} | changes
    raw["corpus"] |= {"source": str(ROOT / "config/reviews.jsonl")}
    return load_study(raw)


@pytest.mark.parametrize(
    ("interventions", "said"),
    [
        (
            {"dial": {"patterns": ["frist", "removed"]}},
            "unknown name 'frist' (did you mean 'first'?); allowed: first, second",
        ),
        ({"dial": {"patterns": ["first"]}}, "lack 'removed'"),
        ({"dial": {"strengths": [1.5]}}, "interventions.dial.strengths[0]: 1.5 is not allowed"),
        ({"dial": {"strengths": [-0.1]}}, "interventions.dial.strengths[0]: -0.1 is not allowed"),
        ({"dial": {"strengths": [0.1, 0.1]}}, "names a value twice"),
        ({"template": {"strengths": [-1.5, 1.5]}}, "interventions.template.strengths[0]: -1.5 is not allowed"),
        ({"template": {"strengths": [0.5]}}, "lack a sign"),
        (
            {"template": {}, "variants": ["original", "front"]},
            "needs the section 'positional' for the variants ['front']",
        ),
        ({"capped": {"bounds": [2.0]}}, "interventions.capped.bounds[0]: 2.0 is not allowed"),
        ({"capped": {"to": ["noone"]}}, "allowed: nobody, others"),
        ({"closed": ["third"]}, "allowed: first, random, most_attended, massive"),
        ({"positions": ["shifted"]}, "allowed: offset, constant, scaled, shuffled"),
        ({"blocks": ["centre"]}, "unknown name 'centre'"),
        ({"blocks": [[2, 1]]}, "no ascending list"),
        ({"blocks": ["steepest"]}, "'steepest' needs 'cosine_anisotropy'"),
        ({"metrics": ["first_token_norm"]}, "unknown name 'first_token_norm'"),
        ({"slopes": {"metrics": ["stable_rank"]}}, "unknown name 'stable_rank'"),
        ({"models": ["tyny"]}, "did you mean 'tiny'?"),
        ({"variants": ["end"]}, "'end' is not among variants"),
        ({"pattern": "first"}, "unknown key"),
    ],
)
def test_a_mistake_names_key_value_and_what_is_allowed(interventions, said):
    with pytest.raises(HomogenizationError) as raised:
        study_of(interventions)
    assert "interventions" in str(raised.value)
    assert said in str(raised.value)


def test_a_template_needs_the_sums_that_it_is_made_of():
    with pytest.raises(HomogenizationError, match="template: needs the section 'positional' for the models"):
        study_of({"template": {}}, positional=None)
    assert study_of({"template": {}}).intervention_jobs


def test_the_first_reviews_by_rank_are_read_over_shards():
    study = study_of({"n_reviews": 8}, corpus={"n_reviews": 18, "shard_size": 6})
    assert study.intervention_jobs == [("tiny", "original", "000"), ("tiny", "original", "001")]
    assert [study.n_intervened(shard) for shard in ("000", "001")] == [6, 2]
    assert study.intervention_costs("tiny")["jobs"] == [["original", "000", 6], ["original", "001", 2]]
    assert study_of(None).intervention_jobs == []
    assert study_of(None).intervention_costs("tiny") == {"jobs": [], "conditions": 0, "backward": 0}
