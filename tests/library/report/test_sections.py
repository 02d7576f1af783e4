"""Texts and curves: what their scripts read is what the tables say."""

import base64

import numpy as np
import polars as pl
import pytest

from homogenization.report.texts import one_sentence, phrase_spans
from library.report.made_report import MODELS, REVIEWS, TEXTS, VARIANTS, in_script, made_page, tables


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return made_page(tmp_path_factory.mktemp("report"))


def test_the_bytes_of_tokens_are_their_numbers(page):
    data, measured = in_script(page, "text-data"), tables()
    packed, (steps, lowest) = np.frombuffer(base64.b64decode(data["bytes"]), np.uint8), data["steps"]
    assert data["reviews"] == [[REVIEWS[0], "least"], [REVIEWS[1], "greatest"]]
    assert data["layers"] == {"big": [0, 1, 2]}
    for row in measured["tokens"].iter_rows(named=True):
        text = data["texts"]["big"][row["review_id"]][row["variant"]]
        n, at = len(text["tokens"]), text["at"] + 3 * row["layer"] * len(text["tokens"])
        cosine, norm, attention = (packed[at + place * n : at + (place + 1) * n].astype(float) for place in range(3))
        np.testing.assert_allclose(cosine * np.pi / 254, np.arccos(row["cosine_to_mean"][:n]), atol=0.51 * np.pi / 254)
        np.testing.assert_allclose(norm / steps + lowest, np.log2(row["norm"][:n]), atol=0.51 / steps)
        assert (attention == norm).all() if row["layer"] else (attention == 255).all()


def test_tokens_are_the_text_and_know_their_phrase_and_frame(page):
    data = in_script(page, "text-data")["texts"]["big"][REVIEWS[0]]["front"]
    assert data["tokens"][:6] == ["", "A", " film", " of", " note", " we"]
    assert data["outside"][:6] == [1, 0, 0, 0, 0, 0]
    assert data["phrase"][:6] == [0, 0, 1, 1, 1, 0]
    assert data["n"] == 1 + len(TEXTS["front"].split())


@pytest.mark.parametrize(
    ("text", "phrases", "wanted"),
    [
        ("A film, the Film of note.", ["film", "film of note"], ["film", "Film of note"]),
        ("Films and a film-noir.", ["film"], ["film"]),
        ("It’s the boy's  own [a+b] thing", ["boy's own", "[a+b]"], ["boy's  own", "[a+b]"]),
    ],
)
def test_phrases_are_found_as_words(text, phrases, wanted):
    assert [text[start:end] for start, end in phrase_spans(text, phrases)] == wanted


def test_a_sentence_is_one_that_variants_write_in_their_own_order():
    dropped = {"original": "It was fine. The dog bit the old man twice.", "front": "It was fine. The dog bit twice."}
    moved = {"original": "Yes. The dog bit the old man twice.", "front": "Yes. Twice the dog bit the old man."}
    found = one_sentence({"a": dropped, "b": moved}, {"b": ["old man"]}, ["original", "front"])
    whole = {name: "".join(part for part, _ in parts) for name, parts in found.items()}
    assert whole == {"original": "The dog bit the old man twice.", "front": "Twice the dog bit the old man."}
    assert [part for part, is_phrase in found["front"] if is_phrase] == ["old man"]


def test_the_numbers_of_the_curves_are_those_of_the_tables(page):
    data, wanted = in_script(page, "curves-data"), tables()
    view = [[0, "without the first token"]]
    models = [[place, label] for place, (_, label) in enumerate(MODELS)]
    assert data["choices"] == {"metric": [[0, "Normalised effective rank"]], "view": view, "model": models}
    assert [label for label, *_ in data["variants"]] == [label for _, label in VARIANTS]
    levels, changes = ([*zip(*chart["rows"], strict=True)] for chart in data["charts"])
    means = wanted["summary"].sort("depth", maintain_order=True)
    assert levels[4] == tuple(means["depth"])
    assert levels[5] == pytest.approx(tuple(means["mean"]), rel=1e-3)
    of_layers = wanted["contrasts"].filter(pl.col("layers").is_null())
    assert changes[3:6] == [(1, 1, 1), tuple(of_layers["depth"]), tuple(of_layers["mean"])]
    assert changes[9:] == [(0.01,) * 3, (False, True, True), tuple(of_layers["verdict"])]
