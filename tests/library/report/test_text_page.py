"""The page of texts: what its script reads is what was measured, and no text ends the element that it stands in."""

import base64
import json
import re
import zlib

import numpy as np
import polars as pl
import pytest

from browser import chromium
from conftest import ROOT
from homogenization.report.text_page import page_data, text_page
from homogenization.report.tokens import EXAMPLE_TEXTS_SCHEMA, EXAMPLE_TOKENS_SCHEMA, sizes
from homogenization.tables.metrics import METRICS_SCHEMA
from homogenization.tables.similarity import SIMILARITY_SCHEMA

TEMPLATE = (ROOT / "workflow/lib/homogenization/report/text_page.jinja").read_text("utf-8")
SHOWN = {
    "model": "A <b> & Co",
    "variants": [["original", "Original"], ["front", "</script><i>Front"]],
    "contrast": "rank",
}
N, N_MATRIX, LAYERS = 9, 6, (0, 1, 2)


def tables_of(texts, tokens):
    """The tables of a page, with a number at each layer and a rejected text."""
    rows = [
        ("tiny", "original", "0" * 12, "residual_stream", layer, layer / 2, "raw", "effective_rank", layer / 4 + 1 / 3)
        for layer in LAYERS
    ]
    rejected = {"variant": "front", "review_id": "0" * 12, "f1": 0.25, "accepted": False}
    similarity = pl.concat([pl.DataFrame(schema=SIMILARITY_SCHEMA), pl.DataFrame([rejected])], how="diagonal_relaxed")
    metrics = pl.DataFrame(rows, METRICS_SCHEMA, orient="row")
    further = {"text": pl.lit("t"), "label": pl.lit(""), "rank": 0, "row": pl.lit(17), "shelf": pl.lit("A <i>")}
    sample = texts.select("review_id").unique().with_columns(**further, none=None)
    return {"texts": texts, "tokens": tokens, "metrics": metrics, "similarity": similarity, "sample": sample}


