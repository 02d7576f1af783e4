"""What follows from a configuration: shards, jobs, metrics, contrasts; and what rules track of it."""

import pytest

from configured import ENDPOINT, study_of
from conftest import SMALL
from homogenization.metrics.attention import ATTENTION_METRICS
from homogenization.metrics.catalogue import METRIC_NAMES, describe_metric

PARAPHRASE = {"rewriter": "llm", "writer": "served", "prompt": "config/prompts/paraphrase.yaml"}
VARIANTS = {
    "end": {"rewriter": "rules", "position": "end"},
    "original": {"rewriter": "none"},
    "paraphrase": PARAPHRASE,
    "front": {"rewriter": "rules", "position": "front"},
}
MODELS = {"b": {"weights": {"hub": "a/b"}}, "a": {"weights": {"hub": "a/a"}}}


@pytest.mark.parametrize(
    ("n_reviews", "shard_size", "ranks"),
    [(12, 6, [(0, 6), (6, 12)]), (13, 6, [(0, 6), (6, 12), (12, 13)]), (11, 50, [(0, 11)])],
)
def test_shards_hold_all_reviews_once(n_reviews, shard_size, ranks):
    study = study_of({"corpus.n_reviews": n_reviews, "corpus.shard_size": shard_size})
    assert study.shards == [f"{number:03d}" for number in range(len(ranks))]
    assert [study.ranks(shard) for shard in study.shards] == ranks


def test_variants_are_told_apart_by_who_writes_them():
    study = study_of(variants=VARIANTS)
    assert study.rewritten == ["end", "paraphrase", "front"]
    assert study.written == ["paraphrase"]


def test_jobs_are_sorted_whatever_the_order_of_the_configuration():
    study = study_of(variants=VARIANTS, models=MODELS)
    assert study.jobs == sorted(study.jobs)
    assert len(study.jobs) == len(set(study.jobs)) == 2 * 4 * 2
    assert study.jobs[0] == ("a", "end", "000")
    assert study_of(variants=dict(reversed(VARIANTS.items())), models=MODELS).jobs == study.jobs


def test_tokens_of_what_is_yet_to_be_written_are_counted_by_the_original():
    counted = study_of(variants=VARIANTS).counted_jobs
    assert [(variant, shard) for variant, shard, _ in counted] == sorted(
        (variant, shard) for variant in VARIANTS for shard in ("000", "001")
    )
    for variant, _, counted_as in counted:
        assert counted_as == ("original" if variant == "paraphrase" else variant)


def test_a_section_is_of_the_models_and_variants_that_it_names():
    named = {"components": {"variants": ["front"]}, "interventions": {"models": ["b"], "n_reviews": 6}}
    study = study_of(variants=VARIANTS, models=MODELS, **named)
    assert study.component_jobs == [job for job in study.jobs if job[1] == "front"]
    assert {job[:2] for job in study.intervention_jobs} == {("b", "original")}
    assert study_of(components=None).component_jobs == []


def test_measures_of_the_variants_that_are_named():
    study = study_of(variants=VARIANTS, models=MODELS)
    assert study.mauve_variants == list(VARIANTS)
    named = study_of(variants=VARIANTS, models=MODELS, mauve={"variants": ["front", "original"]})
    assert named.mauve_variants == [name for name in VARIANTS if name in ("front", "original")]
    jobs = named.jobs_of(named.mauve_variants)
    assert jobs == [job for job in named.jobs if job[1] in ("front", "original")]
    assert len(jobs) == 2 * 2 * 2


def by_rule(position, **further):
    return {"rewriter": "rules", "position": position, **further}


CONTROLLED = {
    "original": {"rewriter": "none"},
    "front": by_rule("front"),
    "front-inward": by_rule("inward", like="front"),
    "end-inward": by_rule("inward", like="end"),
    "front-other": by_rule("front", phrases="other"),
    "inward-other": by_rule("inward", like="front", phrases="other"),  # differs in two respects
    "end": by_rule("end"),
    "paraphrase": PARAPHRASE,
    "paraphrase-2": PARAPHRASE | {"prompt": "config/prompts/front.yaml"},  # the role is taken
    "front-lm": PARAPHRASE | {"position": "front"},
    "front-lm-2": PARAPHRASE | {"position": "front", "writer": "second"},  # has no paraphrase
}
WRITERS = {"served": ENDPOINT, "second": ENDPOINT | {"model": "n"}}


