"""Criteria of soundness against ratings: values, areas and intervals, p_sound out of fold, and what gives no number."""

import csv

import polars as pl
import pytest
from sklearn.metrics import roc_auc_score

from homogenization.config.texts import Parser
from homogenization.tables.soundness import CRITERIA, P_SOUND_SCHEMA, SOUNDNESS_SCHEMA, _problem, tabulate
from homogenization.variants.audit import passages_of
from homogenization.variants.ratings import QUESTIONS

N = 44
PROPOSERS = {"natural": ("constructions", "end"), "written": ("served", "end")}


def before(number):
    return f"Last year, I saw the old film with number {number}."


def after(number):
    """Every second one says something twice."""
    return f"I saw the old film with number {number} last year{', last year' if number % 2 else ''}."


def is_sound(number):
    """What one reader says: the repeated words tell, but for every eleventh sentence."""
    return (number % 2 == 0) != (number % 11 == 0)


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """(how many sentences are rated) -> the two tables; a second reader finds the first sentence unsound."""
    folder = tmp_path_factory.mktemp("soundness")
    rows = [("original", f"{n}", before(n)) for n in range(N)] + [
        (variant, f"{n}", after(n)) for variant in PROPOSERS for n in range(N)
    ]
    texts = pl.DataFrame(rows, schema=["variant", "review_id", "text"], orient="row")
    texts.write_parquet(folder / "variants.parquet")
    items = {passage.review: passage.item for passage in passages_of(texts)}
    taken = texts.filter(variant="written").with_columns(taken=True, f1=pl.Series([n / N for n in range(N)]))
    taken.write_parquet(folder / "candidates.parquet")

    def tables(n_rated):
        files = []
        for reader, rated in (("one", range(n_rated)), ("two", [2])):
            files.append(folder / f"{reader}.csv")
            with files[-1].open("w", newline="") as file:
                writer = csv.writer(file)
                writer.writerow(["item", *QUESTIONS])
                answers = {n: is_sound(n) and reader == "one" for n in rated}
                writer.writerows(
                    [items[f"{n}"], "yes", "yes" if sound else "no", "yes", "yes"] for n, sound in answers.items()
                )
        given = ([folder / "variants.parquet"], [folder / "candidates.parquet"], PROPOSERS, Parser().params())
        return tabulate([str(file) for file in files], *given, seed=0)

    return tables


def test_criteria_areas_and_intervals(tables):
    soundness, p_sound = tables(N)
    assert dict(soundness.schema) == SOUNDNESS_SCHEMA
    assert dict(p_sound.schema) == P_SOUND_SCHEMA
    assert soundness["criterion"].to_list() == [*CRITERIA, "p_sound"] * 2
    own = p_sound.filter(proposer="constructions")
    of = {row["review_id"]: row for row in own.to_dicts()}
    assert [of["2"][name] for name in ("length", "lost", "repeated", "added")] == [0, 0, 0, 0]
    assert 0.8 < of["2"]["pairs"] <= 1
    assert [of["3"][name] for name in ("lost", "repeated", "added")] == [0, -2, 0]
    assert of["3"]["length"] < 0
    assert [of[n]["sound"] for n in ("2", "4", "11", "22")] == [False, True, True, False]  # "2" by the second reader
    rows = {row["criterion"]: row for row in soundness.filter(proposer="constructions").to_dicts()}
    for name in ("repeated", "length", "p_sound"):
        row = rows[name]
        assert row["auc"] == pytest.approx(roc_auc_score(own["sound"], own[name]))
        assert 0.7 < row["auc_low"] < row["auc"] < row["auc_high"] <= 1
        assert (row["n_rated"], row["n_sound"], row["reason"]) == (N, own["sound"].sum(), None)
    assert rows["repeated"]["brier"] is None
    assert rows["p_sound"]["brier"] == pytest.approx(((own["p_sound"] - own["sound"].cast(float)) ** 2).mean())
    assert 0.5 < rows["p_sound"]["calibration_slope"] < 2
    assert rows["added"]["reason"] == "equal in all"
    assert rows["f1"]["reason"] == "not known of these sentences"


def test_f1_is_that_of_the_writers_file(tables):
    soundness, p_sound = tables(N)
    written = p_sound.filter(proposer="served")
    assert written["f1"].to_list() == [int(n) / N for n in written["review_id"]]
    assert soundness.filter(proposer="served", criterion="f1")["auc"][0] == pytest.approx(
        roc_auc_score(written["sound"], written["f1"])
    )


def test_p_sound_is_not_fitted_on_its_own_review(tables):
    """Equal sentences have the same p_sound in a fold, and not in all: in a model of all of them they would."""
    _, p_sound = tables(N)
    same = p_sound.filter((pl.col("proposer") == "constructions") & (pl.col("repeated") == 0))
    largest = same.group_by("pairs").agg(pl.len(), n_values=pl.col("p_sound").n_unique()).sort("len")[-1]
    assert largest["len"][0] > 15
    assert 3 <= largest["n_values"][0] <= 5


def test_one_review_with_all_unsound_sentences_gives_a_reason():
    """Reviews are not divided between folds, of which one would train without an unsound sentence."""
    reviews = [f"{n % 7}" for n in range(42)]
    of_one, of_two = (
        pl.DataFrame({"review_id": reviews, "sound": [n not in bad for n in reviews]}) for bad in ("6", "56")
    )
    assert "of one review" in _problem(of_one)
    assert _problem(of_two) is None


def test_few_ratings_give_a_reason_and_no_number(tables):
    soundness, p_sound = tables(20)
    assert len(p_sound) == 40
    assert p_sound["p_sound"].null_count() == 40
    assert soundness["auc"].null_count() == len(soundness)
    assert set(soundness["reason"]) == {"fewer than 30 rated sentences", "not known of these sentences"}
