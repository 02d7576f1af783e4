"""What the catalogue of tables names is there."""

from importlib import import_module
from inspect import signature

import pytest

from conftest import ROOT
from homogenization.config.study import load_study
from homogenization.run.yaml_files import read_yaml
from homogenization.tables.catalogue import TABLES, made_tables

MADE = {file.stem for tables in TABLES.values() for file in tables.files}


def test_a_table_that_a_rule_reads_is_made():
    assert {name: set(tables.reads) - MADE for name, tables in TABLES.items() if set(tables.reads) - MADE} == {}


def test_a_table_of_the_report_has_its_caption():
    reported = [file for tables in TABLES.values() for file in tables.files if file.label]
    assert len(reported) > 10
    for file in reported:
        assert (ROOT / "workflow/rules" / file.reported["caption"]).resolve().is_file(), file.name


def test_of_two_files_of_a_name_the_first_is_read():
    made = [TABLES["tabulate_training"], TABLES["tabulate_summary"], TABLES["describe_training"]]
    read = TABLES["tabulate_arms"].files_read(None, made)
    assert read == {name: f"<results>/tables/{name}.parquet" for name in ("summary", "training")}
    assert TABLES["tabulate_arms"].files_read(None, made[:1]) == {**read, "summary": []}


@pytest.mark.parametrize("config", ["causes", "config"])
def test_what_a_rule_gives_is_what_its_tabulate_takes(config):
    study = load_study(read_yaml(str(ROOT / f"config/{config}.yaml")))
    made = made_tables(study)
    for tables in made:
        inputs, params = tables.files_read(study, made), tables.params(study)
        words = {"words": ""} if tables.words else {}
        signature(import_module(f"homogenization.{tables.module}").tabulate).bind(**inputs, **params, **words)
