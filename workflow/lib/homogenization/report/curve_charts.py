"""The two charts of the page of curves: a metric against depth, and the difference of a pair of variants.

All that a reader chooses is a parameter of the specification, bound to an input of the page. A panel is a model. A row
of data names its cell, model, variant, pair and verdicts by their places in lists, which expressions look up.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt

from homogenization.figures.style import BAND, DARK, EDGE, FULL, GREY, GRID, MARGIN, NOTE, STRONG, WHITE, LineStyle
from homogenization.figures.words import DEPTH_LABEL
from homogenization.names.verdicts import DECIDED

# states after the final norm stand right of depth 1: the first, and the distance of the next, within a room
_FINAL, _STEP, _ROOM = 1.06, 0.038, 0.22
_WIDTHS = {1: 720, 2: 440, 3: 275}  # pixels of a panel, by number of columns
_HEIGHT = 200
_MARKS = "Filled marker: decided, corrected for all layers; open: undecided or negligible."
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
    looked_up: Mapping[str, Any], styles: Sequence[LineStyle], chosen: Sequence[alt.Parameter], confidence: float
) -> alt.VConcatChart:
    """Both charts, or the first alone where no variants are compared.

    They draw the data sets `curves` and `differences`: rows as `curve_rows.Rows` has them, with places for names, c of
    a cell, m of a model, v of a variant or p of a pair. A difference that is not tested has the keys m, p and reason.

    Args:
        looked_up: the values of `about`, `cells`, `models`, `variants`, `pairs`, `points` and `verdicts`.
        styles: looks of the variants.
        chosen: the parameters metric, view, m0, m1, … of all models, v0, v1, … of the variants that can be drawn, and
            pair where there are pairs.
        confidence: level of the intervals of differences.
    """
    n_models, inputs = len(looked_up["models"]), {parameter.name for parameter in chosen}
    variants = [f"v{place}" if f"v{place}" in inputs else "false" for place in range(len(styles))]
    expressions = {
        "cell": "about[metric].cells[view]",
        "logarithmic": "isValid(cell) && cells[cell].log",
        "read": f"[{', '.join(f'm{place}' for place in range(n_models))}]",
        "drawn": f"[{', '.join(variants)}]",
    }
    parameters = [
        *(alt.param(name=name, value=value) for name, value in looked_up.items()),
        *chosen,
        *(alt.param(name=name, expr=expression) for name, expression in expressions.items()),
    ]
    look = _Look(styles, n_models, any(None in points["depth"] for points in looked_up["points"]))
    lines = {"gridColor": GRID, "domainColor": EDGE, "tickColor": EDGE}
    return alt.vconcat(
        _levels(look),
        *([_differences(look, confidence)] if looked_up["pairs"] else []),
        spacing=18,
        # `add_params` would copy all charts
        params=[parameter.param for parameter in parameters],
        config=alt.Config(
            font="system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif",
            view=alt.ViewConfig(stroke=None),
            axis=alt.AxisConfig(**lines, labelColor=DARK, titleColor=DARK),
            title=alt.TitleConfig(anchor="start", frame="group", color=DARK),
        ),
    )


def dash_pattern(style: LineStyle) -> list[float]:
    """Lengths of the dashes and gaps of a line, in pixels; matplotlib counts them in widths."""
    return [1, 0] if style.dashes == "-" else [FULL * length for length in style.dashes[1]]


def marker_path(style: LineStyle) -> str:
    """The marker of a variant as a path of SVG, within -1 and 1."""
    return _MARKERS[style.marker]


class _Look:
    """What both charts share: the encodings of variants and of depth, and the grid of panels."""

    def __init__(self, styles: Sequence[LineStyle], n_models: int, has_final_norm: bool) -> None:
        places = list(range(len(styles)))
        colours = alt.Scale(domain=places, range=[style.colour for style in styles])
        self.stroke = alt.Stroke("v:N", scale=colours, legend=None)
        self.fill = alt.Fill("v:N", scale=colours, legend=None)
        dashes = alt.Scale(domain=places, range=[dash_pattern(style) for style in styles])
        self.dash = alt.StrokeDash("v:N", scale=dashes, legend=None)
        shapes = alt.Scale(domain=places, range=[marker_path(style) for style in styles])
        self.shape = alt.Shape("v:N", scale=shapes, legend=None)
        step = min(_STEP, _ROOM / max(len(styles) - 1, 1))
        last = _FINAL + step * (len(styles) - 1)
        self.place_of_final_norm = f"{_FINAL} + {step} * datum.v"
        axis = alt.Axis(
            values=[0, 0.25, 0.5, 0.75, 1, *([(_FINAL + last) / 2] if has_final_norm else [])],
            labelExpr="datum.value > 1 ? 'norm' : toString(datum.value)",
            labelOverlap=False,
            title=DEPTH_LABEL,
            titleFontWeight="normal",
            grid=False,
        )
        ends = [-0.02, last + 0.03 if has_final_norm else 1.02]
        self.x = alt.X("x:Q", scale=alt.Scale(domain=ends, nice=False), axis=axis)
        self.columns = max(columns for columns in _WIDTHS if columns <= n_models)
        self.width = _WIDTHS[self.columns]

    def points(self, *lists: str) -> list:
        """Makes a row for each point of a curve: its place x, layer, reviews, interval, and `lists` with `_here`."""
        return [
            _calculated("i", "datum.reason ? [0] : sequence(length(points[datum.m].layer))"),
            alt.FlattenTransform(flatten=["i"]),
            _calculated("depth", "points[datum.m].depth[datum.i]"),
            _calculated("final", "datum.depth === null"),
            _calculated("x", f"datum.final ? {self.place_of_final_norm} : datum.depth"),
            _calculated("layer", "datum.final ? 'after the final norm' : toString(points[datum.m].layer[datum.i])"),
            _calculated("reviews", "isArray(datum.n) ? datum.n[datum.i] : datum.n"),
            *(_calculated(f"{name}_here", f"datum.reason ? null : datum.{name}[datum.i]") for name in lists),
            _calculated("low_here", "isValid(datum.below_here) ? datum.mean_here - datum.below_here : null"),
            _calculated("reach", "datum.reason ? null : (datum.above || datum.below)[datum.i]"),
            _calculated("high_here", "isValid(datum.reach) ? datum.mean_here + datum.reach : null"),
            _calculated("interval", "format(datum.low_here, '.4~r') + ' to ' + format(datum.high_here, '.4~r')"),
            _calculated("model", "models[datum.m]"),
        ]

    def curves(self, names: Sequence[str], axis: alt.Axis, fill: Any, tooltip: Sequence, **markers: Any) -> list:
        """Line, band and markers of the columns `names` (mean, low, high), and around a marker room for a tooltip."""
        mean, low, high = names
        scale = alt.Scale(zero=False)
        y, y_low, y_high = alt.Y(mean, scale=scale, axis=axis), alt.Y(low, scale=scale, axis=axis), alt.Y2(high)
        there = alt.Chart().transform_filter(f"isValid(datum.{mean.partition(':')[0]})")
        final = there.transform_filter("datum.final").mark_rule(strokeWidth=STRONG)
        # a line is broken where a layer has no value
        curve = alt.Chart().transform_filter("!datum.final && !datum.reason")
        return [
            curve.mark_area(opacity=BAND["alpha"]).encode(self.x, y_low, y_high, self.fill),
            curve.mark_line(strokeWidth=FULL).encode(self.x, y, self.stroke, self.dash),
            final.encode(self.x, y_low, y_high, self.stroke),
            there.mark_point(size=34, strokeWidth=STRONG, opacity=1).encode(
                self.x, y, self.shape, self.stroke, fill=fill, **markers
            ),
            there.mark_circle(size=260, opacity=0).encode(
                self.x,
                y,
                tooltip=[
                    alt.Tooltip("model:N", title="model"),
                    *tooltip,
                    alt.Tooltip("layer:N", title="layer"),
                    alt.Tooltip("depth:Q", title="depth", format=".2~f"),
                    alt.Tooltip("mean_here:Q", title="mean", format=".4~r"),
                    alt.Tooltip("interval:N", title="interval"),
                    alt.Tooltip("reviews:Q", title="reviews"),
                ],
            ),
        ]

    def panels(
        self, data: str, transform: list, layers: list[alt.Chart], *, title: str, words: str
    ) -> alt.VConcatChart:
        """A panel for each model that is chosen, below a title and `words`, both as Vega expressions."""
        header = alt.Header(
            labelExpr="models[datum.value]",
            labelLimit=self.width,
            labelFontWeight="bold",
            labelFontSize=12,
            labelColor=DARK,
        )
        panels = alt.FacetChart(
            data=alt.NamedData(name=data),
            transform=transform,
            facet=alt.Facet("m:O", title=None, header=header),
            spec=alt.layer(*layers).properties(width=self.width, height=_HEIGHT),
            columns=self.columns,
            # a subtitle can't be an expression
            title=alt.TitleParams(text=alt.expr(words), fontSize=12, fontWeight="normal", color=NOTE, offset=6),
            # panels stand at the same places, whatever room their labels take
            bounds="flush",
            spacing=alt.RowColnumber(row=70, column=62),
            resolve=alt.Resolve(scale=alt.ScaleResolveMap(y="independent")),
        )
        return alt.vconcat(panels, title=alt.TitleParams(text=alt.expr(title), fontSize=15, offset=4))


def _calculated(name: str, expression: str) -> alt.CalculateTransform:
    return alt.CalculateTransform(calculate=expression, **{"as": name})


def _levels(look: _Look) -> alt.VConcatChart:
    """The chosen metric of the chosen variants. A vertical scale can't be chosen, so that of logarithms is linear."""
    logarithm = "logarithmic ? ({0} > 0 ? log({0}) / LN10 : null) : {0}"
    transform = [
        alt.FilterTransform("datum.c === cell && read[datum.m] && drawn[datum.v]"),
        *look.points("mean", "below"),
        *(_calculated(name, logarithm.format(f"datum.{name}_here")) for name in ("mean", "low", "high")),
        _calculated("variant", "variants[datum.v]"),
    ]
    ticks = "logarithmic ? format(pow(10, datum.value), '.2~r') : datum.label"
    layers = look.curves(
        ("mean:Q", "low:Q", "high:Q"),
        alt.Axis(title=None, tickCount=5, labelExpr=ticks),
        alt.condition("datum.final", alt.value(WHITE), look.fill),
        [alt.Tooltip("variant:N", title="variant")],
    )
    words = (
        "isValid(cell) ? [about[metric].definition, 'Vertical axis: ' + about[metric].label + "
        "(logarithmic ? ', log scale. ' : '. ') + 'Line: mean over reviews; band: its 95 % interval.'] : "
        "'This view of the metric was left out to keep the page small; the tables have it.'"
    )
    title = "about[metric].title + (isValid(cell) ? ': ' + cells[cell].view : '')"
    return look.panels("curves", transform, layers, title=title, words=words)


