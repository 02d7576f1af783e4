"""Figures of the texts: how similar variants are to the originals, where key phrases stand, and balance."""

import polars as pl
from matplotlib.figure import Figure

from homogenization.figures.grammar import ONE, Panels, Shown, Tables, counted, draw_dots, legend_of, named_in
from homogenization.figures.style import DARK, GREY, MARGIN, ZERO, LineStyle, variant_styles
from homogenization.names.variants import RANDOM_PAIRS
from homogenization.tables.balance import MAX_IMBALANCE


def similarity(tables: Tables, shown: Shown) -> Figure:
    """BERTScore F1 of each text to its original, a lane for each variant and for pairs of unrelated reviews."""
    scored = tables["similarity"].filter(pl.col("f1").is_finite())
    labels = named_in(shown.variants | {RANDOM_PAIRS: "Unrelated reviews"}, scored["variant"])
    styles = variant_styles(shown.variants, shown.ladder) | {RANDOM_PAIRS: LineStyle(GREY)}
    panels = Panels(ONE, height=0.45 * len(labels) + 0.5)
    axes = panels.axes["", ""]
    for place, (name, label) in enumerate(labels.items()):
        of_variant = scored.filter(variant=name)
        if name != RANDOM_PAIRS:
            labels[name] = f"{label}\n{of_variant['accepted'].sum():,} of {len(of_variant):,} accepted"
        look = {"widths": 0.6, "patch_artist": True, "medianprops": {"color": DARK}, "flierprops": {"ms": 2}}
        drawn = axes.boxplot(of_variant["f1"], positions=[place], orientation="horizontal", **look)
        drawn["boxes"][0].set_facecolor((styles[name].colour, 0.6))
    threshold = LineStyle(DARK, "--", width=1.2)
    axes.axvline(shown.threshold, color=threshold.colour, ls=threshold.dashes, lw=threshold.width)
    axes.set(yticks=range(len(labels)), yticklabels=labels.values(), ylim=(max(len(labels), 1) - 0.5, -0.5))
    legend = {f"threshold, F1 = {shown.threshold:g}": threshold}
    return panels.finish(shown, "", legend, x="BERTScore F1, not rescaled", y="")


def placement(tables: Tables, shown: Shown) -> Figure:
    """Where the key phrases of each variant stand in their sentences: shares of phrases up to a position."""
    phrases = tables["similarity"].select("variant", "placements").explode("placements").drop_nulls()
    table = phrases.unnest("placements").drop_nulls(["original_position", "position"])
    labels, styles = named_in(shown.variants, table["variant"]), variant_styles(shown.variants, shown.ladder)
    before = LineStyle(DARK, width=2.2)
    panels = Panels(ONE if labels else {}, height=3.0)
    for axes in panels.axes.values():
        axes.ecdf(table["original_position"], color=before.colour, lw=before.width)
        for name in labels:
            axes.ecdf(table.filter(variant=name)["position"], color=styles[name].colour, ls=styles[name].dashes)
        axes.set(xlim=(-0.02, 1.02), ylim=(0, 1.02))
    bare = {name: style._replace(marker="") for name, style in styles.items()}
    legend = {"the same phrases in the originals": before} | legend_of(labels, bare)
    sizes = table.group_by("variant").agg(n_reviews=pl.len(), mean=pl.lit(0.0))
    around = {"x": "Position in the sentence (0: first, 1: last)", "y": "share of key phrases up to there"}
    return panels.finish(shown, counted(sizes, "key phrase"), legend, **around)


_COVARIATES = {
    "displacement": "displacement of phrases",
    "first_word_changed": "first word changed",
    "tokens": "tokens",
    "f1": "F1",
    "loss_per_word": "loss per word",
}
_MOST = 3.0  # standard deviations; beyond it, a dot stands at the edge


def balance(tables: Tables, shown: Shown) -> Figure:
    """How far each control is from its variant in what else may move a metric (a Love plot)."""
    table = tables["balance"].filter(pl.col("control").is_in(list(shown.variants)))
    lane = pl.concat_str("covariate", pl.col("model").fill_null(""), separator=" ")
    smd = dict.fromkeys(("mean", "ci_low", "ci_high"), pl.col("smd").clip(-_MOST, _MOST))
    table = table.with_columns(lane=lane, filled=pl.col("smd").abs() > MAX_IMBALANCE, **smd)
    models = {"": ""} | {model: f", {label}" for model, label in shown.models.items()}
    lanes = {f"{name} {model}": label + end for name, label in _COVARIATES.items() for model, end in models.items()}
    lanes = named_in(lanes, table["lane"])
    styles = {name: style._replace(dashes="") for name, style in variant_styles(shown.variants, shown.ladder).items()}
    edge = 1.1 * max(2 * MAX_IMBALANCE, table["mean"].fill_nan(None).abs().max() or 0)
    variants, height = named_in(shown.variants, table["variant"]), 0.3 * len(lanes) + 0.6
    panels = Panels(variants, height=height, share="xy", lanes=lanes.values())
    for (_, variant), axes in panels.axes.items():
        rows = table.filter(variant=variant)
        draw_dots(axes, rows, lanes, named_in(styles, rows["control"]), hue="control")
        axes.axvspan(-MAX_IMBALANCE, MAX_IMBALANCE, color=MARGIN, lw=0, zorder=0.5)
        axes.axvline(0, **ZERO)
        axes.set_xlim(-edge, edge)
    roles = {name: f" ({role} control)" if role else "" for name, role in table.select("control", "role").iter_rows()}
    labels = {name: label + roles[name] for name, label in shown.variants.items() if name in roles}
    return panels.finish(
        shown, table, legend_of(labels, styles), x=f"Standardised difference (at most ±{_MOST:g})", y=""
    )
