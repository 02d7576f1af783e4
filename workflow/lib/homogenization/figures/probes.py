"""The figure of probes: what a linear probe finds in pooled states by depth, beside the same with permuted labels."""

import polars as pl
from matplotlib.figure import Figure

from homogenization.figures.grammar import DEPTH_LABEL, DEPTH_NOTE, ESTIMATE, Panels, handle, handles_of
from homogenization.figures.read_texts import read_texts
from homogenization.figures.shown import Shown, Tables
from homogenization.figures.style import GREY, LineStyle
from homogenization.figures.words import counted
from homogenization.names.variants import ORIGINAL

_QUANTITIES = {"log_loss": "log-loss of the label (nats)", "accuracy": "share of right guesses"}
_NULL = LineStyle(GREY, (0, (1, 1.5)))


def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table probes: rows log-loss and accuracy, columns models, lines texts."""
    table, texts, models, styles = read_texts(tables["probes"], shown, "probes of the untouched models")
    is_null = pl.col("quantity").str.starts_with("null_")
    null = table.filter(is_null).with_columns(pl.col("quantity").str.strip_prefix("null_"))
    panels = Panels(
        ("model", models), ("quantity", [(quantity, "") for quantity in _QUANTITIES]), height=2.4, share_y=True
    )
    panels.lines(null, {ORIGINAL: _NULL}, y=ESTIMATE[:1], label="null")
    panels.lines(table, {ORIGINAL: styles[ORIGINAL]} if ORIGINAL in styles else {}, y=ESTIMATE)
    others = {name: style for name, style in styles.items() if name != ORIGINAL}
    panels.lines(table, others, y=ESTIMATE[:1])
    panels.depth_axis()
    panels.fit(table, "estimate")
    panels.label(DEPTH_LABEL, _QUANTITIES)
    handles = [*handles_of(texts, styles), handle("original, labels permuted", _NULL)]
    note = (
        "Line: mean over reviews of a logistic regression of pooled states, trained on the originals of other reviews; "
        f"band: the 95 % interval of the original. n = {counted(table['n_reviews'])}. {DEPTH_NOTE}"
    )
    return panels.finish(shown.title, note, handles)
