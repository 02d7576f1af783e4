"""Rules, as Snakemake reads them: what an edit reruns, what asks for a GPU, what scripts keep to."""

import re
from importlib import import_module
from inspect import signature

import pytest

from conftest import ROOT
from homogenization.config.models import TrainedWeights
from loaded_rules import JOB, SCRIPTS, file_of, imports_of, loaded_rules, parts_of, pins_of, value_of

RULES = loaded_rules()
RULE_FILES = [*ROOT.glob("workflow/rules/*.smk"), ROOT / "workflow/Snakefile", ROOT / "Snakefile"]
ON_A_GPU = {
    *("train_model", "extract_states", "extract_components", "apply_interventions", "read_consequences"),
    *("score_similarity", "score_fluency", "extract_keyphrases_with_llm", "rewrite_with_llm"),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=str)
def test_a_rule_has_a_log_a_gpu_where_it_computes_on_one_and_an_environment_for_its_imports(rule):
    assert rule.docstring
    assert len(rule.log) == 1
    assert ("gpu" in rule.resources) == (rule.name in ON_A_GPU)
    assert "gpu" not in rule.resources or {"mem_mb", "runtime"} <= rule.resources.keys()
    _, packages = imports_of(rule, at_once=True)
    assert packages <= {pin.partition("==")[0] for pin in pins_of(file_of(rule, rule.conda_env))}


@pytest.mark.parametrize("rule", RULES.values(), ids=str)
def test_an_edit_of_what_a_rule_computes_with_runs_it_again(rule):
    """The packages `run` and `names` count for none."""
    parts = parts_of(rule)
    modules = {module for module in imports_of(rule)[0] if module.split(".")[0] not in ("run", "names")}
    assert {module for module in modules if not {module, module.split(".")[0]} & {*parts}} == set()
    assert "config" not in parts


def test_a_new_metric_or_measure_runs_no_extraction_again():
    for name in ("extract_states", "train_model"):
        assert {"metrics", "metrics.spectral", "measures", "tables"}.isdisjoint(parts_of(RULES[name]))
    assert "metrics" not in parts_of(RULES["measure"])


@pytest.mark.parametrize("rule", [rule for rule in RULES.values() if rule.params.get("tables")], ids=str)
def test_the_modules_of_a_rule_make_its_tables_of_its_files(rule):
    """Each `tabulate` gets by name what it needs: parameters, files, and tables made before."""
    made, files = set(), {name for name, _ in rule.input.items()}
    for name, chosen in value_of(rule.params.tables).items():
        module = import_module(f"homogenization.{name}")
        taken = signature(module.tabulate).parameters
        signature(module.tabulate).bind(**chosen, **{file: None for file in files if file in taken or "given" in taken})
        made |= module.SCHEMAS.keys()
        files |= module.SCHEMAS.keys()
    assert made == {name for name, _ in rule.output.items()}


@pytest.mark.parametrize("rule", [rule for name, rule in RULES.items() if name.startswith("plot_")], ids=str)
def test_a_figure_is_a_file_of_its_rule(rule):
    assert len(rule.params.figures) == len(rule.output)


def test_cached_rules_name_their_wildcards_in_params():
    """The key of the between-workflow cache holds parameters, not wildcards."""
    cached = {name for name, rule in RULES.items() if rule.ruleinfo.cache}
    writers = {"extract_keyphrases_with_llm", "rewrite_with_llm"}
    assert cached == {"read_corpus", "convert_gguf", "train_model", "extract_states", *writers}
    assert {"model", "options", "seed"} < {*RULES["train_model"].params.keys()}  # of which the model is made
    for name in cached - {"train_model"}:
        params = {key: value_of(param) for key, param in RULES[name].params.items()}
        for wildcard in RULES[name].wildcard_names:
            if wildcard == "gguf":  # it follows from the entry of the weights
                assert TrainedWeights(**params["weights"]).converted_in == JOB[wildcard]
            else:
                assert repr(JOB[wildcard]) in repr(params), f"{name}: {wildcard}"


def test_every_script_has_its_rule():
    assert {path.stem for path in SCRIPTS.glob("*.py")} == {file_of(rule, rule.script).stem for rule in RULES.values()}


def test_nothing_private_of_snakemake_is_read_or_set():
    for path in RULE_FILES:
        assert re.findall(r"\b\w+\._[a-z]\w*", path.read_text("utf-8")) == [], path
    library = (path.read_text("utf-8") for path in ROOT.glob("workflow/lib/**/*.py"))
    assert not any(re.search(r"^(from|import) snakemake\b", text, re.MULTILINE) for text in library)


def test_jobs_depend_on_the_files_of_each_model_that_lies_in_a_local_folder(project):
    """So an edit of an encoder, of a model that scores or writes, reruns what it made."""
    own = project.folder / "own"
    own.mkdir()
    tracked = {f"own/{name}" for name in ("config.json", "model.safetensors", "tokenizer.json", "vocab.txt")}
    for name in (*tracked, "own/notes.txt"):
        (project.folder / name).write_text("{}")
    weights = {"path": "own"}
    project.config["similarity"] |= {"encoder": weights}
    project.config["fluency"] = {"weights": weights}
    project.config["writers"] = {"local": {"backend": "transformers", "weights": weights}}
    paraphrase = {"rewriter": "llm", "writer": "local", "prompt": "config/prompts/paraphrase.yaml"}
    project.config["variants"] |= {"paraphrase": paraphrase, "words": {"rewriter": "order", "blocks": "words"}}
    printed = project.ask("--dry-run")
    # not on key phrases, where words are permuted
    assert "input: results/corpus/000.parquet\n    output: results/variants/words/000.parquet\n" in printed
    read = {
        rule: {file for file in files.split(", ") if file.startswith("own/")}
        for rule, files in re.findall(r"^\w*rule (\w+):\n +input: (.*)", printed, re.M)
    }
    reading = {rule for rule, files in read.items() if files == tracked}
    assert reading == {"rewrite_with_llm", "score_similarity", "score_fluency"}