def _differences(look: _Look, confidence: float) -> alt.VConcatChart:
    """The difference of the chosen pair in the chosen metric, with the band in which it is negligible."""
    transform = [
        alt.FilterTransform("datum.p === pair && read[datum.m] && isValid(cell) && cells[cell].contrasted"),
        alt.FilterTransform("datum.c === cell || datum.reason"),
        _calculated("v", "pairs[datum.p].place"),
        *look.points("mean", "below", "verdict"),
        _calculated("pair", "pairs[datum.p].label"),
        _calculated("verdict", "verdicts[datum.verdict_here]"),
        _calculated("share", "isValid(datum.range) ? datum.mean_here / datum.range : null"),
        _calculated("minus_bound", "-datum.bound"),
        _calculated("negligible", "isValid(datum.bound) ? '±' + format(datum.bound, '.3~r') : 'no size'"),
    ]
    axis = alt.Axis(title=None, tickCount=5)
    once = alt.Chart().transform_filter("datum.i === 0")
    band = once.transform_filter("isValid(datum.bound)").mark_rect(color=MARGIN, opacity=0.7)
    zero = once.transform_filter("!datum.reason").mark_rule(color=DARK, strokeWidth=1)
    reason = once.transform_filter("datum.reason").mark_text(color=GREY, fontSize=12, lineBreak="\n")
    layers = [
        band.encode(y=alt.Y("minus_bound:Q", axis=axis), y2="bound:Q"),
        zero.encode(y=alt.YDatum(0)),
        *look.curves(
            ("mean_here:Q", "low_here:Q", "high_here:Q"),
            axis,
            alt.condition(f"test(/{'|'.join(DECIDED)}/, datum.verdict)", look.fill, alt.value(WHITE)),
            [
                alt.Tooltip("pair:N", title="difference"),
                alt.Tooltip("verdict:N", title="verdict"),
                alt.Tooltip("share:Q", title="share of what depth does", format="+.1%"),
                alt.Tooltip("negligible:N", title="negligible within"),
            ],
        ),
        reason.encode(text="reason:N", x=alt.value(look.width / 2), y=alt.value(_HEIGHT / 2)),
    ]
    side = (
        "about[metric].sign === 0 ? '' : (about[metric].sign > 0 ? 'Above' : 'Below') + ' zero, the tokens of ' + "
        "variants[pairs[pair].place] + ' are more alike.'"
    )
    words = (
        "!isValid(cell) ? '' : !cells[cell].contrasted ? 'This metric is not compared between variants; the key "
        "contrasts.metrics of the configuration names those that are.' : ['Mean over the reviews accepted in both "
        f"variants whose texts differ; band: its {100 * confidence:.4g} % interval. Grey: negligible.', '{_MARKS}', "
        f"{side}]"
    )
    return look.panels("differences", transform, layers, title="'Difference: ' + pairs[pair].label", words=words)
