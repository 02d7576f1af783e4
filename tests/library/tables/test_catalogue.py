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
    assert len(reported) > 5
    for file in reported:
        assert (ROOT / "workflow/rules" / file.reported["caption"]).resolve().is_file(), file.name


def test_each_table_has_a_name_of_its_own():
    assert len(MADE) == sum(len(tables.files) for tables in TABLES.values())


@pytest.mark.parametrize("config", ["causes", "config"])
def test_what_a_rule_gives_is_what_its_tabulate_takes(config):
    study = load_study(read_yaml(str(ROOT / f"config/{config}.yaml")))
    made = made_tables(study)
    for tables in made:
        inputs, params = tables.files_read(study, made), tables.params(study)
        signature(import_module(f"homogenization.{tables.module}").tabulate).bind(**inputs, **params)
