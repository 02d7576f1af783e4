"""Every figure: what draws it, its place on the page, its title, and the condition under which a study draws it.

To add a figure, add one entry here and its name in a rule of workflow/rules/figures.smk, a function of its name in a
module of this package, which takes `tables` and `shown` (`grammar`), and a caption of its name in workflow/report. This
module is pure data that the Snakefile reads: no plotting library.
"""

from collections.abc import Callable, Iterable
from operator import attrgetter as of
from typing import Any, NamedTuple

from homogenization.figures.view_labels import headline_first, view_label
from homogenization.metrics.catalogue import TOKEN_COUNT, describe_metric
from homogenization.metrics.registry import WITHOUT_FIRST

# What a first look at a study needs; of the figures of a metric, the page shows these.
HEADLINE_METRICS = ("normalized_effective_rank", "max_explainable_variance", "cosine_anisotropy")
FIRST_TOKEN = {"first_token_norm", "first_token_energy_share", "first_token_attention_share", "cosine_to_first_token"}


class PageFigure(NamedTuple):
    """A figure of a study.

    Attributes:
        name: its file in results/figures, without suffix: an SVG, and in the style `paper` a PDF.
        title: what stands above it.
        caption: its caption, a file in workflow/report.
        section: the heading on the page that it belongs to; "Answer" is the first.
        function: module of this package and function that draw it, with a dot between.
        fields: of `grammar.Shown`, those that are its own besides the title.
        on_page: whether the page shows it: of a metric, a headline one; of a view, the one without the first token.
    """

    name: str
    title: str
    caption: str
    section: str
    function: str
    fields: dict[str, str]
    on_page: bool


class _Entry(NamedTuple):
    function: str
    section: str
    title: str
    when: Callable[[Any], Any] = lambda study: True  # whether a study draws it
    each: Callable[[Any], Iterable[dict[str, str]]] = lambda study: [{}]  # fields of each of its files
    folder: str = ""  # of several files

    def figures(self, study: Any) -> Iterable[PageFigure]:
        """Those of a study, a file each."""
        name = self.function.partition(".")[2]
        for fields in self.each(study):
            metric, view = fields.get("metric"), fields.get("view")
            what = [describe_metric(metric).title if metric else "", view_label(view) if view else ""]
            title = ": ".join(filter(None, [self.title, ", ".join(filter(None, what))]))
            file, headline = "/".join([self.folder or name, *fields.values()]), metric in HEADLINE_METRICS
            on_page = not metric or (headline and (not view or view.endswith(WITHOUT_FIRST)))
            yield PageFigure(file, title, f"{name}.rst", self.section, self.function, fields, on_page)


def _has_ladder(study: Any) -> bool:
    changed = {"cosine_anisotropy", "normalized_effective_rank"} & set(study.contrasted_metrics)
    return bool(changed) and sum((name, "original") in study.contrasted for name in study.ladder) > 1


def _has_rank(study: Any) -> bool:
    both = {"raw", "raw_without_first"} <= set(study.views)
    return both and "normalized_effective_rank" in study.metrics


def drawn_metrics(study: Any) -> list[str]:
    """The metrics that have a figure over depth: those that any section lists, or those of a first look."""
    listed = [*(study.metrics if "metrics" in study.model_fields_set else ()), *(study.contrasts.metrics or ())]
    chosen = dict.fromkeys(listed or HEADLINE_METRICS)
    return [name for name in chosen if name in study.metrics and name != TOKEN_COUNT]


def _metrics(study: Any) -> Iterable[dict[str, str]]:
    return [{"metric": metric} for metric in drawn_metrics(study)]


def _contrasts(study: Any) -> Iterable[dict[str, str]]:
    contrasted = [name for name in drawn_metrics(study) if name in study.contrasted_metrics]
    views = {name: headline_first(describe_metric(name).views or study.views) for name in contrasted}
    return [{"metric": name, "view": views[name][0]} for name in contrasted]


_ENTRIES = (
    _Entry("disorder.disorder", "Answer", "Disorder or position?", _has_ladder),
    _Entry("curves.one_token", "Answer", "Is a collapse that of one token?", _has_rank),
    _Entry("curves.metric", "Metrics", "", drawn_metrics, _metrics, "metrics"),
    _Entry("curves.first_token", "Metrics", "The first token", lambda study: FIRST_TOKEN & {*study.metrics}),
    _Entry("curves.extrema", "Metrics", "Peaks and troughs over depth", of("contrasted_metrics")),
    _Entry("curves.mauve", "Metrics", "MAUVE between consecutive layers"),
    _Entry("disorder.disorder_depth", "Contrasts", "Change per nat of disorder, over depth", _has_ladder),
    _Entry("contrasts.contrast", "Contrasts", "Differences", of("contrasted"), _contrasts, "contrasts"),
    _Entry("attention.attention_heatmap", "Attention", "Attention received, by place"),
    _Entry("effects.components", "Causes", "What the components of a block do", of("components")),
    _Entry("effects.dose", "Causes", "Steered attention", lambda of: of.interventions and of.interventions.steering),
    _Entry("effects.conditions", "Causes", "Changed attention and its costs", of("intervention_jobs")),
    _Entry(
        "curves.probes", "Causes", "What a probe finds", lambda study: study.consequences and study.corpus.label_column
    ),
    _Entry("texts.similarity", "Texts", "Similarity of the variants to the originals", of("rewritten")),
    _Entry("texts.placement", "Texts", "Where key phrases stand in their sentences", of("placed")),
    _Entry("texts.balance", "Texts", "Balance of the controls", of("balanced")),
    _Entry("curves.training", "Training", "Losses while models are trained", of("trained_models")),
)
FIGURES = {entry.function.partition(".")[2]: entry for entry in _ENTRIES}


def figures_of(study: Any, *names: str) -> list[PageFigure]:
    """The figures of these names that `study` draws, a file each, in the order of the page; without names, all."""
    entries = [entry for name, entry in FIGURES.items() if entry.when(study) and name in (names or FIGURES)]
    return [figure for entry in entries for figure in entry.figures(study)]


def page_figures(study: Any) -> list[PageFigure]:
    """The figures that a page on `study` shows, in their order."""
    return [figure for figure in figures_of(study) if figure.on_page]
