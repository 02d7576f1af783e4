"""The page of texts: what its script reads is what was measured, and no text ends the element that it stands in."""

import json
import re
import zlib
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from browser import chromium
from conftest import ROOT
from homogenization.measures.measure import READ_TEXTS_SCHEMA, TOKENS_SCHEMA
from homogenization.report.text_page import MEASURES, chosen_texts, make, page_data, pieces, text_page
from homogenization.run.errors import HomogenizationError
from homogenization.run.parquet import write_table
from homogenization.tables.metrics import VALUES_SCHEMA
from homogenization.tables.similarity import SIMILARITY_SCHEMA
from measured import wide_of

TEMPLATE = (ROOT / "workflow/lib/homogenization/report/text_page.jinja").read_text("utf-8")
REVIEW, LAYERS = "0" * 12, (0, 1, 2)
TEXT = "A </script><b>&amp; film of a film"
SHOWN = {
    "name": "tiny",
    "model": "A <b> & Co",
    "variants": [["original", "Original"], ["front", "</script><i>Front"]],
    "reviews": [REVIEW],
    "choice": {"variant": "front", "minus": "original", "metric": "effective_rank", "view": "raw"},
    "contrast": "rank",
    "tokens": 256,
}


def measured(variants=("original", "front"), seed=0):
    """Tables of a page with made-up numbers: words are tokens, behind a BOS; the first token is massive at the end."""
    rng, ends = np.random.default_rng(seed), [match.end() for match in re.finditer(r"\S+", TEXT)]
    n, starts = len(ends) + 1, [match.start() for match in re.finditer(r"\S+", TEXT)]
    texts, tokens = [], []
    for variant in variants:
        keys = {"model": "tiny", "variant": variant, "review_id": REVIEW}
        texts.append(keys | {"n_tokens": n, "n_words": n - 1, "token_starts": [0, *starts], "token_ends": [0, *ends]})
        for layer in LAYERS:
            norm = rng.uniform(1, 2, n) * np.where(np.arange(n) == 0, 500 if layer == LAYERS[-1] else 1, 1)
            values = {"cosine_to_mean": rng.uniform(-1, 1, n), "norm": norm, "attention": rng.uniform(0, 3, n)}
            values |= {} if layer else {"attention": None}
            tokens.append(keys | {"layer": layer} | values)
    numbers = [
        ("tiny", "original", REVIEW, "residual_stream", layer, layer / 2, "raw", "effective_rank", layer / 4 + 1 / 3)
        for layer in LAYERS
    ]
    rejected = {"variant": "front", "review_id": REVIEW, "f1": 0.25, "accepted": False}
    return {
        "texts": pl.DataFrame(texts, READ_TEXTS_SCHEMA),
        "tokens": pl.DataFrame(tokens, TOKENS_SCHEMA),
        "variants": pl.DataFrame([{"variant": name, "review_id": REVIEW, "text": TEXT} for name in variants]),
        "keyphrases": pl.DataFrame({"review_id": [REVIEW], "phrase": ["film"]}),
        "metrics": wide_of(pl.DataFrame(numbers, VALUES_SCHEMA, orient="row")),
        "similarity": pl.concat(
            [pl.DataFrame(schema=SIMILARITY_SCHEMA), pl.DataFrame([rejected])], how="diagonal_relaxed"
        ),
        "sample": pl.DataFrame(
            {"review_id": [REVIEW], "text": [TEXT], "label": "", "rank": 0, "row": 17, "shelf": "A"}
        ),
    }


def page_of(tables, shown=SHOWN):
    return text_page(tables, chosen_texts(tables, shown), shown)


