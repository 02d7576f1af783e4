"""The figure of probes: what a linear probe finds in pooled states by depth, beside the same with permuted labels."""

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from homogenization.figures.curves import DEPTH_LABEL, DEPTH_NOTE, draw_depth_curves, set_depth_axis
from homogenization.figures.panels import counted, finish, fit_vertical_axis, label_outer, panel_grid, variant_handles
from homogenization.figures.read_texts import read_texts
from homogenization.figures.shown import Shown, Tables
from homogenization.figures.style import GREY, house_style
from homogenization.vocabulary.variants import ORIGINAL

_QUANTITIES = {"log_loss": "log-loss of the label (nats)", "accuracy": "share of right guesses"}
_VALUES = ("estimate", "ci_low", "ci_high")


@house_style()
def draw(tables: Tables, shown: Shown) -> Figure:
    """The figure from the table probes: rows log-loss and accuracy, columns models, lines texts.

    Raises:
        HomogenizationError: the table holds no untouched run of these models.
    """
    read = read_texts(tables["probes"], shown, "probes of the untouched models")
    table, styles = read.table, read.styles
    figure, panels = panel_grid(read.models, [(quantity, "") for quantity in _QUANTITIES], row_height=2.4, share_y=True)
    for (quantity, model), axes in panels.items():
        rows = table.filter(model=model, quantity=quantity)
        null = table.filter(model=model, variant=ORIGINAL, quantity=f"null_{quantity}").sort("depth")
        axes.plot(null["depth"], null["estimate"], color=GREY, ls=(0, (1, 1.5)), lw=1.6, label="null")
        original = {name: style for name, style in styles.items() if name == ORIGINAL}
        others = {name: style for name, style in styles.items() if name != ORIGINAL}
        draw_depth_curves(axes, rows, original, _VALUES)
        draw_depth_curves(axes, rows, others, ("estimate",) * 3)
        set_depth_axis(axes, 0)
        fit_vertical_axis(axes, rows["estimate"], False)
    label_outer(panels, DEPTH_LABEL, _QUANTITIES)
    handles = variant_handles(read.texts, styles, set(styles))
    handles.append(Line2D([], [], color=GREY, ls=(0, (1, 1.5)), label="original, labels permuted"))
    note = (
        "Line: mean over reviews of a logistic regression of pooled states, trained on the originals of other reviews; "
        f"band: the 95 % interval of the original. n = {counted(table['n_reviews'])}. {DEPTH_NOTE}"
    )
    return finish(figure, shown.title, note, handles)
