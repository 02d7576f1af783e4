"""The tables and figures of docs/findings.md from the tables of its five studies."""

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl

from homogenization.figures import curves, disorder, effects
from homogenization.figures.grammar import Shown, save_figure
from homogenization.figures.style import house_style
from homogenization.reading.results import Results, open_results
from homogenization.statistics.rest import rest
from homogenization.tables.over_reviews import summarise

MODELS = ("smollm2", "gemma", "qwen")
LADDER = {f"blocks-{n}": f"{n} blocks" for n in (2, 4, 8, 16, 32)} | {"words": "Single words"}
LADDERS = {
    "families": ("blocks-4", "blocks-8", "blocks-16", "blocks-32", "words"),
    "sentences": ("blocks-2", "blocks-4", "words"),
    "written": ("blocks-4", "blocks-16"),
}
VARIANTS = LADDER | {
    "original": "Original",
    "front": "Front",
    "front-inward": "Front inward",
    "end": "End",
    "front-natural": "Front",
    "end-natural": "End",
    "written": "Language model",
}
VIEWS = {
    "cosine_anisotropy": ("all_tokens", "without_first"),
    "max_explainable_variance": ("raw", "raw_without_first"),
    "normalized_effective_rank": ("raw", "raw_without_first"),
    "first_token_attention_share": ("all_tokens",),
    "first_token_attention_excess": ("all_tokens",),
}
RANK = "normalized_effective_rank"


def at_the_end(contrasts: pl.DataFrame) -> pl.DataFrame:
    """Contrasts of five metrics after the last block and as means over all layers, and of predictions."""
    chosen = pl.any_horizontal(
        pl.col("metric").eq(metric) & pl.col("view").is_in(views) for metric, views in VIEWS.items()
    )
    depth = (pl.col("layers") == "all") | (pl.col("layers").is_null() & (pl.col("depth") == 1))
    stream = chosen & depth & (pl.col("point") != "final_norm")
    rows = contrasts.filter(pl.col("group").is_null(), stream | (pl.col("point") == "predictions"))
    return rows.drop("group", "depth").sort("model", "metric", "view", "variant", "minus", "layers")


def component_means(components: pl.DataFrame) -> pl.DataFrame:
    """Change of each metric by a block's components of a kind, mean over blocks, with block 1 and without it."""
    kind = pl.col("component").str.replace(r"^(post_)?norm_\d$", "norm").str.replace(r"^\w+_addition$", "residual")
    rows = components.filter(pl.col("metric") != "neighbourhood_overlap").with_columns(component=kind)
    by = ["model", "component", "metric", "view", "blocks"]
    parts = [
        rows.with_columns(blocks=pl.lit("all")),
        rows.filter(pl.col("layer") > 1).with_columns(blocks=pl.lit("after the first")),
    ]
    of_block = pl.concat(parts).group_by(*by, "review_id", "layer").agg(pl.col("change").sum())
    of_review = of_block.group_by(*by, "review_id").agg(pl.col("change").mean())
    return summarise(of_review.sort(*by, "review_id"), by, "change")


def by_first_words(study: str, results: Results) -> pl.DataFrame:
    """Front minus End in natural orders after the last block: of all texts, and where the first word is the same."""

    def first_word(column: str) -> pl.Expr:
        return pl.col(column).str.extract(r"([\w'’]+)").str.to_lowercase()

    longer = results.differences("front-natural", "end-natural", "n_tokens")
    longer = longer.select("model", "review_id", tokens="difference")
    commas = [pl.col(text).str.count_matches(",") for text in ("text", "text_minus")]
    same = first_word("text") == first_word("text_minus")
    kinds = {
        "all": pl.lit(True),
        "same first word": same,
        "same first word, as many tokens and commas": same & (pl.col("tokens") == 0) & commas[0].eq(commas[1]),
    }
    means = []
    for view in VIEWS[RANK]:
        rows = results.differences("front-natural", "end-natural", RANK, view=view).join(longer, ["model", "review_id"])
        rows = rows.filter(pl.col("text") != pl.col("text_minus"))
        for kind, chosen in kinds.items():
            of_kind = summarise(rows.filter(chosen).sort("model", "review_id"), ["model"], "difference")
            means.append(
                of_kind.select(
                    pl.lit(study).alias("study"),
                    "model",
                    pl.lit(view).alias("view"),
                    pl.lit(kind).alias("texts"),
                    pl.exclude("model"),
                )
            )
    return pl.concat(means)


