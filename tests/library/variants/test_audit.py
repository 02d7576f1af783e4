"""The audit: the sheet is blind and complete, ratings find their passages, shares and agreement are right."""

import csv
import re

import polars as pl
import pytest

from homogenization.run.errors import HomogenizationError
from homogenization.tables.audit import tabulate
from homogenization.variants import audit
from homogenization.variants.audit import SHEET_SCHEMA, passages, passages_of, sheet
from homogenization.variants.ratings import QUESTIONS, readings

HEADER = "item,well_formed,same_meaning,complete,no_repeats\n"
SENTENCES = [f"Number {n} walked into the old house." for n in range(8)]


def moved(sentence):
    return re.sub(r"(Number \d) walked (into the old house)\.", r"Into the old house, \1 walked.", sentence)


@pytest.fixture
def texts():
    """Two reviews of four sentences; `front` moves all of them, `end` the first of each."""
    rows = []
    for review, own in (("a", SENTENCES[:4]), ("b", SENTENCES[4:])):
        rows.append(("original", review, " ".join(own)))
        rows.append(("front", review, " ".join(map(moved, own))))
        rows.append(("end", review, " ".join([own[0].replace("walked", "went"), *own[1:]])))
    return pl.DataFrame(rows, schema=["variant", "review_id", "text"], orient="row")


def rated(path, items, sound):
    """A filled sheet: `sound` says of each item whether all is well; of another, one answer is no."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "note", *QUESTIONS])
        writer.writerows([item, "", "yes", "Yes" if sound(item) else "NO", "1", "y"] for item in items)
    return str(path)


def test_passages_are_the_sentences_that_changed():
    original = "One stays. Two walked home. Three stays! Four ran."
    (one,) = passages("v", original, "One stays. Home two walked. Three stays! Four ran.")
    assert (one.original, one.rewritten, one.n_sentences) == ("Two walked home.", "Home two walked.", 1)
    assert list(passages("v", original, original.replace("! ", "!  "))) == []  # the same words
    (joined,) = passages("v", original, "One stays. Two walked home and three stays and ran.")
    assert (joined.n_sentences, joined.original[:3], joined.original[-4:]) == (3, "Two", "ran.")


def test_a_sheet_is_drawn_from_every_variant_and_names_none(texts, monkeypatch):
    everything = sheet(texts, seed=0)
    assert sorted(everything["item"]) == sorted({passage.item for passage in passages_of(texts)})
    monkeypatch.setattr(audit, "PASSAGES", 2)
    drawn = sheet(texts, seed=0)
    assert dict(drawn.schema) == SHEET_SCHEMA
    assert drawn["item"].n_unique() == len(drawn) == 4
    assert set(drawn.select(*QUESTIONS).row(0)) == {""}
    assert drawn.equals(sheet(texts.sample(fraction=1, shuffle=True, seed=1), seed=0))
    assert not drawn["item"].equals(sheet(texts, seed=1)["item"])
    assert not re.search("front|end\\b|variant", drawn.write_csv())


def test_shares_intervals_and_agreement(tmp_path, texts):
    path = tmp_path / "variants.parquet"
    texts.with_columns(label=pl.lit("x")).write_parquet(path)
    own = {p.original: p.item for p in passages_of(texts) if p.variant == "front"}
    items = [own[sentence] for sentence in SENTENCES]
    files = [
        rated(tmp_path / "one.csv", items, lambda item: items.index(item) < 6),
        rated(tmp_path / "two.csv", items[:6], lambda item: items.index(item) < 4),
    ]
    table = tabulate(files, [path]).rows_by_key("variant", named=True, unique=True)
    front, end = table["front"], table["end"]
    assert [front[name] for name in ("n_changed", "n_rated", "n_readers")] == [8, 8, 2]
    assert front["sound"] == 4 / 8
    assert (front["changed"], front["sound_and_changed"]) == (1, 0.5)
    # Wilson: (p + z² / 2n ± z sqrt(p (1 - p) / n + z² / 4n²)) / (1 + z² / n)
    assert front["sound_low"] == pytest.approx(0.21521, abs=1e-5)
    assert front["sound_high"] == pytest.approx(0.78479, abs=1e-5)
    assert front["agreement"] == 4 / 6
    assert front["kappa"] == pytest.approx(0)  # the first reader found all six sound that both read
    assert [end[name] for name in ("n_changed", "n_rated", "changed", "sound")] == [2, 0, 0.25, None]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "can't be read"),
        ("item,well_formed\na,yes\n", "lack a column"),
        (HEADER + "a,yes,maybe,yes,yes\n", "something else than yes or no ('maybe')"),
    ],
)
def test_a_sheet_that_cannot_be_read_is_named(tmp_path, text, said):
    file = tmp_path / "ratings.csv"
    if text is not None:
        file.write_text(text)
    with pytest.raises(HomogenizationError, match=r"^the ratings") as raised:
        readings([str(file)])
    assert said in str(raised.value)
    assert str(file) in str(raised.value)
