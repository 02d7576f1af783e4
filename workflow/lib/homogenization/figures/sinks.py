"""The figure of secondary sinks: the share of reviews in which a token besides the first is one, by its text."""

import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from homogenization.figures.grammar import Panels, handles_of, mark_empty
from homogenization.figures.shown import Shown, Tables, named_in, rows_of
from homogenization.figures.style import LineStyle, variant_styles
from homogenization.figures.words import counted

_KINDS = (
    ("attention", "More than 10 × uniform attention"),
    ("massive", "Massive: > 10 × the median norm over the middle"),
    ("long", "> 10 × the median norm in fewer blocks"),
)
_MOST = 8  # tokens of a panel
_ANY = "any token"
_BLANKS = {" ": "space", "\n": "line break", "": "nothing"}
_SPREAD = 0.5  # of a lane, over which the markers of all variants are spread


def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table sinks: a row for each model, a column for each kind, a marker for each variant.

    A study without any secondary sink has a figure that says so.
    """
    table = rows_of(tables["sinks"], shown)
    variants = named_in(shown.variants, table["variant"])
    styles = variant_styles(variants)
    panels = Panels(("kind", _KINDS), ("model", shown.models), height=2.9)
    for axes, rows in panels.of(table):
        _draw_panel(axes, rows, styles)
    for kind, _ in _KINDS:
        panels.axes[shown.models[-1][0], kind].set_xlabel("Share of the reviews")
    note = (
        "A token besides the first draws attention in a block where it receives more than ten times as much as under "
        "uniform attention and as the mean token; it is massive where its norm is more than ten times the review's "
        "median after at least half of the blocks at depths from .25 to .75, and long where it is so after fewer. In "
        "brackets: the median of its positions (the first token is 0) and of the first and last block, over "
        "all variants."
    )
    if not table.is_empty():  # a table without any such token says nothing of the reviews that were read
        note += f" n = {counted(table['n_read'])}, accepted in their variant."
    return panels.finish(shown.title, note, handles_of(variants, styles))


def _draw_panel(axes: Axes, rows: pl.DataFrame, styles: dict[str, LineStyle]) -> None:
    """A lane for any token and for each of the most frequent texts, the former uppermost."""
    if rows.is_empty():
        mark_empty(axes, "none", ticks=False)
        return
    counts = pl.col("n_reviews").sum().alias("count")
    medians = (pl.col(name).median() for name in ("position", "first_block", "last_block"))
    lanes = rows.group_by("token").agg(counts, *medians)
    order = (pl.col("token").is_null(), pl.col("count"), pl.col("token"))
    lanes = lanes.sort(*order, descending=[True, True, False]).head(_MOST + 1)
    for lane, (token, *_) in enumerate(lanes.iter_rows()):
        for index, (name, style) in enumerate(styles.items()):
            place = lane + _SPREAD * ((index + 0.5) / len(styles) - 0.5)
            found = rows.filter(pl.col("variant") == name, pl.col("token").eq_missing(pl.lit(token, dtype=pl.String)))
            axes.plot(
                found["n_reviews"] / found["n_read"], [place] * len(found), ls="", color=style.colour,
                marker=style.marker, label=name,
            )  # fmt: skip
    axes.set_yticks(range(len(lanes)), [_label(*lane) for lane in lanes.drop("count").iter_rows()])
    axes.set_ylim(len(lanes) - 0.5, -0.5)
    axes.set_xlim(-0.03, 1.03)


def _label(token: str | None, position: float, first_block: float, last_block: float) -> str:
    text = _ANY if token is None else _BLANKS.get(token, f"“{token}”").replace("$", r"\$")  # $ opens mathematics
    return f"{text} ({position:.0f}; {first_block:.0f}–{last_block:.0f})"
