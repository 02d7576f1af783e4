"""The profile of Slurm: every line reaches Snakemake, and names rules that there are."""

import pytest
import yaml
from snakemake.cli import get_argument_parser

from conftest import ROOT
from loaded_rules import loaded_rules

SLURM = ROOT / "profiles/slurm"


def profile(**environment: str) -> dict:
    """What Snakemake makes of the profile."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SNAKEMAKE_OUTPUT_CACHE", raising=False)
        for name, value in environment.items():
            patch.setenv(name, value)
        return vars(get_argument_parser(profiles=[SLURM]).parse_args([]))


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


def test_groups_are_of_rules_that_there_are_and_of_one_shard_or_the_whole_study():
    """The wildcards in the name of a group are among those of its rules."""
    for name, group in profile()["groups"].items():
        wildcards = {part.strip("{}") for part in group.split("_") if part.startswith("{")}
        assert wildcards <= loaded_rules()[name].wildcard_names, name
    assert profile()["group_components"].keys() <= set(profile()["groups"].values())
