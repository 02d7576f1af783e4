"""Write contrasts.csv, the differences on constructions.md and families.md, from the results of their configurations.

`python docs/gallery/contrasts.py [FOLDER]` reads the folders of results in FOLDER (default: `results`); the rows of a
configuration without results stay as they are. A row is the mean of a difference over sentences (texts),
variant - minus, with its 95 % interval, or Spearman's correlation of that difference over sentences with a distance.
`sentences` says over which of them. A verdict stands where the row is one of the table `contrasts`.
"""

import sys
from pathlib import Path

import numpy as np
import polars as pl
from scipy.stats import rankdata, ttest_ind

sys.path.insert(0, str(Path(__file__).parents[2] / "workflow" / "lib"))

from homogenization import open_results
from homogenization.names.variants import KEEPING_WORDS, SIDES
from homogenization.reading.results import Results
from homogenization.run.parquet import read_table
from homogenization.statistics.estimates import averages
from homogenization.tables.regions import at_layers
from homogenization.variants.constituents import parsed_sentences
from homogenization.variants.constructions import ranked
from homogenization.variants.phrases import phrases_by_review, term_of

FRONT, END, ORIGINAL = "front-natural", "end-natural", "original"
RANK, MEV = "normalized_effective_rank", "max_explainable_variance"
MEASURES = [
    (RANK, "raw"),
    (RANK, "raw_without_first"),
    (MEV, "raw"),
    ("first_token_attention_excess", "all_tokens"),
    ("n_tokens", "all_tokens"),
]
ASKED = pl.DataFrame(MEASURES, schema=["metric", "view"], orient="row")
LAYERS = ("input", "all", "output")
KEYS = ("study", "sentences", "statistic", "variant", "minus", "model", "metric", "view", "layers")
NUMBERS = ("n", "estimate", "ci_low", "ci_high", "p", "verdict", "fragile", "depth_range")
PAIR = {"variant": pl.lit(FRONT), "minus": pl.lit(END)}
DRAWS = 2_000


def of_table(results: Results) -> pl.DataFrame:
    """Rows of the table `contrasts`: at the input, at the output, over all layers, and among texts that begin alike."""
    table = results.table("contrasts").filter(pl.col("point") == "residual_stream", pl.col("reason").is_null())
    at = [table.filter(pl.col("layers").is_null(), at_layers(name)) for name in ("input", "output")]
    named = [rows.with_columns(layers=pl.lit(name)) for rows, name in zip(at, ("input", "output"), strict=True)]
    rows = pl.concat([*named, table.filter(pl.col("layers") == "all")]).join(ASKED, on=ASKED.columns)
    keys = ["variant", "minus", "model", "metric", "view", "layers"]
    columns = ["verdict", "fragile", "depth_range", "ci_low", "ci_high"]
    everything = rows.select(*keys, *columns, sentences=pl.lit("all"), n="n_reviews", estimate="mean", p="p_max_t")
    alike = rows.filter(pl.col("mean_same_first").is_finite(), pl.col("n_same_first") < pl.col("n_reviews"))
    alike = alike.select(
        *keys,
        sentences=pl.lit("first token is the same"),
        n="n_same_first",
        estimate="mean_same_first",
        ci_low="ci_low_same_first",
        ci_high="ci_high_same_first",
    )
    table = pl.concat([everything, alike], how="diagonal")
    return table.with_columns(statistic=pl.lit("mean difference"))


def differences(results: Results) -> pl.DataFrame:
    """Front minus End by model, review, metric, view and layers, of reviews with two accepted texts that differ."""
    stream = results.metrics.filter(pl.col("point") == "residual_stream").join(ASKED, on=ASKED.columns)
    keys = ["model", "review_id", "metric", "view", "layer"]
    pairs = stream.filter(pl.col("variant") == FRONT).join(stream.filter(pl.col("variant") == END), on=keys)
    hashes = results.table("similarity").filter(pl.col("variant").is_in([FRONT, END]))
    differ = hashes.group_by("review_id").agg(pl.col("words_hash").n_unique() > 1).filter("words_hash")
    pairs = pairs.join(differ, on="review_id", how="semi").with_columns(
        difference=pl.col("value") - pl.col("value_right")
    )
    return pl.concat(
        pairs.filter(at_layers(name))
        .group_by("model", "review_id", "metric", "view")
        .agg(pl.col("difference").mean())
        .with_columns(layers=pl.lit(name))
        for name in LAYERS
    )


