"""Only what an edit touches runs again: real dry runs on a finished run, compared with the exact set of jobs."""

import copy
import os
import shutil
from collections import Counter

import pytest

from conftest import LLAMA, SMALL, Project, copy_workflow, with_changes
from kill_and_resume import jobs_of

SHARDS = 2
VARIANTS = 2
JOBS = SHARDS * VARIANTS  # of one model

CONDITIONS = 4
# originals and a variant of the first shard
READ = {"read_consequences": SHARDS * (CONDITIONS + 1), "probe_states": 1}
# everything below the states of a model
MEASURES = (
    "measure",
    "compute_mauve",
)
# of the originals alone, as this study has it
OF_ORIGINALS = ("measure_pooled", "extract_components")
EFFECTS = ("estimate_interventions", "estimate_consequences")
PLOTS = ("plot_states", "plot_contrasts", "plot_texts", "plot_effects")
# what reads the tables of a rule
READERS = {
    "collect_texts": ["collect", "collect_further", *EFFECTS, "plot_texts"],
    "collect": ["estimate", "plot_states"],
    "collect_further": ["plot_states", "judge_claims"],
    "estimate": ["judge_claims", "plot_contrasts", "plot_states"],
    "estimate_interventions": ["judge_claims", "plot_effects"],
    "estimate_consequences": ["judge_claims", "plot_effects"],
}


def below(*rules: str) -> dict[str, int]:
    """These rules of tables, with all that reads their tables: rule -> its one job."""
    return dict.fromkeys(rules, 1) | {name: 1 for rule in rules for name in below(*READERS.get(rule, ()))}


BELOW_STATES = below("collect", "collect_further", *EFFECTS)
REPORT = {"make_report": 1}


def reruns(project, expected: dict[str, int]) -> None:
    """What is planned is `expected`, and the report."""
    assert project.planned() == Counter(expected | (REPORT if expected else {}))


def model_files(project) -> list[str]:
    """The planned files of a model, a variant and a shard: FOLDER/MODEL/VARIANT/SHARD.suffix."""
    return [name for name in project.planned_files() if name.count("/") == 3 and not name.startswith("figures/")]


@pytest.fixture(scope="module")
def edited_run(finished_run, tmp_path_factory) -> Project:
    """A copy of the finished run for edits whose jobs are planned, and not run."""
    folder = tmp_path_factory.mktemp("edited") / "project"
    shutil.copytree(finished_run, folder, symlinks=True)
    return Project(folder)


@pytest.fixture
def edited(edited_run) -> Project:
    """The same, with the workflow and configuration that made it."""
    for part in ("config", "envs", "profiles", "workflow"):
        shutil.rmtree(edited_run.folder / part)
    copy_workflow(edited_run.folder)
    edited_run.config = copy.deepcopy(SMALL)
    return edited_run


def edit_module(project, name: str) -> None:
    """Add a line of code to a module of the library."""
    path = project.folder / "workflow/lib/homogenization" / f"{name}.py"
    path.write_text(f"{path.read_text()}\n_EDITED = True\n")


def test_the_same_configuration_twice(edited):
    assert "Nothing to be done" in edited.ask("--dry-run")


# keys and their values -> the jobs that follow
KEYS = [
    ({"figures.labels": {"tiny": "Tiny"}}, dict.fromkeys(PLOTS, 1)),
    ({"similarity.threshold": 0.6}, below("collect_texts")),
    ({"metrics": [*SMALL["metrics"], "participation_ratio"]}, below("collect")),
    ({"contrasts.metrics": ["resultant_length", "effective_rank"]}, below("estimate")),
    ({"views": [*SMALL["views"], "unit"]}, {"measure": JOBS, **below("collect")}),
    ({"contrasts.margin": 0.03}, below("estimate", *EFFECTS)),
    ({"components.variants": ["original", "front"]}, {"extract_components": SHARDS, **below("collect_further")}),
]


@pytest.mark.parametrize(("changes", "expected"), KEYS, ids=[", ".join(changes) for changes, _ in KEYS])
def test_a_key_reruns_what_depends_on_it(edited, changes, expected):
    edited.config = with_changes(SMALL, changes)
    reruns(edited, expected)


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("config/claims.yaml", "  below: 0\n", "  below: -0.1\n", below("judge_claims")),
        ("config/claims.yaml", "- claim:", "# a comment\n- claim:", {}),
        ("workflow/lib/homogenization/report/report.jinja", "<h1>", "<h1>Edited. ", REPORT),
        ("workflow/report/mauve.rst", "MAUVE", "Mauve", REPORT),
    ],
)
def test_an_edit_of_a_file_reruns_what_it_touches(edited, file, old, new, expected):
    edited.edit(file, old, new)
    reruns(edited, expected)


# the rules of a stage
CORPUS = {"download_corpus", "clean_corpus", "sample_corpus"}
TEXTS = {"parse_reviews", "weigh_words", "extract_keyphrases", "rewrite_reviews", "score_similarity"}
STATES = {"build_random_model", "extract_states"}
MEASURED = {*MEASURES, *OF_ORIGINALS}
PASSES = {"apply_interventions", "read_consequences", "probe_states"}