def measured(n=N, n_matrix=N_MATRIX, layers=LAYERS, variants=("original", "front"), reviews=("0" * 12,), seed=0):
    """Tables of made-up numbers; at the last layer, the first token is massive and all others are almost equal."""
    rng = np.random.default_rng(seed)
    texts, tokens = [], []
    for variant in variants:
        for review in reviews:
            keys = {"model": "tiny", "variant": variant, "review_id": review}
            words = ["<s>", *([" </script><b>&amp;"] * (n - 1))]
            marks = {"outside": [True] + [False] * (n - 1), "in_phrase": [False] * (n - 1) + [True]}
            texts.append(keys | {"choice": "least", "difference": -0.5, "n_tokens": n, "tokens": words} | marks)
            for layer in layers:
                last = layer == layers[-1]
                values = {
                    name: rng.uniform(0.99, 0.995, n) if last else rng.uniform(-1, 1, n)
                    for name in ("cosine_to_mean", "cosine_to_first")
                }
                values |= {"norm": rng.uniform(1, 2, n) * np.where(np.arange(n) == 0, 500 if last else 1, 1)}
                values |= {"attention": rng.uniform(0, 3, n) if layer else None}
                matrix = rng.uniform(0.99, 0.995, n_matrix * (n_matrix + 1) // 2) if layer != 1 else None
                tokens.append(keys | {"layer": layer} | values | {"cosines": matrix})
    return pl.DataFrame(texts, EXAMPLE_TEXTS_SCHEMA), pl.DataFrame(tokens, EXAMPLE_TOKENS_SCHEMA)


def unpacked(text, packed):
    """(layer, measure or `cosines`) -> values, as the page's description of its bytes says."""
    place, found = text["start"], {}

    def take(count, low, high):
        nonlocal place
        place += count
        return low + np.frombuffer(packed[place - count : place], np.uint8) * (high - low) / 255

    for number, layer in enumerate(text["layers"]):
        for name, of in zip(("cosine_to_mean", "cosine_to_first", "norm", "attention"), layer["ranges"], strict=True):
            if of is not None:
                found[number, name] = np.array([of[0], *take(len(text["tokens"]) - 1, *of[1:])])
        if "cosines" in layer:
            found[number, "cosines"] = take((layer["n"] - 1) * (layer["n"] - 2) // 2, *layer["cosines"])
    return found


def test_the_script_reads_what_was_measured():
    texts, tokens = measured()
    data, packed = page_data(tables_of(texts, tokens), SHOWN)
    packed = zlib.decompress(packed)
    of_review = data["reviews"][0]["texts"]
    for row in tokens.iter_rows(named=True):
        found, layer = unpacked(of_review[row["variant"]], packed), row["layer"]
        for name in ("cosine_to_mean", "cosine_to_first", "norm", "attention"):
            if row[name] is None:
                assert (layer, name) not in found
                continue
            exact = np.array(row[name], np.float64)
            if name in ("norm", "attention"):
                exact = np.log2(exact / (np.median(exact) if name == "norm" else 1))
            # half a step of the range of the tokens after the first, however massive that one is
            step = (exact[1:].max() - exact[1:].min()) / 255
            assert abs(found[layer, name] - exact).max() <= step / 2 + 1e-5
            assert found[layer, name][0] == pytest.approx(exact[0], rel=1e-5)
        if row["cosines"] is None:
            assert (layer, "cosines") not in found
            continue
        square = np.zeros((N_MATRIX, N_MATRIX))
        square[np.triu_indices(N_MATRIX)] = row["cosines"]
        pairs = np.array([square[i, j] for i in range(1, N_MATRIX) for j in range(i + 1, N_MATRIX)])
        assert abs(found[layer, "cosines"] - pairs).max() <= (pairs.max() - pairs.min()) / 510 + 1e-5


def test_numbers_are_those_of_the_table_and_a_rejected_text_says_so():
    data, _ = page_data(tables_of(*measured()), SHOWN)
    assert data["numbers"] == [["effective_rank", "effective rank"]]
    original, front = (data["reviews"][0]["texts"][name] for name in ("original", "front"))
    assert original["numbers"]["effective_rank"] == pytest.approx([1 / 3, 7 / 12, 5 / 6], rel=1e-5)
    assert original["accepted"]
    assert front["numbers"]["effective_rank"] == [None] * 3
    assert (front["accepted"], front["f1"]) == (False, 0.25)


def test_no_text_ends_the_element_that_it_stands_in():
    page = text_page(tables_of(*measured()), SHOWN)
    assert "<title>One text: A &lt;b&gt; &amp; Co</title>" in page
    assert page.count("</script>") == 3
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1]
    assert json.loads(data)["reviews"][0]["texts"]["front"]["tokens"][1] == " </script><b>&amp;"


def test_models_and_variants_are_told_by_their_labels_alone(tmp_path):
    shown = {"model": "Label m", "variants": [["original", "Label o"], ["front", "Label f"]], "contrast": "rank"}
    (tmp_path / "page.html").write_text(text_page(tables_of(*measured()), shown), encoding="utf-8")
    with chromium(tmp_path / "profile") as browser:
        browser.get((tmp_path / "page.html").as_uri())
        said = browser.execute_script("return document.title + document.body.innerText")
    assert {"Label m", "Label o", "Label f"} <= set(re.findall(r"Label \w", said))
    assert re.findall(r"\b(tiny|front)\b", said) == []


def test_the_page_names_no_address():
    assert not any(address in TEMPLATE for address in ("http:", "https:", "//cdn", "@import", "url("))


def test_the_largest_page_is_below_three_megabytes():
    """21 texts of a model of 40 blocks, as much of each as `sizes` lets in, of numbers that nothing can compress."""
    variants, reviews = [f"v{number}" for number in range(6)], [str(number) * 12 for number in range(3)]
    shown, n_matrix, with_matrix = sizes(21, list(range(41)), 256, 96, 12)
    texts, tokens = measured(shown, n_matrix, tuple(range(41)), ("original", *variants), reviews)
    tokens = tokens.with_columns(cosines=pl.when(pl.col("layer").is_in(with_matrix)).then("cosines"))
    page = text_page(tables_of(texts, tokens), SHOWN).encode()
    assert 1_000_000 < len(page) < 3_000_000
    packed = re.search(rb'id="packed">(.*?)</script>', page, re.DOTALL)[1]
    assert len(zlib.decompress(base64.b64decode(packed))) <= 2_000_000