def beyond_disorder(study: str, results: Results, ladder: Sequence[str], variants: Sequence[str]) -> pl.DataFrame:
    """What variants do after the last block beyond disorder that changes the loss as much: as docs/statistics.md says.

    Also beyond disorder that makes predictions as uncertain (entropy), or as alike (divergence), in the place of loss.
    """
    keys, measures = ["model", "variant", "review_id"], ["loss_per_word", "entropy", "divergence"]
    predictions = results.table("predictions").with_columns(-pl.col("divergence"))
    original = predictions.filter(variant="original").drop("variant")
    costs = predictions.join(original, on=["model", "review_id"], suffix="_original")
    costs = costs.select(*keys, *(pl.col(name) - pl.col(f"{name}_original") for name in measures))
    values = []
    for metric, view in (("cosine_anisotropy", "without_first"), (RANK, "raw_without_first")):
        moved = (results.differences(name, "original", metric, view=view) for name in (*ladder, *variants))
        changed = pl.concat(table.filter(pl.col("text") != pl.col("text_minus")) for table in moved)
        for (model,), rows in changed.join(costs, on=keys).group_by("model", maintain_order=True):
            reviews = rows.select(pl.col("review_id").unique().sort())
            of_variant = {
                name: reviews.join(rows.filter(variant=name), on="review_id", how="left", maintain_order="left")
                for name in (*ladder, *variants)
            }
            for measure, name in product(measures, variants):
                changes = {
                    of: (table.select("difference").to_numpy(), table[measure].to_numpy())
                    for of, table in of_variant.items()
                }
                beyond = rest(changes[name], [changes[step] for step in ladder])[:, 0]
                key = {"model": model, "variant": name, "metric": metric, "view": view, "of_equal": measure}
                values.append(reviews.with_columns(beyond=beyond, **{k: pl.lit(v) for k, v in key.items()}))
    means = summarise(pl.concat(values), ["model", "variant", "metric", "view", "of_equal"], "beyond")
    return means.filter(pl.col("n_reviews") > 0).select(pl.lit(study).alias("study"), pl.all())  # encoders have none


def draw_figures(studies: dict[str, Results], labels: dict[str, str], folder: Path) -> None:
    """Draw the figures of the page; `labels` are those of models."""

    def draw(file: str, function: Callable, title: str, study: str, tables: str, *variants: str, **own: Any) -> None:
        """Draw a figure of a study's tables, whose names stand in one text, with these variants beside the original."""
        models = own.pop("models", MODELS)
        shown = {
            "models": {name: labels[name] for name in models},
            "variants": {name: VARIANTS[name] for name in ("original", *variants)},
            "ladder": [name for name in LADDER if name in variants],
            "margin": 0.02,
            "min_reviews": 10,
        }
        kept = pl.col("model").is_in(models), pl.col("variant").is_in([*shown["variants"], ""])
        rows = {name: studies[study].table(name).filter(*kept) for name in tables.split()}
        save_figure(function(rows, Shown(**shown, **own, title=title)), folder / f"{file}.svg")

    four = (*MODELS, "minilm")
    moved = ("families", "contrasts summary", *LADDERS["families"], "front", "front-inward", "end")
    draw("disorder", disorder.disorder, "Disorder or position?", *moved, models=four)
    draw("disorder_depth", disorder.disorder_depth, "Change per nat of disorder, over depth", *moved, models=four)
    draw("one_token", curves.one_token, "Is a collapse that of one token?", *moved, models=four)
    title, metric = "Maximum explainable variance", "max_explainable_variance"
    draw(metric, curves.metric, title, *moved, models=four, metric=metric)
    written = ("written", "contrasts", *LADDERS["written"], "written", "front")
    draw("disorder_written", disorder.disorder, "What a language model writes", *written)
    natural = ("sentences", "contrasts", *LADDERS["sentences"], "front-natural", "end-natural")
    draw("disorder_natural", disorder.disorder, "Natural orders of 204 sentences", *natural)
    draw("causes_conditions", effects.conditions, "Changed attention and its costs", "families", "interventions doses")
    draw("causes_dose", effects.dose, "Steered attention", "families", "interventions doses")


def main(folders: dict[str, str], labels: dict[str, str], made: Path) -> None:
    """Write everything to the folder `made`; `folders` are the results of each study."""
    studies = {name: open_results(folder) for name, folder in folders.items()}
    families, sentences, natural, written = (studies[name] for name in ("families", "sentences", "natural", "written"))
    effects_of = families.table("interventions").filter(metric="cosine_anisotropy", minus="untouched")
    tables = {
        "families": at_the_end(families.table("contrasts")),
        "depth": families.table("depth").filter(pl.col("metric").is_in([*VIEWS]), variant="original"),
        "components": component_means(families.table("components")),
        "interventions": effects_of.drop("variant", "minus", "metric", "reason"),
        "doses": families.table("doses"),
        "natural": at_the_end(sentences.table("contrasts")),
        "natural_reviews": at_the_end(natural.table("contrasts")),
        "first_words": pl.concat([by_first_words("sentences", sentences), by_first_words("reviews", natural)]),
        "written": at_the_end(written.table("contrasts")),
        "beyond": pl.concat(
            [
                beyond_disorder("families", families, LADDERS["families"], ["front", "front-inward", "end"]),
                beyond_disorder("written", written, LADDERS["written"], ["written", "front"]),
            ]
        ),
        "penalties": studies["penalty"].table("penalties"),
    }
    made.mkdir(exist_ok=True)
    for name, table in tables.items():
        table.with_columns(pl.selectors.float().fill_nan(None).round_sig_figs(4)).write_csv(made / f"{name}.csv")
    with house_style("report"):
        draw_figures(studies, labels, made)


main(snakemake.params.folders, snakemake.params.labels, Path(snakemake.output.folder))
