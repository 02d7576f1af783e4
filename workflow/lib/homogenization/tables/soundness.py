"""How well automatic criteria tell sound sentences from others, by proposer and position, where readers rated some."""

import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from homogenization.corpus.sentences import words
from homogenization.run.parquet import read_table, read_tables
from homogenization.variants.audit import passages_of
from homogenization.variants.gate import Gate, kept_pairs, word_changes
from homogenization.variants.ratings import readings

# a higher one should mean a sounder sentence
CRITERIA = {
    "f1": pl.Float64,  #: BERTScore F1 of the sentence, where the writer's file has it; null otherwise
    "length": pl.Float64,  #: minus |ln(words / words of the original)|
    "lost": pl.Float64,  #: minus the words that it lacks
    "repeated": pl.Float64,  #: minus the words of the original that it has more often
    "added": pl.Float64,  #: minus the words that the original lacks
    "pairs": pl.Float64,  #: share of the original's pairs (head, dependent) that its own parse has too
}
#: A row for each proposer, position and criterion; of `p_sound`, which joins all others, the last. It exists with
#: `audit.ratings`.
SOUNDNESS_SCHEMA = {
    "proposer": pl.String,  #: the rewriter; of a language model, its name under `writers`
    "position": pl.String,  #: of the variant; null for a paraphrase
    "criterion": pl.String,  #: a column of `p_sound.csv`
    "n_rated": pl.Int64,  #: rated sentences with the criterion
    "n_sound": pl.Int64,  #: of these, sound by every reader
    "auc": pl.Float64,  #: chance that a sound sentence has the higher value than one that is not; .5 is guessing
    "auc_low": pl.Float64,  #: lower bound of its 95 % interval: percentiles over reviews, drawn again
    "auc_high": pl.Float64,  #: upper bound of its 95 % interval
    "brier": pl.Float64,  #: mean square of p_sound - sound; null for the others, also in the next column
    "calibration_slope": pl.Float64,  #: of sound on the log odds of p_sound: 1 is calibrated, less is too sure
    "reason": pl.String,  #: why there is no number; null where there is
}
#: A row for each rated sentence of each proposer and position. It exists with `audit.ratings`.
P_SOUND_SCHEMA = {
    "item": pl.String,  #: hash of the sentence before and after, as on the sheet
    "proposer": pl.String,  #: as in `soundness.csv`
    "position": pl.String,  #: as in `soundness.csv`
    "review_id": pl.String,  #: 12 hexadecimal digits
    "sound": pl.Boolean,  #: by every reader
    **CRITERIA,
    "p_sound": pl.Float64,  #: by a logistic regression on the criteria, fitted on sentences of other reviews; or null
}
SCHEMAS = SOUNDNESS_SCHEMA, P_SOUND_SCHEMA
# fewer rated sentences, sentences that are sound or not, or reviews give no number
FEWEST, FEWEST_OF_EACH, FEWEST_REVIEWS = 30, 5, 5
_FOLDS, _DRAWS = 5, 2000


