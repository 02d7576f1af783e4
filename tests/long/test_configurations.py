"""Every configuration plans, as a user calls Snakemake; what a study leaves out is not planned."""

import os
import re

import pytest
import yaml

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


def overlaid(folder, **sections) -> str:
    """What a dry run of the embedded experiment prints, with other `sections`."""
    (folder / "overlay.yaml").write_text(yaml.safe_dump(sections))
    return dry_run(folder, "--configfile", "config/config.yaml", "overlay.yaml")


@pytest.mark.parametrize(
    ("configuration", "extractions"),
    [
        ("config", 2 * 8),
        ("untrained", 2 * 4),
        ("order", 1 * 15 * 2),
        ("natural", 2 * 3 * 4),
        ("paper", 3 * 4 * 4),
        ("causes", 3),
        ("families", 5 * 8 * 4),
    ],
)
def test_each_configuration_plans(checkout, configuration, extractions):
    """One extraction for each model, variant and shard; no network is needed to plan."""
    arguments = [] if configuration == "config" else ["--configfile", f"config/{configuration}.yaml"]
    printed = dry_run(checkout, *arguments)
    assert re.search(rf"^extract_states +{extractions}$", printed, re.MULTILINE), printed[:3000]
    assert re.search(r"^make_report +1$", printed, re.MULTILINE)
    assert re.search(r"^download_corpus +1$", printed, re.MULTILINE)
    assert "profiles/default" in printed, "the default profile is found by itself"


def test_numbers_in_nested_values_of_the_command_line_are_numbers(checkout):
    printed = dry_run(checkout, "--config", "corpus={n_reviews: 32, shard_size: 8}")
    assert re.search(r"^extract_states +64$", printed, re.MULTILINE), printed[:3000]


def test_a_stage_is_a_target(checkout):
    printed = dry_run(checkout, "variants")
    assert re.search(r"^rewrite_reviews +8$", printed, re.MULTILINE)
    assert not re.search(r"^extract_states ", printed, re.MULTILINE)


def test_originals_alone_are_a_study_too(checkout):
    rewritten = ("front", "end", "front-inward", "end-inward", "blocks-4", "blocks-16", "words")
    labels = dict.fromkeys(rewritten[2:])
    changes = {"variants": dict.fromkeys(rewritten), "mauve": {"variants": None}, "figures": {"labels": labels}}
    printed = overlaid(checkout, **changes)
    for rule in ("parse_reviews", "extract_keyphrases", "score_similarity"):
        assert not re.search(rf"^{rule} ", printed, re.MULTILINE), rule
