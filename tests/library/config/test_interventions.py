"""The sections `interventions` and `consequences`: the jobs that follow from them, and what does not fit together."""

import pytest

from configured import study_of
from homogenization.run.errors import HomogenizationError


def test_the_first_reviews_by_rank_are_read_over_shards():
    study = study_of({"corpus.n_reviews": 18}, interventions={"n_reviews": 8})
    names = [condition.name for condition in study.interventions.conditions]
    assert study.intervention_jobs == [("tiny", "original", name, shard) for shard in ("000", "001") for name in names]
    assert {variant for _, variant, _ in study.component_jobs} == {"original"}
    assert study_of(interventions=None).intervention_jobs == []


def test_conditions_need_interventions():
    with pytest.raises(HomogenizationError, match="there is no section 'interventions'"):
        study_of(consequences={"conditions": ["steering-first-0.2-all"]}, interventions=None)


def test_originals_are_read_in_all_conditions_and_variants_untouched():
    reading = study_of(consequences={"n_reviews": 10}).reading
    assert reading.variants == ["original", "front"]
    assert reading.shards == ["000", "001"]
    assert [reading.study.n_read(shard, reading.study.consequences) for shard in reading.shards] == [6, 4]
    assert len(reading.conditions("tiny", "original")) == 4
    assert [one.name for one in reading.conditions("tiny", "front")] == ["untouched"]
    assert len(reading.jobs) == 2 * (4 + 1)
    assert reading.jobs[1] == ("tiny", "original", "steering-first-0.2-all", "000")
    chosen = study_of(consequences={"n_reviews": 10, "conditions": ["masked-first"]}).reading
    assert [one.name for one in chosen.conditions("tiny", "original")] == ["untouched", "masked-first"]


def test_without_labels_or_interventions_there_is_less():
    unlabelled = study_of({"corpus.label_column": None}, consequences={"n_reviews": 4}).reading
    assert unlabelled.folds is None
    untouched = study_of(consequences={"n_reviews": 10}, interventions=None).reading
    assert [one.name for one in untouched.conditions("tiny", "original")] == ["untouched"]
    assert study_of(consequences=None).reading is None
