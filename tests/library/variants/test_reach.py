"""What the rules of texts reach by import: an edit elsewhere reruns nothing of theirs."""

import pytest

from conftest import ROOT
from homogenization.run.code_hash import LIBRARY, _reached_from
from homogenization.writers.backends import BACKENDS


def reached(script: str, *modules: str) -> set[str]:
    """The modules of the library behind workflow/scripts/{script}.py, such as "corpus.reading"."""
    named = [LIBRARY.joinpath(*module.split(".")).with_suffix(".py") for module in modules]
    found = _reached_from([ROOT / "workflow/scripts" / f"{script}.py", *named], LIBRARY)
    names = (".".join(path.relative_to(LIBRARY).with_suffix("").parts) for path in found)
    return {name for name in names if not name.endswith("__init__")}


def test_a_download_reaches_neither_sentences_nor_cleaning():
    assert reached("download_corpus") == {"corpus.reading", "corpus.sources"}


def test_cleaning_and_sampling_do_not_reach_each_other():
    assert reached("clean_corpus") == {"corpus.cleaning", "corpus.sentences"}
    assert reached("sample_corpus") == {"corpus.sampling", "corpus.hashing"}


BY_RULE = {"variants.rules", "variants.atoms", "variants.positions"}
BY_LLM = {"variants.llm_rewriting", "variants.llm_keyphrases", "variants.candidates", "variants.search"}


@pytest.mark.parametrize("script", ["rewrite_with_llm", "extract_keyphrases_with_llm"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_what_language_models_write_reaches_one_backend_and_no_rules(script, backend):
    found = reached(script, BACKENDS[backend])
    assert not found & {*BY_RULE, "corpus.reading", "corpus.sampling", "variants.scorers"}
    assert found & set(BACKENDS.values()) == {BACKENDS[backend]}


@pytest.mark.parametrize("script", ["count_document_frequencies", "extract_keyphrases", "rewrite_reviews"])
def test_what_rules_write_reaches_no_language_model(script):
    found = reached(script)
    assert not found & {*BY_LLM, "variants.refusals"}
    assert not {name for name in found if name.startswith("writers.")}


@pytest.mark.parametrize("table", ["similarity", "placement", "rewriting"])
def test_tables_of_texts_reach_names_and_schemas_alone(table):
    light = {"variants.names", "variants.schemas", "variants.refusals", "corpus.sentences", f"tables.{table}"}
    assert reached("tabulate", f"tables.{table}") <= light