def test_a_control_differs_from_its_variant_in_one_respect():
    study = study_of(variants=CONTROLLED, writers=WRITERS)
    assert study.controls == {
        "front": {"edge": "front-inward", "key": "front-other"},
        "end": {"edge": "end-inward"},
        "front-lm": {"rewriting": "paraphrase"},
    }
    assert study_of(variants={name: CONTROLLED[name] for name in ("original", "front")}).controls == {}


def test_constructions_at_both_sides_are_each_others_control():
    def moved(position, **further):
        return {"rewriter": "natural", "position": position, **further}

    variants = {
        "original": {"rewriter": "none"},
        "front": moved("front"),
        "end": moved("end"),
        "front-key": moved("front", phrases="key"),
        "end-key": moved("end", phrases="key"),
        "front-other": moved("front", phrases="other"),
        "rule": by_rule("end"),
    }
    study = study_of(variants=variants)
    assert study.controls == {
        "front": {"side": "end"},
        "front-key": {"key": "front-other", "side": "end-key"},
    }


def test_a_key_sentence_that_moves_has_another_one_as_its_control():
    def moved(sentence, to):
        return {"rewriter": "order", "move": {"sentence": sentence, "to": to}}

    variants = {
        "original": {"rewriter": "none"},
        "blocks": {"rewriter": "order", "blocks": 4},
        "key-last": moved("key", "last"),
        "key-first": moved("key", "first"),
        "other-first": moved("other", "first"),
        "front": by_rule("front"),
    }
    study = study_of(variants=variants)
    assert study.controls == {"key-first": {"key": "other-first", "side": "key-last"}}
    assert study.reordered == ["blocks", "key-first", "key-last", "other-first"]
    assert study.placed == study.parsed == ["front"]


def test_contrasts_are_those_named_or_with_the_original_and_the_controls():
    rewritten = [name for name in CONTROLLED if name != "original"]
    assert study_of(variants=CONTROLLED, writers=WRITERS).contrasted == [
        *((name, "original") for name in rewritten),
        ("front", "front-inward"),
        ("front", "front-other"),
        ("end", "end-inward"),
        ("front-lm", "paraphrase"),
    ]
    pairs = [["original", "front"]]
    assert study_of(variants=VARIANTS, contrasts={"pairs": pairs}).contrasted == [("original", "front")]
    alone = {"variants": {"original": {"rewriter": "none"}}}
    assert study_of(**alone).contrasted == []


def test_contrasted_metrics_can_be_compared_between_texts_of_different_lengths():
    chosen = study_of(metrics=list(METRIC_NAMES)).contrasted_metrics
    assert chosen == sorted(chosen)
    for name in METRIC_NAMES:
        metric = describe_metric(name)
        moves = metric.homogenization or name in ATTENTION_METRICS
        assert (name in chosen) == (name == "n_tokens" or (bool(moves) and not metric.extensive))


def test_contrasted_metrics_are_those_named_that_are_tabulated():
    named = {"metrics": ["resultant_length", "first_token_attention_share", "effective_rank"]}
    assert study_of(contrasts=named).contrasted_metrics == sorted(named["metrics"])


def test_claims_are_plain_values_and_none_without_a_file():
    claims = study_of().judged_claims
    assert {"claim", "statement", "source", "statistic", "table", "where", "criterion"} == set(claims[0])
    assert study_of(claims=None).judged_claims == []


def test_params_are_plain_sorted_and_those_that_are_named():
    study = study_of(states={"layers": [0, -1]})
    assert study.states.params("layers", "dtype") == {"dtype": "auto", "layers": [0, -1]}
    assert list(study.states.params()) == sorted(study.states.params())
    written = study_of(variants=VARIANTS).variants["paraphrase"]
    assert written.params() == {"position": None} | PARAPHRASE


def test_examples_are_chosen_by_a_contrast_of_a_shown_variant_with_controls_at_the_front_if_there_is_one():
    variants = {"aside": {"rewriter": "natural", "position": "end"}, **SMALL["variants"]}
    variants |= {"inward": {"rewriter": "rules", "position": "inward", "like": "front"}}
    for order in (list(variants), list(reversed(variants))):
        study = study_of(variants={name: variants[name] for name in order})
        assert study.example_choice == {
            "variant": "front",
            "minus": "original",
            "metric": "resultant_length",
            "view": "all_tokens",
        }
    edges = variants | {"end": {"rewriter": "rules", "position": "end"}}
    edges |= {"end-inward": {"rewriter": "rules", "position": "inward", "like": "end"}}
    assert study_of(variants=edges).example_choice["variant"] == "front"
    alone = study_of(variants={"original": {"rewriter": "none"}})
    assert alone.example_choice["variant"] is None
