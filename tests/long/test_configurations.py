"""Every configuration plans, as a user calls Snakemake; what a study leaves out is not planned."""

import os
import re

import pytest

from conftest import copy_workflow
from snakemake_process import call_snakemake


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    folder = tmp_path_factory.mktemp("checkout")
    copy_workflow(folder)
    return folder


def dry_run(folder, *arguments: str) -> str:
    """What a dry run in `folder` prints."""
    status, printed = call_snakemake(folder, ["--dry-run", *arguments], dict(os.environ))
    assert status == 0, printed
    return printed


@pytest.mark.parametrize(
    ("configuration", "extractions"),
    [
        ("config", 2 * 8),
        ("untrained", 2 * 4),
        ("order", 1 * 13 * 2),
        ("natural", 5 * 3 * 4),
        ("paper", 3 * 4 * 4),
        ("causes", 3),
        ("families", 6 * 11),
    ],
)
def test_each_configuration_plans(checkout, configuration, extractions):
    """One extraction for each model, variant and shard; no network is needed to plan."""
    arguments = [] if configuration == "config" else ["--configfile", f"config/{configuration}.yaml"]
    printed = dry_run(checkout, *arguments)
    assert re.search(rf"^extract_states +{extractions}$", printed, re.MULTILINE), printed[:3000]
    assert re.search(r"^make_report +1$", printed, re.MULTILINE)
    assert re.search(r"^read_corpus +1$", printed, re.MULTILINE)
    assert "profiles/default" in printed, "the default profile is found by itself"


def test_a_stage_is_a_target(checkout):
    printed = dry_run(checkout, "variants")
    assert re.search(r"^rewrite_reviews +8$", printed, re.MULTILINE)
    assert not re.search(r"^extract_states ", printed, re.MULTILINE)
