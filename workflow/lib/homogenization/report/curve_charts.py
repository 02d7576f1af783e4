"""The two charts of the page of curves: a metric against depth, and the difference of a pair of variants.

All that a reader chooses is a parameter of the specification, bound to an input of the page. A panel is a model. Numbers
in a row of data are places in `cells`, `models`, `variants`, `pairs` and `verdicts`, which expressions look up.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from homogenization.figures.style import DARK, GREY, VariantStyle

_NEGLIGIBLE_COLOUR = "#d9d9d9"
_FINAL, _STEP, _ROOM = 1.06, 0.038, 0.22  # places of states after the final norm, right of depth 1
_WIDTHS = {1: 720, 2: 440, 3: 275}  # pixels of a panel, by number of columns
_HEIGHT = 200
_MARKERS = {  # of matplotlib -> as a path of SVG, within -1 and 1
    "o": "M-.9,0A.9,.9,0,1,1,.9,0A.9,.9,0,1,1,-.9,0Z",
    "^": "M0,-1L1,.8L-1,.8Z",
    "v": "M0,1L1,-.8L-1,-.8Z",
    "<": "M-1,0L.8,-1L.8,1Z",
    ">": "M1,0L-.8,-1L-.8,1Z",
    "s": "M-.8,-.8L.8,-.8L.8,.8L-.8,.8Z",
    "D": "M0,-1L1,0L0,1L-1,0Z",
    "P": "M-.35,-1L.35,-1L.35,-.35L1,-.35L1,.35L.35,.35L.35,1L-.35,1L-.35,.35L-1,.35L-1,-.35L-.35,-.35Z",
    "X": "M-1,-.5L-.5,-1L0,-.5L.5,-1L1,-.5L.5,0L1,.5L.5,1L0,.5L-.5,1L-1,.5L-.5,0Z",
    "*": "M0,-1.1L.27,-.34L1.05,-.34L.43,.14L.65,.9L0,.46L-.65,.9L-.43,.14L-1.05,-.34L-.27,-.34Z",
    "p": "M0,-1L.95,-.31L.59,.81L-.59,.81L-.95,-.31Z",
}


def charts(
    looked_up: Mapping[str, Any], styles: Sequence[VariantStyle], chosen: Sequence[alt.Parameter], confidence: float
) -> alt.VConcatChart:
    """Both charts, or the first alone where no variants are compared.

    They draw two data sets. `curves` has the keys c, m, v (places of a cell, a model and a variant), n, mean, low and
    high; `differences` c, m, p (place of a pair), n, mean, low, high, verdict, share and bound, and rows with m, p and
    reason alone for what is not tested.

    Args:
        looked_up: the values of `about`, `cells`, `models`, `variants`, `pairs`, `points`, `verdicts`.
        styles: looks of the variants.
        chosen: the parameters metric, view, m0, m1, … of all models, v0, v1, … of the variants that can be drawn, and
            pair where there are pairs.
        confidence: level of the intervals of differences.
    """
    models, variants = looked_up["models"], looked_up["variants"]
    final_norms = any(depth is None for model in looked_up["points"] for depth in model["depth"])
    step = min(_STEP, _ROOM / max(len(variants) - 1, 1))
    look = _Look(styles, _FINAL, step, _FINAL + step * (len(variants) - 1) if final_norms else None, len(models))
    of_inputs = [parameter.param for parameter in chosen]
    inputs = {parameter.name for parameter in chosen}
    of_variants = [f"v{place}" for place in range(len(variants))]
    found = [
        alt.param(name="cell", expr="about[metric].cells[view]").param,
        alt.param(name="logarithmic", expr="isValid(cell) && cells[cell].log").param,
        alt.param(name="reads", expr=f"[{', '.join(f'm{place}' for place in range(len(models)))}]").param,
        alt.param(
            name="draws", expr=f"[{', '.join(name if name in inputs else 'false' for name in of_variants)}]"
        ).param,
    ]
    parts = [_levels(look)] + ([_differences(look, confidence)] if looked_up["pairs"] else [])
    axis = {"gridColor": "#e6e6e6", "domainColor": "#555555", "tickColor": "#555555", "labelColor": DARK}
    return alt.vconcat(
        *parts,
        spacing=18,
        params=[*(alt.param(name=name, value=value).param for name, value in looked_up.items()), *of_inputs, *found],
        config=alt.Config(
            font="system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif",
            view=alt.ViewConfig(stroke=None),
            axis=alt.AxisConfig(**axis, titleColor=DARK),
            title=alt.TitleConfig(anchor="start", frame="group", color=DARK),
        ),
    )


class _Look:
    """What both charts share: scales, axes and the size of a panel."""

    def __init__(
        self, styles: Sequence[VariantStyle], final: float, step: float, last: float | None, n_models: int
    ) -> None:
        places = list(range(len(styles)))
        colours = alt.Scale(domain=places, range=[style.colour for style in styles])
        self.stroke = alt.Stroke("v:N", scale=colours, legend=None)
        self.fill = alt.Fill("v:N", scale=colours, legend=None)
        dashes = alt.Scale(domain=places, range=[dash_pattern(style) for style in styles])
        self.dash = alt.StrokeDash("v:N", scale=dashes, legend=None)
        shapes = alt.Scale(domain=places, range=[marker_path(style) for style in styles])
        self.shape = alt.Shape("v:N", scale=shapes, legend=None)
        ticks = [0, 0.25, 0.5, 0.75, 1]
        middle = [] if last is None else [(final + last) / 2]
        self.x = alt.X(
            "x:Q",
            scale=alt.Scale(domain=[-0.02, 1.02 if last is None else last + 0.03], nice=False),
            axis=alt.Axis(
                values=ticks + middle,
                labelExpr="datum.value > 1 ? 'norm' : datum.label",
                format="~g",
                labelOverlap=False,
                title="Relative depth (layer / blocks)" + "; norm: after the final norm" * bool(middle),
                titleFontWeight="normal",
                titleFontSize=11,
                grid=False,
            ),
        )
        self.place = f"{final} + {step} * datum.v"
        self.columns = max(columns for columns in _WIDTHS if columns <= n_models)

    def panels(self, layers: list[alt.Chart], data: str, transform: list, title: str, words: str) -> alt.VConcatChart:
        """A panel for each model that is chosen, below a title and `words`, both as Vega expressions."""
        header = alt.Header(labelExpr="models[datum.value]", labelFontWeight="bold", labelFontSize=12, labelColor=DARK)
        panels = alt.FacetChart(
            data=alt.NamedData(name=data),
            transform=transform,
            facet=alt.Facet("m:O", title=None, header=header),
            spec=alt.layer(*layers).properties(width=_WIDTHS[self.columns], height=_HEIGHT),
            columns=self.columns,
            # a subtitle can't be an expression
            title=alt.TitleParams(text=alt.expr(words), fontSize=12, fontWeight="normal", color="#444444", offset=6),
            # panels stand at the same places, whatever their labels take
            bounds="flush",
            spacing=alt.RowColnumber(row=70, column=62),
            resolve=alt.Resolve(scale=alt.ScaleResolveMap(y="independent")),
        )
        return alt.vconcat(panels, title=alt.TitleParams(text=alt.expr(title), fontSize=15, offset=4))

    def unfolded(self, numbers: Sequence[str]) -> list:
        """A row for each point of each curve, with its place on the horizontal axis, its layer and number of reviews."""
        return [
            _calculated("i", "datum.reason ? [0] : sequence(length(points[datum.m].layer))"),
            alt.FlattenTransform(flatten=["i"]),
            _calculated("depth", "points[datum.m].depth[datum.i]"),
            _calculated("final", "datum.depth === null"),
            _calculated("x", f"datum.final ? {self.place} : datum.depth"),
            _calculated("layer", "datum.final ? 'after the final norm' : toString(points[datum.m].layer[datum.i])"),
            _calculated("reviews", "isArray(datum.n) ? datum.n[datum.i] : datum.n"),
            *(_calculated(f"{name}_here", f"datum.reason ? null : datum.{name}[datum.i]") for name in numbers),
            _calculated("interval", "format(datum.low_here, '.4~r') + ' to ' + format(datum.high_here, '.4~r')"),
        ]


def _calculated(name: str, expression: str) -> alt.CalculateTransform:
    return alt.CalculateTransform(calculate=expression, **{"as": name})


def dash_pattern(style: VariantStyle) -> list[float]:
    """The dashes and gaps of a line 1.6 pixels wide; matplotlib counts them in widths."""
    return [1, 0] if style.dashes == "-" else [1.6 * length for length in style.dashes[1]]


def marker_path(style: VariantStyle) -> str:
    """The marker of a variant as a path of SVG, within -1 and 1."""
    return _MARKERS[style.marker]


def _points(base: alt.Chart, look: _Look, y: Any, fill: Any, tooltip: list, **encoding: Any) -> list[alt.Chart]:
    """Markers, and around each an area that shows its numbers."""
    valid = base.transform_filter("isValid(datum.mean_here)")
    return [
        valid.mark_point(size=34, strokeWidth=1.2, opacity=1).encode(
            look.x, y, look.shape, look.stroke, fill=fill, **encoding
        ),
        valid.mark_circle(size=260, opacity=0, stroke=None).encode(look.x, y, tooltip=tooltip),
    ]


def _tooltip(*between: alt.Tooltip) -> list[alt.Tooltip]:
    return [
        alt.Tooltip("model:N", title="model"),
        *between,
        alt.Tooltip("layer:N", title="layer"),
        alt.Tooltip("depth:Q", title="depth", format=".2~f"),
        alt.Tooltip("mean_here:Q", title="mean", format=".4~r"),
        alt.Tooltip("interval:N", title="interval"),
        alt.Tooltip("reviews:Q", title="reviews"),
    ]


def _levels(look: _Look) -> alt.VConcatChart:
    numbers = ("mean", "low", "high")
    transform = [
        alt.FilterTransform(filter="datum.c === cell && reads[datum.m] && draws[datum.v]"),
        *look.unfolded(numbers),
        *(
            _calculated(
                f"y_{name}",
                f"logarithmic ? (datum.{name}_here > 0 ? log(datum.{name}_here) / LN10 : null) : datum.{name}_here",
            )
            for name in numbers
        ),
        _calculated("model", "models[datum.m]"),
        _calculated("variant", "variants[datum.v]"),
    ]
    axis = alt.Axis(
        title=None, tickCount=5, labelExpr="logarithmic ? format(pow(10, datum.value), '.2~r') : datum.label"
    )
    y = alt.Y("y_mean:Q", scale=alt.Scale(zero=False), axis=axis)
    low, high = alt.Y("y_low:Q", axis=axis, scale=alt.Scale(zero=False)), alt.Y2("y_high:Q")
    base = alt.Chart()
    curve, final = base.transform_filter("!datum.final"), base.transform_filter("datum.final && isValid(datum.y_mean)")
    layers = [
        curve.mark_area(opacity=0.18).encode(look.x, low, high, look.fill),
        curve.mark_line(strokeWidth=1.6).encode(look.x, y, look.stroke, look.dash),
        final.mark_rule(strokeWidth=1.2).encode(look.x, low, high, look.stroke),
        *_points(
            base,
            look,
            y,
            alt.condition("datum.final", alt.value("white"), look.fill),
            _tooltip(alt.Tooltip("variant:N")),
        ),
    ]
    missing = "This view of the metric was left out to keep the page small; the tables have it."
    title = "about[metric].title + (isValid(cell) ? ': ' + cells[cell].view : '')"
    words = (
        f"!isValid(cell) ? '{missing}' : [about[metric].definition, 'Vertical axis: ' + about[metric].label + "
        "(logarithmic ? ', log scale. ' : '. ') + 'Line: mean over reviews; band: its 95 % interval.']"
    )
    return look.panels(layers, "curves", transform, title, words)


def _differences(look: _Look, confidence: float) -> alt.VConcatChart:
    numbers = ("mean", "low", "high", "verdict", "share")
    transform = [
        alt.FilterTransform(
            filter="datum.p === pair && reads[datum.m] && isValid(cell) && cells[cell].contrasted && "
            "(datum.c === cell || datum.reason)"
        ),
        _calculated("v", "pairs[datum.p].place"),
        *look.unfolded(numbers),
        _calculated("model", "models[datum.m]"),
        _calculated("pair", "pairs[datum.p].label"),
        _calculated("verdict_name", "verdicts[datum.verdict_here]"),
        _calculated("minus_bound", "datum.bound === null ? null : -datum.bound"),
        _calculated("negligible", "datum.bound === null ? 'none' : '±' + format(datum.bound, '.3~r')"),
    ]
    axis = alt.Axis(title=None, tickCount=5)
    y = alt.Y("mean_here:Q", axis=axis)
    low, high = alt.Y("low_here:Q", axis=axis), alt.Y2("high_here:Q")
    base = alt.Chart()
    once = base.transform_filter("datum.i === 0")
    tested = base.transform_filter("!datum.reason")
    curve, final = (
        tested.transform_filter("!datum.final"),
        tested.transform_filter("datum.final && isValid(datum.mean_here)"),
    )
    decided = "datum.verdict_name !== 'undecided' && indexof(datum.verdict_name, 'negligible') < 0"
    between = _tooltip(
        alt.Tooltip("pair:N", title="difference"),
        alt.Tooltip("verdict_name:N", title="verdict"),
    ) + [
        alt.Tooltip("share_here:Q", title="share of what depth does", format="+.1%"),
        alt.Tooltip("negligible:N", title="negligible within"),
    ]
    layers = [
        once.mark_rect(color=_NEGLIGIBLE_COLOUR, opacity=0.7).encode(
            y=alt.Y("minus_bound:Q", axis=axis), y2=alt.Y2("bound:Q")
        ),
        once.mark_rule(color=DARK, strokeWidth=1).encode(y=alt.YDatum(0)),
        curve.mark_area(opacity=0.2).encode(look.x, low, high, look.fill),
        curve.mark_line(strokeWidth=1.6).encode(look.x, y, look.stroke, look.dash),
        final.mark_rule(strokeWidth=1.2).encode(look.x, low, high, look.stroke),
        *_points(
            tested,
            look,
            y,
            alt.condition(decided, look.fill, alt.value("white")),
            between,
            fillOpacity=alt.condition("indexof(datum.verdict_name, 'fragile') >= 0", alt.value(0.4), alt.value(1)),
        ),
        base.transform_filter("datum.reason")
        .mark_text(color=GREY, fontSize=12, lineBreak="\n", baseline="middle")
        .encode(text="reason:N", x=alt.value(_WIDTHS[look.columns] / 2), y=alt.value(_HEIGHT / 2)),
    ]
    side = (
        "(about[metric].sign > 0 ? 'Above' : 'Below') + ' zero, the tokens of ' + variants[pairs[pair].place] + "
        "' are more alike.'"
    )
    words = (
        "!isValid(cell) ? '' : !cells[cell].contrasted ? 'This metric is not compared between variants; the key "
        "contrasts.metrics of the configuration names those that are.' : ['Mean over the reviews accepted in both variants "
        f"whose texts differ; band: its {100 * confidence:.4g} % interval. Grey: negligible.', 'Filled marker: higher or "
        "lower, corrected for all layers; pale: so, but fragile; open: undecided or negligible.', "
        f"about[metric].sign === 0 ? '' : {side}]"
    )
    return look.panels(layers, "differences", transform, "'Difference: ' + pairs[pair].label", words)
