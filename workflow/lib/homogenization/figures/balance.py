"""The figure of balance (a Love plot): how far each control is from its variant in what else may move a metric."""

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from homogenization.figures.grammar import Panels, handles_of, mark_empty
from homogenization.figures.shown import Named, Shown, Tables, named_in, names_of, require_rows
from homogenization.figures.style import ALIKE, GREY, LIGHT, REFERENCE, WHITE, variant_styles
from homogenization.figures.words import counted
from homogenization.tables.comparisons import BALANCE_SCHEMA

COLUMNS = {"balance": BALANCE_SCHEMA}
_LABELS = {
    "displacement": "displacement of phrases",
    "order": "order of phrases",
    "phrases_together": "phrases together",
    "bigrams_kept": "bigrams kept",
    "sentences_changed": "sentences changed",
    "first_word_changed": "first word changed",
    "words": "words",
    "tokens_per_word": "tokens per word",
    "f1": "F1",
    "loss_per_word": "loss per word",
}
_ROW, _AROUND = 0.26, 0.75  # inches of a covariate, and of title and axis
_TICKS = (1, 10, 100)


def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table balance: a panel a variant, a row a covariate, a point a control."""
    names = names_of(shown.variants)
    of_models = pl.col("model").is_null() | pl.col("model").is_in(names_of(shown.models))
    table = tables["balance"].filter(of_models, pl.col("variant").is_in(names), pl.col("control").is_in(names))
    require_rows(table, shown, f"variants {', '.join(names)}", tables["balance"]["variant"])
    variants = named_in(shown.variants, table["variant"])
    covariates = _covariates(table, shown.models)
    height = _ROW * len(covariates) + _AROUND
    panels = Panels(("variant", variants), height=height, most_columns=3, share_y=True)
    limit = _limit(table["smd"], shown.max_imbalance)
    for axes, rows in panels.of(table):
        _draw_panel(axes, rows, covariates, shown, limit)
    panels.label("Standardised difference", "Covariate")
    roles = dict(table.select("control", "role").iter_rows())
    styles = variant_styles(shown.variants, roles)
    labels = {name: f"{label} ({roles[name]} control)" if roles.get(name) else label for name, label in shown.variants}
    handles = handles_of(list(labels.items()), styles, ls="", ms=6)
    note = (
        "Standardised: the mean of a variant minus that of its control, over the pooled standard deviation between "
        f"reviews, on the reviews that are accepted in both (n = {counted(table['n_reviews'])}). Filled: out of "
        f"balance, beyond ±{shown.max_imbalance:g} (dashed). Within these bounds the axis is linear, "
        "outside logarithmic; ∞: the means differ and no review departs from them."
    )
    return panels.finish(shown.title, note, handles)


def _covariates(table: pl.DataFrame, models: Named) -> list[tuple[str, str | None, str]]:
    """(covariate, model, label) of each row that the table has values for, from the top."""
    present = set(table.select("covariate", "model").iter_rows())
    of_models = [(model, f", {label}") for model, label in models]
    return [
        (covariate, model, label + of_model)
        for covariate, label in _LABELS.items()
        for model, of_model in [(None, ""), *of_models]
        if (covariate, model) in present
    ]


def _limit(differences: pl.Series, bound: float) -> float:
    """End of the axis: beyond all finite values, with room for infinite ones."""
    finite = differences.filter(differences.is_finite()).abs().max() or 0.0
    return 1.5 * max(finite, 2 * bound) * (2 if differences.is_infinite().any() else 1)


def _draw_panel(
    axes: Axes, table: pl.DataFrame, covariates: list[tuple[str, str | None, str]], shown: Shown, limit: float
) -> None:
    bound = shown.max_imbalance
    axes.set_xscale("symlog", linthresh=bound)
    axes.set(xlim=(-limit, limit), ylim=(len(covariates) - 0.5, -0.5))
    axes.axvspan(-bound, bound, color=ALIKE, zorder=0)
    axes.axvline(0, color=GREY, lw=LIGHT)
    for edge in (-bound, bound):
        axes.axvline(edge, **REFERENCE)
    ticks = [bound, *(tick for tick in _TICKS if 3 * bound < tick < limit)]
    axes.xaxis.set_major_locator(FixedLocator([*(-tick for tick in ticks), 0, *ticks]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.tick_params(axis="x", labelsize=8)
    axes.set_yticks(range(len(covariates)), [label for *_, label in covariates])
    if not table["smd"].is_not_nan().any():
        mark_empty(axes, "too few reviews")
    styles = variant_styles(shown.variants)
    controls = [name for name in names_of(shown.variants) if name in set(table["control"])]
    for index, control in enumerate(controls):
        rows = table.filter(control=control)
        found = {(covariate, model): smd for covariate, model, smd in rows.select("covariate", "model", "smd").rows()}
        colour, marker = styles[control].colour, styles[control].marker
        for row, (covariate, model, _) in enumerate(covariates):
            smd = found.get((covariate, model), np.nan)
            if np.isnan(smd):
                continue
            height = row + 0.22 * (index - (len(controls) - 1) / 2)
            place = np.clip(smd, -0.75 * limit, 0.75 * limit)
            fill = colour if abs(smd) > bound else WHITE
            axes.plot(place, height, marker, color=colour, mfc=fill, ms=6, label=control, clip_on=False)
            if np.isinf(smd):
                axes.annotate("∞", (place, height), (6 * np.sign(smd), 0), textcoords="offset points", va="center",
                              ha="left" if smd > 0 else "right", fontsize=9)  # fmt: skip