@pytest.mark.parametrize(
    ("module", "untouched"),
    [
        ("corpus/cleaning", set()),
        ("measures/mauve", CORPUS | TEXTS | STATES),
        ("metrics/spectral", CORPUS | TEXTS | STATES | MEASURED),
        ("tables/mauve", CORPUS | TEXTS | STATES | MEASURED | PASSES),
    ],
)
def test_an_edit_of_a_package_reruns_the_stages_that_use_it(edited, finished_run, module, untouched):
    edit_module(edited, module)
    every = {job.rule for job in jobs_of(finished_run).values()}
    assert edited.planned().keys() == every - untouched


def test_an_edit_of_a_figure_reruns_figures_and_the_report(edited):
    edit_module(edited, "figures/texts")
    assert {rule.partition("_")[0] for rule in edited.planned()} == {"plot", "make"}


def test_the_label_of_a_model_reruns_figures_and_the_report_alone(edited):
    edited.config["figures"] = {"labels": {"tiny": "a tiny Llama"}}
    assert all(rule.startswith("plot_") or rule in REPORT for rule in edited.planned())


def test_the_order_of_keys_reruns_figures_at_most(edited):
    """Figures show variants and models in the configured order; nothing else knows of it."""

    def turned_round(value):
        return {k: turned_round(v) for k, v in reversed(value.items())} if isinstance(value, dict) else value

    edited.config = turned_round(edited.config)
    edited.config["views"].reverse()
    assert all(rule.startswith("plot_") or rule in REPORT for rule in edited.planned())


def test_a_new_model_runs_alone(edited):
    edited.config["models"]["other"] = {
        "weights": {"random": {**LLAMA, "num_hidden_layers": 2}},
    }
    extraction = {"build_random_model": 1, "extract_states": JOBS}
    of_originals = dict.fromkeys(OF_ORIGINALS, SHARDS)
    measures = {**extraction, **of_originals, **dict.fromkeys(MEASURES, JOBS)}
    measures |= {"apply_interventions": CONDITIONS, **READ}
    reruns(edited, measures | BELOW_STATES | {"plot_texts": 1})  # which names models in its order
    assert {name.split("/")[1] for name in model_files(edited)} == {"other"}


def test_a_new_variant_runs_alone(edited):
    edited.config["variants"]["end"] = {"rewriter": "rules", "position": "end"}
    reruns(
        edited,
        {
            **dict.fromkeys(("rewrite_reviews", "score_similarity", "extract_states", *MEASURES), SHARDS),
            "read_consequences": SHARDS,
            "probe_states": 1,
            **below("collect_texts"),
        },
    )
    assert {name.split("/")[2] for name in model_files(edited)} == {"end"}


def test_more_reviews_run_the_new_shards_alone(edited):
    edited.config["corpus"]["n_reviews"] = 18
    reruns(
        edited,
        {
            **dict.fromkeys(("sample_corpus", "parse_reviews", "extract_keyphrases", "score_similarity"), 1),
            **dict.fromkeys(("rewrite_reviews", "extract_states", *MEASURES), VARIANTS),
            **dict.fromkeys(OF_ORIGINALS, 1),
            **below("collect_texts"),
        },
    )
    assert {name.split("/")[3].split(".")[0] for name in model_files(edited)} == {"002"}


@pytest.mark.parametrize("package", ["run", "names"])
def test_how_jobs_run_and_what_things_are_called_reruns_nothing(edited, package):
    for path in sorted((edited.folder / "workflow/lib/homogenization" / package).glob("*.py")):
        edit_module(edited, f"{package}/{path.stem}")
    reruns(edited, {})


def test_a_touch_or_a_fresh_checkout_reruns_nothing(edited):
    for part in ("workflow", "config", "profiles", "envs"):
        for path in (edited.folder / part).rglob("*"):
            os.utime(path)
    (edited.folder / "Snakefile").touch()
    reruns(edited, {})


def test_how_a_model_is_run_belongs_to_the_model(edited):
    edited.config["models"]["tiny"]["dtype"] = "bfloat16"
    assert edited.planned()["extract_states"] == JOBS


def test_an_edited_corpus_file_reruns_the_corpus(edited):
    path = edited.folder / "config/reviews.jsonl"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")
    assert edited.planned()["download_corpus"] == 1


def test_every_config_key_that_a_computation_reads_is_a_parameter(edited):
    """Changing a key reruns something, whichever key that is."""
    changes = {
        "seed": 1,
        "corpus.min_words": 30,
        "corpus.max_words": 380,
        "variants.front.phrases": "other",
        "keyphrases.max_phrases": 5,
        "keyphrases.ngram_range": [1, 2],
        "keyphrases.min_document_frequency": 3,
        "similarity.layer": 2,
        "states.dtype": "float16",
        "mauve.n_tokens": 150,
        "contrasts.pairs": [["front", "original"], ["original", "front"]],
        "contrasts.min_reviews": 7,
        "models.tiny.dtype": "bfloat16",
        "models.tiny.bos": "never",
        "models.tiny.weights.seed": 1,
    }
    for key, value in changes.items():
        edited.config = with_changes(SMALL, {key: value})
        assert edited.planned(), f"editing {key} reruns nothing"
