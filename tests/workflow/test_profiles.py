"""The profiles: every line reaches Snakemake, every rule has its place in a Slurm job, both have the same defaults."""

from pathlib import Path

import pytest
import yaml
from snakemake.cli import get_argument_parser

from conftest import ROOT
from loaded_rules import loaded_rules

SLURM, DEFAULT = ROOT / "profiles/slurm", ROOT / "profiles/default"
# Slurm jobs of their own: on a GPU, long, or waited for by nothing of their kind
ALONE = {name for name, rule in loaded_rules().items() if "gpu" in rule.resources} | {
    "carry_weights",  # where no machines share files, and Slurm is not used
    *("build_random_model", "convert_gguf", "probe_states", "write_audit_sheet", "count_tokens", "plan_extraction"),
    *("make_text_page", "make_report"),
}


def profile(folder: Path = SLURM, **environment: str) -> dict:
    """What Snakemake makes of a profile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SNAKEMAKE_OUTPUT_CACHE", raising=False)
        for name, value in environment.items():
            patch.setenv(name, value)
        return vars(get_argument_parser(profiles=[folder]).parse_args([]))


def test_every_line_of_the_profile_reaches_snakemake():
    """Some misspelt keys are passed over in silence."""
    defaults = vars(get_argument_parser().parse_args([]))
    written = [key for key in yaml.safe_load((SLURM / "config.yaml").read_text()) if key[0].isalpha()]
    assert len(written) > 10
    read = profile()
    for key in written:
        assert read[key.replace("-", "_")] != defaults[key.replace("-", "_")], key


def test_the_profile_caches_where_there_is_a_cache():
    assert profile()["cache"] is None
    cached = profile(SNAKEMAKE_OUTPUT_CACHE="/shared/cache")["cache"]
    assert set(cached) == {name for name, rule in loaded_rules().items() if rule.ruleinfo.cache}


def test_every_rule_is_alone_or_in_a_group_that_bears_the_name_of_its_stage():
    """Its stage is its rule file; but those of tables that do not tabulate are statistics."""
    grouped = profile()["groups"]
    assert not grouped.keys() & ALONE
    assert grouped.keys() | ALONE == loaded_rules().keys()
    for name, group in grouped.items():
        file = Path(str(loaded_rules()[name].snakefile)).stem
        tested = file == "tables" and not name.startswith("tabulate_")
        assert group.split("_")[0] == ("statistics" if tested else file), name
    assert profile()["group_components"].keys() <= set(grouped.values())


def test_jobs_of_a_group_make_files_of_one_shard_or_of_the_whole_study():
    """The wildcards in the name of a group are among those of its rules."""
    for name, group in profile()["groups"].items():
        wildcards = {part.strip("{}") for part in group.split("_") if part.startswith("{")}
        assert wildcards <= loaded_rules()[name].wildcard_names, name


def test_a_job_asks_for_the_same_by_default_wherever_it_runs():
    """4 GB and an hour, and as much again with each attempt."""
    asked = [yaml.safe_load((folder / "config.yaml").read_text())["default-resources"] for folder in (SLURM, DEFAULT)]
    for defaults in asked:
        assert defaults["mem_mb"] == "4000 * attempt"
        assert defaults["runtime"] == "60 * attempt"