def tabulate(
    ratings: Sequence[str],
    variants: Sequence[str],
    candidates: Sequence[str] | None,
    proposers: Mapping[str, tuple[str, str | None]],
    parser: Mapping[str, Any],
    *,
    seed: int,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The tables `soundness` and `p_sound`.

    Args:
        ratings: CSV files, one for each reader, as `variants.ratings.readings` reads them.
        variants: Parquet files of the variants, `original` among them.
        candidates: Files of the judged candidates of sentences; None where no variant has such.
        proposers: Proposer and position of each variant.
        parser: As in `parse_reviews`.
        seed: Seed of the folds and of the bootstrap.
    """
    found = readings(ratings)
    scores = {
        tuple(row): f1
        for file in candidates or ()
        for *row, f1 in read_table(file).filter("taken").select("variant", "review_id", "text", "f1").iter_rows()
    }
    rows = list(_rated(read_tables(variants), found, proposers, scores, Gate(parser)))
    rated = pl.DataFrame(rows, schema=P_SOUND_SCHEMA, orient="row").unique(maintain_order=True)
    told, judged = [], [rated.clear()]
    for group, own in rated.group_by("proposer", "position", maintain_order=True):
        own = own.with_columns(p_sound=pl.Series(_p_sound(own, seed), dtype=pl.Float64))
        judged.append(own)
        told += [(*group, *_row(own, criterion, seed)) for criterion in (*CRITERIA, "p_sound")]
    return pl.DataFrame(told, schema=SOUNDNESS_SCHEMA, orient="row"), pl.concat(judged)


def _rated(
    texts: pl.DataFrame, found: Sequence[Mapping[str, bool]], proposers: Mapping[str, Any], scores: Mapping, gate: Gate
) -> Iterator[tuple[Any, ...]]:
    """The rated passages of one sentence, with their criteria, as rows of `P_SOUND_SCHEMA` without p_sound."""
    n_longer = 0
    for passage in passages_of(texts):
        given = [reading[passage.item] for reading in found if passage.item in reading]
        if not given or passage.n_sentences > 1:
            n_longer += bool(given)
            continue
        before, after = passage.original, passage.rewritten
        changes = {name: 0.0 - of.total() for name, of in word_changes(before, after).items()}
        f1 = scores.get((passage.variant, passage.review, after))
        length = 0.0 - abs(math.log(len(words(after)) / len(words(before))))
        pairs = kept_pairs(gate.parse(before), gate.parse(after))
        values = {"f1": f1, "length": length, "pairs": pairs, **changes}
        key = (passage.item, *proposers[passage.variant], passage.review, all(given))
        yield *key, *(values[name] for name in CRITERIA), None
    if n_longer:
        logging.warning("%d rated passages hold several sentences; no criterion is computed of them.", n_longer)


def _problem(own: pl.DataFrame) -> str | None:
    """Why rated sentences give no number; None if they do."""
    n_sound, n = own["sound"].sum(), len(own)
    if n < FEWEST:
        return f"fewer than {FEWEST} rated sentences"
    if min(n_sound, n - n_sound) < FEWEST_OF_EACH:
        return f"fewer than {FEWEST_OF_EACH} are sound, or are not"
    if own["review_id"].n_unique() < FEWEST_REVIEWS:
        return f"fewer than {FEWEST_REVIEWS} reviews"
    reviews = own.group_by("sound").agg(pl.col("review_id").n_unique())["review_id"]
    return "all that are sound, or are not, are of one review" if reviews.min() < 2 else None


def _p_sound(own: pl.DataFrame, seed: int) -> list[float] | None:
    """p_sound of each sentence out of fold; None where `_problem` says so. Reviews are not divided between folds."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if _problem(own):
        return [None] * len(own)
    known = [name for name in CRITERIA if own[name].null_count() == 0]
    folds = StratifiedGroupKFold(_FOLDS, shuffle=True, random_state=seed)
    model = make_pipeline(StandardScaler(), LogisticRegression())
    given = {"groups": own["review_id"].to_numpy(), "cv": folds, "method": "predict_proba"}
    return cross_val_predict(model, own.select(known).to_numpy(), own["sound"].to_numpy(), **given)[:, 1].tolist()


def _row(own: pl.DataFrame, criterion: str, seed: int) -> tuple[Any, ...]:
    """The columns of `SOUNDNESS_SCHEMA` from `criterion` on."""
    own = own.drop_nulls(criterion) if criterion != "p_sound" else own
    problem = _problem(own) if len(own) else "not known of these sentences"
    problem = problem or ("equal in all" if own[criterion].n_unique() == 1 else None)
    counts = (criterion, len(own), own["sound"].sum())
    if problem:
        return (*counts, *[None] * 5, problem)
    sound, values = own["sound"].to_numpy(), own[criterion].to_numpy()
    quality = _calibration(sound, values) if criterion == "p_sound" else (None, None)
    return (*counts, *_auc(sound, values, own["review_id"].to_numpy(), seed), *quality, None)


def _auc(sound: np.ndarray, values: np.ndarray, reviews: np.ndarray, seed: int) -> tuple[float, float, float]:
    """The area under the curve, and the ends of its interval by a bootstrap over reviews (2.5 and 97.5 %)."""
    wins = np.sign(values[sound][:, None] - values[~sound]) / 2 + 0.5
    _, number = np.unique(reviews, return_inverse=True)
    n = number.max() + 1
    draws = np.random.default_rng(seed).multinomial(n, np.full(n, 1 / n), size=_DRAWS)[:, number]
    draws = np.concatenate([np.ones((1, len(number))), draws])
    ones, others = draws[:, sound], draws[:, ~sound]
    with np.errstate(invalid="ignore"):  # a draw without sound sentences, or without others, has no area
        areas = ((ones @ wins) * others).sum(axis=1) / (ones.sum(axis=1) * others.sum(axis=1))
    return float(areas[0]), *map(float, np.nanquantile(areas[1:], (0.025, 0.975)))


def _calibration(sound: np.ndarray, p: np.ndarray) -> tuple[float, float]:
    """The Brier score, and the slope of a logistic regression on the log odds."""
    from sklearn.linear_model import LogisticRegression

    odds = np.log(p / (1 - p))[:, None]
    slope = LogisticRegression(C=np.inf).fit(odds, sound).coef_[0, 0]
    return float(np.mean((p - sound) ** 2)), float(slope)