def sentences_of(results: Results) -> pl.DataFrame:
    """A row for each text: commas more in Front, adjuncts that move, whether they are key, and how far one moves."""
    texts = results.texts.filter(pl.col("variant").is_in([FRONT, END]))
    front, end = (texts.filter(pl.col("variant") == name) for name in (FRONT, END))
    both = front.filter(pl.col("placements").list.len() > 0).join(end, on="review_id", suffix="_end")
    keys = _held_keys(results)
    rows = []
    for row in both.iter_rows(named=True):
        moving = row["placements"]
        of_text = {
            "review_id": row["review_id"],
            "original": row["original"],
            "more_commas": row["text"].count(",") - row["text_end"].count(","),
            "moved": "end" if row["text"] == row["original"] else "front" if row["text_end"] == row["original"] else "",
            "same_word": row["text"].split()[0] == row["text_end"].split()[0],
            "n_moving": len(moving),
            "key": keys[row["review_id"]],
        }
        if len(moving) == 1:
            n_words, n_moved = (len(term_of(text).split()) for text in (row["original"], moving[0]["phrase"]))
            passed = round((row["placements_end"][0]["position"] - moving[0]["position"]) * (n_words - n_moved))
            of_text |= {"words": n_words, "words_passed": passed, "share_passed": passed / n_words}
        rows.append(of_text)
    return pl.DataFrame(rows, infer_schema_length=None)


def _held_keys(results: Results) -> dict[str, bool | None]:
    """Whether what moves holds a key phrase, by review; None where something can move that does, and something else."""
    originals = results.texts.filter(pl.col("variant") == ORIGINAL).select("review_id", "text")
    parses, keyphrases = (
        pl.concat(read_table(path) for path in sorted((results.folder / folder).glob("[0-9]*.parquet")))
        for folder in ("parses", "keyphrases")
    )
    sentences = parsed_sentences(originals, parses)
    phrases = phrases_by_review(keyphrases)
    found = {}
    for name, parsed in sentences.items():
        kinds = set()
        for sentence in parsed:
            keys = [phrase for phrase in phrases.get(name, []) if phrase.sentence == sentence.number]
            for kind in ("key", "other"):
                if ranked(sentence, keys, KEEPING_WORDS, SIDES, kind):
                    kinds.add(kind == "key")
        found[name] = kinds.pop() if len(kinds) == 1 else None
    return found


def means_of(values: pl.DataFrame, sentences: str) -> list[dict]:
    """A row for each model, metric, view and layers: the mean of `difference` over these sentences."""
    rows = []
    for keys, group in values.group_by("model", "metric", "view", "layers"):
        numbers = averages(group["difference"].to_numpy()[:, None], 0.95)
        row = dict(zip(("model", "metric", "view", "layers"), keys, strict=True)) | {"sentences": sentences}
        row |= {"n": int(numbers["n_reviews"][0]), "statistic": "mean difference"}
        rows.append(row | {name: float(numbers[name][0]) for name in ("estimate", "ci_low", "ci_high")})
    return rows


def correlations(values: pl.DataFrame, by: str, apart_from: str | None = None) -> list[dict]:
    """Spearman's correlation of the difference with the column `by`: bootstrap interval, permutation p.

    With `apart_from`, of what the ranks of a third column do not explain of the ranks of both.
    """
    rows = []
    for keys, group in values.group_by("model", "metric", "view", "layers"):
        names = [by, "difference", *([apart_from] if apart_from else [])]
        columns = group.sort("review_id").select(names).to_numpy().T
        rng, n = np.random.default_rng(0), columns.shape[1]
        x, y = _ranks(columns)
        drawn = [_correlation(*_ranks(columns[:, rng.integers(0, n, n)])) for _ in range(DRAWS)]
        permuted = [_correlation(x, rng.permutation(y)) for _ in range(DRAWS)]
        row = dict(zip(("model", "metric", "view", "layers"), keys, strict=True))
        row |= {"sentences": "all", "statistic": f"Spearman with {by}" + (f", {apart_from} held" if apart_from else "")}
        low, high = np.quantile(drawn, [0.025, 0.975])
        estimate = _correlation(x, y)
        p = (1 + np.sum(np.abs(permuted) >= abs(estimate) - 1e-12)) / (1 + DRAWS)
        rows.append(row | {"n": n, "estimate": estimate, "ci_low": low, "ci_high": high, "p": p})
    return rows


