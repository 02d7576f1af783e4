"""The Snakefile as Snakemake sees it: every configuration plans, every rule keeps the house rules."""

import re
import subprocess
import sys

import pytest
import yaml

from conftest import ROOT, copy_workflow


def snakemake(folder, *arguments):
    command = [sys.executable, "-m", "snakemake", *arguments]
    return subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkout")
    copy_workflow(folder)
    return folder


@pytest.mark.parametrize(
    ("configuration", "extractions"),
    [("config", 2 * 4 * 2), ("laptop", 2 * 4 * 4), ("paper", 3 * 4 * 20)],
)
def test_each_configuration_plans(checkout, configuration, extractions):
    """A job a model, variant and shard; no network is needed to plan."""
    arguments = [] if configuration == "config" else ["--configfile", f"config/{configuration}.yaml"]
    done = snakemake(checkout, "--dry-run", *arguments)
    assert done.returncode == 0, done.stdout
    assert re.search(rf"^extract_states +{extractions}$", done.stdout, re.MULTILINE), done.stdout[:3000]
    assert re.search(r"^make_report +1$", done.stdout, re.MULTILINE)
    assert re.search(r"^download_corpus +1$", done.stdout, re.MULTILINE)


def test_the_default_profile_is_found_by_itself(checkout):
    done = snakemake(checkout, "--dry-run")
    assert "profiles/default" in done.stdout


def test_a_stage_is_a_target(checkout):
    done = snakemake(checkout, "--dry-run", "variants")
    assert done.returncode == 0, done.stdout
    assert re.search(r"^rewrite_reviews +8$", done.stdout, re.MULTILINE)
    assert not re.search(r"^extract_states ", done.stdout, re.MULTILINE)


def test_attention_can_be_left_out(checkout):
    overlay = checkout / "no-attention.yaml"
    overlay.write_text(yaml.safe_dump({"states": {"record_attention": False}}))
    done = snakemake(checkout, "--dry-run", "--configfile", "config/config.yaml", str(overlay))
    assert done.returncode == 0, done.stdout
    assert "compute_attention" not in done.stdout
    assert "plot_attention" not in done.stdout
    assert "first_token_attention_share" not in done.stdout


def test_originals_alone_are_a_study_too(checkout):
    overlay = checkout / "originals.yaml"
    overlay.write_text(yaml.safe_dump({"variants": {"front": None, "end": None, "scattered": None}}))
    done = snakemake(checkout, "--dry-run", "--configfile", "config/config.yaml", str(overlay))
    assert done.returncode == 0, done.stdout
    assert "score_similarity" not in done.stdout
    assert "plot_placement" not in done.stdout


RULES = {
    match[1]: match[0]
    for file in sorted((ROOT / "workflow/rules").glob("*.smk"))
    for match in re.finditer(r"^rule (\w+):\n(?:(?:    .*)?\n)+", file.read_text(), re.MULTILINE)
}


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_keeps_the_house_rules(rule):
    text = RULES[rule]
    for directive in ("log", "threads", "resources", "message", "conda", "script", "params"):
        assert f"    {directive}:" in text, f"{rule} has no {directive}"
    assert ("    cache:" in text) != ("    benchmark:" in text), "one of cache and benchmark"
    assert f'code=code("{rule}")' in text
    assert f'"../scripts/{rule}.py"' in text
    assert "mem_mb=" in text
    assert "runtime=" in text


def test_gpu_is_asked_for_by_the_rules_that_compute_on_one():
    asking = {rule for rule, text in RULES.items() if "gpu=" in text}
    assert asking == {
        "extract_states",
        "extract_components",
        "score_similarity",
        "score_random_pairs",
        "extract_keyphrases_with_llm",
        "rewrite_with_llm",
    }


def test_cached_rules_name_their_wildcards_in_params():
    """The key of the between-workflow cache holds parameters, not wildcards."""
    for rule, text in RULES.items():
        if "    cache:" not in text:
            continue
        params = text.split("    params:")[1].split("    message:")[0]
        for wildcard in set(re.findall(r"\{(\w+)\}", text.split("    output:")[1].split("    log:")[0])):
            assert f"wildcards.{wildcard}" in params, f"{rule}: {wildcard}"


def test_scripts_never_touch_the_configuration():
    for script in (ROOT / "workflow/scripts").glob("*.py"):
        assert "snakemake.config" not in script.read_text(), script.name


def test_every_script_has_its_rule():
    assert {path.stem for path in (ROOT / "workflow/scripts").glob("*.py")} == set(RULES)
