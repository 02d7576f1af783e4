"""Every claim that is tested has its number in a table of estimates, or it is named here as one of claims.csv alone."""

import polars as pl
import pytest
import yaml

from claimed_rows import OF_CLAIMS_ALONE, assert_one_estimate_and_one_verdict
from conftest import ROOT
from homogenization.claims.keys import STATISTICS
from studies import changed_attention, make_study


@pytest.mark.parametrize("effect", [0.05, 0.002], ids=["larger", "smaller"])
def test_of_the_shipped_claims(effect):
    config = yaml.safe_load((ROOT / "config/config.yaml").read_text("utf-8"))
    config["claims"] = ["config/claims.yaml", "config/claims-causes.yaml"]
    attention = changed_attention(list(config["models"]))
    made = make_study(config, effect=effect, branch=attention)
    claims = made.tables["claims"]
    tested = claims.filter(pl.col("verdict") != "not tested")
    n_found = assert_one_estimate_and_one_verdict(made.study.judged_claims, claims, made.tables | attention)
    assert n_found == len(tested) > 80
    assert set(tested["statistic"]) >= {"contrast", "slope", "net_change", "steepest", "intervention"}
    assert set(tested["verdict"]) >= {"supported", "contradicted", "undecided"}


def test_what_stands_in_claims_alone_is_named():
    with_rows = {"contrast", "slope", "net_change", "steepest", "intervention", "correlation"}
    assert set(STATISTICS) - OF_CLAIMS_ALONE == with_rows


def test_each_statistic_has_its_module():
    folder = ROOT / "workflow/lib/homogenization/claims/statistics"
    assert {path.stem for path in folder.glob("*.py")} - {"__init__"} == set(STATISTICS)
