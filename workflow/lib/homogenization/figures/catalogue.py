"""Every figure by name: its title, its place in the report, its tables, and the condition under which a study draws it.

To add a figure, add one entry here, its name in a rule of workflow/rules/figures.smk, a function of its name in a
module of this package, and a caption of its name in workflow/report. The function takes `tables` and `shown`, returns
the figure, and raises HomogenizationError where its first table has no rows of what is shown. This module is pure data
that the Snakefile reads: no plotting library.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from homogenization.figures.view_labels import view_label
from homogenization.metrics.catalogue import describe_metric

# What a first look at a study needs; of the figures of a metric, the report lists these.
HEADLINE_METRICS = ("normalized_effective_rank", "max_explainable_variance", "cosine_anisotropy")

# The figure `first_token` shows those of these metrics that are configured.
_FIRST_TOKEN_METRICS = (
    "first_token_norm",
    "other_token_norm",
    "first_token_energy_share",
    "first_token_attention_share",
    "cosine_to_first_token",
)


@dataclass(frozen=True)
class Figure:
    """The description of a figure before it is drawn, or of the figures of one kind, which one job draws.

    Attributes:
        name: name of the function that draws it and of its caption.
        module: module of this package that has the function.
        title: text above the figure where the configuration gives no other; of a kind, what stands before the title of
            the metric, "" for nothing.
        category: heading in the report, below which the entry of the figure is its title.
        tables: files in results/tables that it is drawn from; messages name the first.
        shows: fields of `shown.Shown` that it uses besides the title; edits of other fields do not redraw it.
        variants: the variants of a study that it can show; the labels of others do not redraw it.
        when: test whether a study (`config.study.Study`) draws it.
        each: names of the files of a kind in `folder`, for a study, with the fields of `shown.Shown` that are of this
            file alone and are no matter of its metric.
        folder: folder of the files of a kind; "" for a single figure.
        reported: test whether the report shows the file of a kind, by its fields.
    """

    name: str
    module: str
    title: str
    category: str
    tables: tuple[str, ...]
    shows: tuple[str, ...] = ("models", "variants")
    variants: Callable[[Any], Iterable[str]] = lambda study: study.variants
    when: Callable[[Any], Any] = lambda study: True
    each: Callable[[Any], Mapping[str, Mapping[str, Any]]] | None = None
    folder: str = ""
    reported: Callable[[Mapping[str, Any]], bool] = lambda fields: True

    def files(self, study: Any) -> dict[str, Mapping[str, Any]]:
        """Its files in results/figures for `study`, without suffixes, each with its fields (`each`)."""
        each = self.each(study) if self.each else {"": {}}
        return {"/".join(filter(None, (self.folder or self.name, name))): fields for name, fields in each.items()}


def _by_metric(metrics: Callable[[Any], Sequence[str]]) -> Callable[[Any], dict[str, dict[str, str]]]:
    """A file for each of the metrics of a study."""
    return lambda study: {metric: {"metric": metric} for metric in metrics(study)}


def _by_metric_and_view(study: Any) -> dict[str, dict[str, str]]:
    """A file for each contrasted metric that is drawn, and each view in which it is."""
    return {
        f"{metric}/{view}": {"metric": metric, "view": view}
        for metric in study.drawn_contrasts
        for view in study.drawn_views(metric)
    }


def _is_headline(fields: Mapping[str, Any]) -> bool:
    return fields["metric"] in HEADLINE_METRICS


_ENTRIES = (
    Figure(
        name="metric",
        module="lines",
        title="",
        category="Metrics",
        tables=("summary.parquet",),
        shows=("metric", "label", "views", "models", "variants", "min_reviews"),
        each=_by_metric(lambda study: study.drawn_metrics),
        folder="metrics",
        reported=_is_headline,
    ),
    Figure(
        name="mauve",
        module="lines",
        title="MAUVE between consecutive layers",
        category="Metrics",
        tables=("mauve.parquet",),
        shows=("models", "variants", "mauve_variants"),
        variants=lambda study: study.mauve_variants,
    ),
    Figure(
        name="first_token",
        module="lines",
        title="The first token and the others, by depth",
        category="Position and attention",
        tables=("summary.parquet",),
        when=lambda study: set(_FIRST_TOKEN_METRICS) & set(study.tabulated_metrics),
    ),
    Figure(
        name="attention_profile",
        module="attention",
        title="Attention received, by position in the review",
        category="Position and attention",
        tables=("attention.parquet",),
        shows=("models", "variants", "min_reviews"),
        when=lambda study: study.states.record_attention,
    ),
    Figure(
        name="attention_heatmap",
        module="attention",
        title="Attention received, relative to uniform attention",
        category="Position and attention",
        tables=("attention.parquet",),
        shows=("models", "variants", "min_reviews"),
        when=lambda study: study.states.record_attention,
    ),
    Figure(
        name="similarity",
        module="texts",
        title="Similarity of the variants to the original reviews",
        category="Data",
        tables=("similarity.parquet",),
        shows=("threshold", "rewritten"),
        when=lambda study: study.rewritten,
    ),
    Figure(
        name="placement",
        module="texts",
        title="Where the key phrases stand in their sentences",
        category="Data",
        tables=("placement.parquet",),
        shows=("variants", "placed"),
        variants=lambda study: study.placed,
        when=lambda study: study.placed,
    ),
    Figure(
        name="balance",
        module="texts",
        title="Balance of the controls",
        category="Data",
        tables=("balance.csv",),
        shows=("models", "variants", "max_imbalance"),
        when=lambda study: study.balanced,
    ),
    Figure(
        name="contrast",
        module="contrast",
        title="Differences between variants",
        category="Contrasts",
        tables=("contrasts.parquet",),
        shows=("metric", "homogenization", "view", "contrasts", "alpha", "margin", "models", "variants"),
        when=lambda study: study.contrasted and study.drawn_contrasts,
        each=_by_metric_and_view,
        folder="contrasts",
        reported=_is_headline,
    ),
    Figure(
        name="components",
        module="components",
        title="What each component of a block adds to anisotropy",
        category="Contrasts",
        tables=("components.parquet",),
        shows=("models", "variants", "min_reviews"),
        variants=lambda study: {variant for _, variant, _ in study.component_jobs},
        when=lambda study: study.component_jobs,
    ),
    Figure(
        name="extrema",
        module="extrema",
        title="Peaks and troughs over depth",
        category="Contrasts",
        tables=("summary.parquet", "extrema.parquet"),
        shows=("models", "metric_titles"),
        when=lambda study: study.finds_extrema,
    ),
    Figure(
        name="dose_response",
        module="changed_attention",
        title="Changed attention",
        category="Causes",
        tables=("interventions.parquet", "doses.csv"),
        shows=("metric", "label", "homogenization", "models"),
        when=lambda study: study.intervention_jobs and study.intervened_metrics,
        each=_by_metric(lambda study: study.intervened_metrics),
        folder="dose_response",
    ),
    Figure(
        name="conditions",
        module="changed_attention",
        title="Masked keys, equal positions",
        category="Causes",
        tables=("interventions.parquet", "intervened_layers.parquet", "doses.csv"),
        shows=("metric", "label", "homogenization", "models"),
        when=lambda study: study.intervention_jobs and study.interventions.undosed,
        each=_by_metric(lambda study: study.interventions.metrics),
        folder="conditions",
    ),
    Figure(
        name="harm",
        module="changed_attention",
        title="Homogenization and what it costs",
        category="Consequences",
        tables=("harm.csv",),
        shows=("models",),
        when=lambda study: study.reading and study.reading.intervenes,
    ),
    Figure(
        name="probes",
        module="lines",
        title="What a probe finds in the pooled states of a text",
        category="Consequences",
        tables=("probes.parquet",),
        when=lambda study: study.reading and study.reading.probes,
    ),
    Figure(
        name="training",
        module="lines",
        title="Losses while models are trained",
        category="Training",
        tables=("training.parquet",),
        shows=("models",),
        when=lambda study: study.trained_models,
    ),
)
FIGURES = {figure.name: figure for figure in _ENTRIES}


def drawn_figures(study: Any) -> list[Figure]:
    """The figures that `study` draws."""
    return [figure for figure in FIGURES.values() if figure.when(study)]


class PageFigure(NamedTuple):
    """A figure as a page shows it.

    Attributes:
        name: its file in results/figures, without suffix; there are an SVG and a PDF.
        title: what stands above it.
        caption: its caption, a file in workflow/report.
        section: the heading that it belongs to; those of "Answer" are the first of all.
    """

    name: str
    title: str
    caption: str
    section: str


def page_figures(study: Any) -> list[PageFigure]:
    """The figures that a page on `study` shows, in their order."""
    shown = []
    for figure in drawn_figures(study):
        for name, fields in figure.files(study).items():
            if figure.reported(fields):
                of_file = [describe_metric(fields["metric"]).title] if "metric" in fields else []
                of_file += [view_label(fields["view"])] if "view" in fields else []
                title = ": ".join(filter(None, [figure.title, *of_file]))
                shown.append(PageFigure(name, title, f"{figure.name}.rst", figure.category))
    return shown