def test_the_script_reads_what_was_measured():
    tables = measured()
    data, packed = page_data(tables, chosen_texts(tables, SHOWN), SHOWN)
    numbers, texts = np.frombuffer(zlib.decompress(packed), "<i2"), data["reviews"][0]["texts"]
    assert data["layers"] == list(LAYERS)
    assert data["measures"] == [*MEASURES.items()]
    for row in tables["tokens"].iter_rows(named=True):
        text = texts[row["variant"]]
        n = len(text["tokens"])
        for place, (name, step) in enumerate(MEASURES.items()):
            start = text["start"] + (row["layer"] * len(MEASURES) + place) * n
            exact = np.array(row[name] or np.ones(n), np.float64)
            exact = exact if name == "cosine_to_mean" else np.log2(exact)
            np.testing.assert_allclose(numbers[start : start + n] * step, exact, atol=step / 2)
    original = texts["original"]
    assert original["tokens"] == ["BOS", "A", " </script><b>&amp;", " film", " of", " a", " film"]
    assert original["outside"] == [1, 0, 0, 0, 0, 0, 0]
    assert original["in_phrase"] == [0, 0, 0, 1, 0, 0, 1]
    assert (data["reviews"][0]["chosen"], data["reviews"][0]["kept"]) == (
        "named in the configuration",
        "row: 17; shelf: A",
    )


def test_numbers_are_those_of_the_table_and_a_rejected_text_says_so():
    tables = measured()
    data, _ = page_data(tables, chosen_texts(tables, SHOWN), SHOWN)
    assert data["numbers"] == [["effective_rank", "effective rank"]]
    original, front = (data["reviews"][0]["texts"][name] for name in ("original", "front"))
    assert original["numbers"]["effective_rank"] == pytest.approx([1 / 3, 7 / 12, 5 / 6], rel=1e-5)
    assert original["accepted"]
    assert front["numbers"]["effective_rank"] == [None] * 3
    assert (front["accepted"], front["f1"]) == (False, 0.25)


def test_reviews_by_name_or_by_their_difference_and_tokens_up_to_a_number():
    tables = measured()
    chosen = chosen_texts(tables, SHOWN | {"reviews": None})
    # no variant has a difference: the original's value
    assert chosen.rows() == [(REVIEW, "median", pytest.approx(5 / 6))]
    text = page_data(tables, chosen, SHOWN | {"tokens": 3})[0]["reviews"][0]["texts"]["original"]
    assert (text["n"], len(text["tokens"])) == (7, 3)
    with pytest.raises(HomogenizationError, match=r"examples\.reviews: ffff"):
        chosen_texts(tables, SHOWN | {"reviews": ["ffff"]})


def test_no_text_ends_the_element_that_it_stands_in_and_the_page_is_made_from_files(tmp_path):
    tables, paths = measured(), {}
    for name, table in tables.items():
        paths[name] = str(tmp_path / f"{name}.parquet")
        write_table(table, paths[name])
    several = {name: [path] if name not in ("metrics", "similarity") else path for name, path in paths.items()}
    page = make(several, SHOWN)
    assert page == page_of(tables)
    assert "<title>One text: A &lt;b&gt; &amp; Co</title>" in page
    assert page.count("</script>") == 3
    data = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1]
    assert json.loads(data)["reviews"][0]["texts"]["front"]["tokens"][2] == " </script><b>&amp;"
    assert not any(address in TEMPLATE for address in ("http:", "https:", "//cdn", "@import", "url("))


def test_models_and_variants_are_told_by_their_labels_alone(tmp_path):
    shown = SHOWN | {"model": "Label m", "variants": [["original", "Label o"], ["front", "Label f"]]}
    (tmp_path / "page.html").write_text(page_of(measured(), shown), encoding="utf-8")
    with chromium(tmp_path / "profile") as browser:
        browser.get((tmp_path / "page.html").as_uri())
        said = browser.execute_script("return document.title + document.body.innerText")
    assert {"Label m", "Label o", "Label f"} <= set(re.findall(r"Label \w", said))
    assert re.findall(r"\b(tiny|front)\b", said) == []


@given(st.text(max_size=30), st.lists(st.integers(0, 30), max_size=8))
def test_pieces_are_the_text_up_to_the_last_token(text, cuts):
    ends = sorted(min(cut, len(text)) for cut in cuts)
    offsets = np.array([(0, 0), *pairwise([0, *ends])])
    assert "".join(pieces(text, offsets)) == text[: ends[-1] if ends else 0]
    assert len(pieces(text, offsets)) == len(offsets)
