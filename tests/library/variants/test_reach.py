"""What the rules of texts reach by import: an edit elsewhere reruns nothing of theirs."""

import pytest

from loaded_rules import reached_by as reached

WORDS = {"corpus.characters", "corpus.sentences"}


def test_a_download_reaches_neither_sentences_nor_cleaning():
    assert reached("download_corpus") == {"corpus.local_files", "corpus.reading"}


def test_cleaning_and_sampling_do_not_reach_each_other():
    assert reached("clean_corpus") == {"corpus.cleaning", *WORDS}
    assert reached("sample_corpus") == {"corpus.sampling", "corpus.hashing"}


BACKENDS = {"writers.local", "writers.endpoint"}
BY_RULE = {"variants.rules", "variants.rearrangement", "variants.atoms", "variants.positions"}
BY_LLM = {f"variants.{name}" for name in ("llm_rewriting", "by_review", "by_sentence", "llm_keyphrases")}


@pytest.mark.parametrize("script", ["rewrite_with_llm", "extract_keyphrases_with_llm"])
@pytest.mark.parametrize("backend", sorted(BACKENDS))
def test_what_language_models_write_reaches_one_backend_and_no_rules(script, backend):
    found = reached(script, backend)
    assert not found & {*BY_RULE, "corpus.reading", "corpus.sampling", "variants.scorers"}
    assert found & BACKENDS == {backend}


def test_who_writes_whole_reviews_reaches_nothing_of_sentences():
    whole, single = (reached("rewrite_with_llm", f"variants.by_{unit}") for unit in ("review", "sentence"))
    of_sentences = {f"variants.{name}" for name in ("by_sentence", "sentence_grammars", "constituents")}
    assert not whole & of_sentences
    assert single >= of_sentences
    assert "variants.fluency" not in whole | single


@pytest.mark.parametrize("script", ["count_document_frequencies", "extract_keyphrases", "rewrite_reviews"])
def test_what_rules_write_reaches_no_language_model(script):
    found = reached(script)
    assert not found & {*BY_LLM, "variants.refusals"}
    assert not {name for name in found if name.startswith("writers.")}


@pytest.mark.parametrize("table", ["similarity", "placement", "rewriting"])
def test_tables_of_texts_reach_names_and_schemas_alone(table):
    light = {"variants.schemas", "variants.refusals", *WORDS, f"tables.{table}", "corpus.hashing"}
    light |= {"names.changes", "names.columns", "names.variants"}
    assert reached("tabulate", f"tables.{table}") <= light
