"""The check of files before Snakemake reads them."""

import sys

import pytest

from conftest import SMALL
from homogenization.config.check import check
from homogenization.config.study import load_study
from homogenization.run.errors import HomogenizationError


def test_each_file_is_checked_and_all_mistakes_are_told(tmp_path, capsys):
    (tmp_path / "tab.yaml").write_text("results: r\n\tcorpus: {}\n")
    (tmp_path / "list.yaml").write_text("- a\n")
    (tmp_path / "keys.yaml").write_text("modles: {}\n")
    assert check([str(tmp_path / name) for name in ("tab.yaml", "list.yaml", "keys.yaml")]) == 3
    told = capsys.readouterr().err
    assert all(words in told for words in ("line 2, column 1", "holds no keys", "did you mean", "corpus"))
    assert check(["config/config.yaml"]) == 0


def test_a_locale_that_cannot_write_a_path_is_named(monkeypatch):
    monkeypatch.setattr(sys, "getfilesystemencoding", lambda: "iso8859-1")
    load_study(SMALL)
    with pytest.raises(HomogenizationError, match=r"iso8859-1, and 'results/grüße' is not ASCII.*LC_ALL=C\.UTF-8"):
        load_study({**SMALL, "results": "results/grüße"})