def _ranks(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ranks of the first two columns about their mean, without what those of the third explain where there is one."""
    ranks = rankdata(columns, axis=1)
    ranks -= ranks.mean(axis=1, keepdims=True)
    x, y, *held = ranks
    for z in held:
        x, y = (of - z * (of @ z) / (z @ z) for of in (x, y))
    return x, y


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    return float(x @ y / np.sqrt((x @ x) * (y @ y)))


def ranks_by_text(results: Results) -> pl.DataFrame:
    """Differences of the rank beside what is known of each text: the columns of `sentences_of`, and `matched`.

    Matched are texts with as many tokens and commas in Front as in End.
    """
    found = differences(results).join(sentences_of(results), on="review_id")
    tokens = found.filter(pl.col("metric") == "n_tokens", pl.col("layers") == "output")
    found = found.join(tokens.select("model", "review_id", more_tokens="difference"), on=["model", "review_id"])
    matched = (pl.col("more_tokens") == 0) & (pl.col("more_commas") == 0)
    return found.filter(pl.col("metric") == RANK).with_columns(matched=matched)


def of_sentences(results: Results) -> list[dict]:
    """Rows over kinds of sentences, and by how far the adjunct moves."""
    found = ranks_by_text(results)
    matched = "as many tokens and commas"
    kinds = {
        "first word is the same": pl.col("same_word"),
        "Front has more commas": pl.col("more_commas") > 0,
        matched: pl.col("matched"),
        "Front is the original": pl.col("moved") == "end",
        "End is the original": pl.col("moved") == "front",
        "adjunct holds a key phrase": pl.col("key"),
        "adjunct holds none": ~pl.col("key"),
    }
    passed, words = found.unique("review_id")["words_passed"], pl.col("words_passed")
    low, high = (int(passed.quantile(share, "nearest")) for share in (1 / 3, 2 / 3))
    kinds |= {
        f"passes {passed.min()} to {low} words": words <= low,
        f"passes {low + 1} to {high} words": (words > low) & (words <= high),
        f"passes {high + 1} to {passed.max()} words": words > high,
    }
    shown = (pl.col("view") == "raw") & (pl.col("layers") != "input")
    rows = [
        row
        for name, kind in kinds.items()
        for row in means_of(found.filter(kind, pl.lit(name == matched) | shown), name)
    ]
    found = found.filter(shown)
    key, other = (found.filter(kind) for kind in (pl.col("key"), ~pl.col("key")))
    rows += apart(key, other, "adjunct holds a key phrase, less holds none")
    rows += apart(found.filter(words > high), found.filter(words <= low), "passes most words, less fewest")
    rows += correlations(found, "words_passed")
    rows += correlations(found, "share_passed")
    return rows + correlations(found, "words_passed", "words")


def apart(one: pl.DataFrame, other: pl.DataFrame, sentences: str) -> list[dict]:
    """A row for each model, metric, view and layers: mean of `one` minus that of `other`, by Welch's interval."""
    rows, keys = [], ("model", "metric", "view", "layers")
    others = other.partition_by(keys, as_dict=True)
    for cell, group in one.group_by(keys):
        test = ttest_ind(group["difference"], others[cell]["difference"], equal_var=False)
        low, high = test.confidence_interval(0.95)
        estimate = group["difference"].mean() - others[cell]["difference"].mean()
        row = dict(zip(keys, cell, strict=True)) | {"sentences": sentences, "statistic": "difference of means"}
        n = len(group) + len(others[cell])
        rows.append(row | {"n": n, "estimate": estimate, "ci_low": low, "ci_high": high, "p": float(test.pvalue)})
    return rows


def of_bos(results: Results) -> list[dict]:
    """Rows of each model without BOS less the same weights with it, sentence by sentence."""
    found, rows = differences(results), []
    keys = ["review_id", "metric", "view", "layers"]
    for model in found["model"].unique().sort():
        pairs = found.filter(pl.col("model") == model).join(
            found.filter(pl.col("model") == f"{model}-bos"), on=keys, suffix="_bos"
        )
        less = pairs.filter(pl.col("metric").is_in([RANK, MEV]), pl.col("view") == "raw").with_columns(
            difference=pl.col("difference") - pl.col("difference_bos")
        )
        rows += means_of(less.with_columns(model=pl.lit(f"{model}, less {model}-bos")), "all")
    return rows


def of_counts(results: Results) -> list[dict]:
    """Rows by the number of adjuncts that move in a text; and less the text of its first sentence alone."""
    found = differences(results).filter(pl.col("metric") == RANK, pl.col("view") == "raw", pl.col("layers") != "input")
    found = found.join(sentences_of(results), on="review_id")
    rows = [
        row
        for (count,), group in found.group_by("n_moving", maintain_order=True)
        for row in means_of(group, f"{count} move in a text")
    ]
    single = found.filter(pl.col("n_moving") == 1)
    first = {row["original"]: row["review_id"] for row in single.unique("review_id").iter_rows(named=True)}
    keys = ["model", "metric", "view", "layers"]
    for count in (2, 4):
        longer = found.filter(pl.col("n_moving") == count)
        begins = {
            row["review_id"]: next((name for text, name in first.items() if row["original"].startswith(text + " ")), "")
            for row in longer.unique("review_id").iter_rows(named=True)
        }
        longer = longer.with_columns(first=pl.col("review_id").replace_strict(begins))
        pairs = longer.join(single, left_on=[*keys, "first"], right_on=[*keys, "review_id"], suffix="_single")
        pairs = pairs.with_columns(difference=pl.col("difference") - pl.col("difference_single"))
        rows += means_of(pairs, f"{count} move in a text, less 1")
    return rows


def of_constructions(results: Results) -> pl.DataFrame:
    """Rows of Front minus End in natural orders, over all sentences and over kinds of them."""
    table = of_table(results).filter(pl.col("variant") == FRONT, pl.col("minus") == END)
    rows = pl.DataFrame(of_sentences(results) + of_bos(results), infer_schema_length=None)
    return pl.concat([table, rows.with_columns(**PAIR)], how="diagonal_relaxed")


def of_reviews(results: Results) -> pl.DataFrame:
    """Rows over all whole reviews, and over those whose first word stays."""
    found, same = ranks_by_text(results), "first word is the same"
    kinds = {
        same: pl.col("same_word"),
        "first word is another": ~pl.col("same_word"),
        f"{same}, as many tokens and commas": pl.col("same_word") & pl.col("matched"),
        f"{same}, Front has more commas": pl.col("same_word") & (pl.col("more_commas") > 0),
    }
    rows = [row for name, kind in kinds.items() for row in means_of(found.filter(kind), name)]
    return pl.concat([of_table(results), pl.DataFrame(rows).with_columns(**PAIR)], how="diagonal_relaxed")


def of_dose(results: Results) -> pl.DataFrame:
    """Rows by the number of adjuncts that move."""
    return pl.DataFrame(of_counts(results), infer_schema_length=None).with_columns(**PAIR)


STUDIES = {
    "constructions": of_constructions,
    "constructions-dose": of_dose,
    "constructions-written": of_table,
    "constructions-reviews": of_reviews,
    "families": of_table,
}


def main(folder: str = "results") -> None:
    """Write the file beside this one."""
    path = Path(__file__).with_suffix(".csv")
    found = {study: rows_of for study, rows_of in STUDIES.items() if Path(folder, study).exists()}
    written = pl.read_csv(path, infer_schema_length=None).filter(~pl.col("study").is_in(list(found)))
    made = [
        rows_of(open_results(f"{folder}/{study}")).with_columns(pl.selectors.float().round(6), study=pl.lit(study))
        for study, rows_of in found.items()
    ]
    pl.concat([written, *made], how="diagonal_relaxed").sort(KEYS).select(*KEYS, *NUMBERS).write_csv(path)


if __name__ == "__main__":
    main(*sys.argv[1:])
