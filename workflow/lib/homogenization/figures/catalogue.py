"""Every figure by name: its title, its place in the report, its tables, and the condition under which a study draws it.

To add a figure, add one entry here, a module of its name beside this one with a function `draw`, and a caption of its
name in workflow/report. This module is pure data that the Snakefile reads, so it imports no plotting library.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

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
    """The description of a figure before it is drawn.

    Attributes:
        name: name of its module, of its caption and, after `plot_`, of its rule.
        title: text above the figure where the configuration gives no other; "" for the title of its metric.
        category: heading in the report.
        labels: columns of its entry below that heading.
        tables: files in results/tables that it is drawn from; messages name the first.
        shows: fields of `shown.Shown` that it uses besides the title; edits of other fields do not redraw it.
        when: test whether a study (`config.study.Study`) draws it.
        metrics: metrics of a study, for a figure that is drawn once for each of them.
        folder: folder of the files of such a figure.
    """

    name: str
    title: str
    category: str
    labels: Mapping[str, str]
    tables: tuple[str, ...]
    shows: tuple[str, ...] = ("models", "variants")
    when: Callable[[Any], Any] = lambda study: True
    metrics: Callable[[Any], Sequence[str]] | None = None
    folder: str = ""

    @property
    def path(self) -> str:
        """Its file in results/figures, without the suffix; with the wildcard `metric` if there are several."""
        return f"{self.folder}/{{metric}}" if self.metrics else self.name

    def paths(self, study: Any) -> list[str]:
        """The files of the figure for `study`, without suffixes, as `path`."""
        return [self.path.format(metric=metric) for metric in self.metrics(study)] if self.metrics else [self.path]


_ENTRIES = (
    Figure(
        name="metric",
        title="",
        category="Metrics",
        labels={"metric": "{metric}"},
        tables=("summary.parquet",),
        shows=("metric", "label", "views", "models", "variants", "min_reviews"),
        metrics=lambda study: study.tabulated_metrics,
        folder="metrics",
    ),
    Figure(
        name="mauve",
        title="MAUVE between consecutive layers",
        category="Metrics",
        labels={"metric": "MAUVE of consecutive layers"},
        tables=("mauve.parquet",),
        shows=("models", "variants", "mauve_variants"),
    ),
    Figure(
        name="cosine_histogram",
        title="Cosines between the tokens of a review, by layer",
        category="Metrics",
        labels={"metric": "cosines between tokens"},
        tables=("cosines.parquet",),
        shows=("models", "variants", "min_reviews"),
    ),
    Figure(
        name="first_token",
        title="The first token and the others, by depth",
        category="Position and attention",
        labels={"figure": "norms and the first token"},
        tables=("summary.parquet",),
        shows=("models", "variants", "min_reviews"),
        when=lambda study: set(_FIRST_TOKEN_METRICS) & set(study.tabulated_metrics),
    ),
    Figure(
        name="attention_profile",
        title="Attention received, by position in the review",
        category="Position and attention",
        labels={"figure": "attention by position"},
        tables=("attention.parquet",),
        shows=("models", "variants", "min_reviews"),
        when=lambda study: study.states.record_attention,
    ),
    Figure(
        name="attention_heatmap",
        title="Attention received, relative to uniform attention",
        category="Position and attention",
        labels={"figure": "attention by layer and position"},
        tables=("attention.parquet",),
        shows=("models", "variants", "min_reviews"),
        when=lambda study: study.states.record_attention,
    ),
    Figure(
        name="similarity",
        title="Similarity of the variants to the original reviews",
        category="Data",
        labels={"figure": "similarity to the original"},
        tables=("similarity.parquet",),
        shows=("threshold", "rewritten"),
        when=lambda study: study.rewritten,
    ),
    Figure(
        name="placement",
        title="Where the key phrases stand in their sentences",
        category="Data",
        labels={"figure": "where key phrases stand"},
        tables=("placement.parquet",),
        shows=("variants",),
        when=lambda study: study.rewritten,
    ),
    Figure(
        name="balance",
        title="Balance of the controls",
        category="Data",
        labels={"figure": "balance of the controls"},
        tables=("balance.csv",),
        shows=("models", "variants", "max_imbalance"),
        when=lambda study: study.balanced,
    ),
    Figure(
        name="contrast",
        title="Differences between variants",
        category="Contrasts",
        labels={"contrasts": "{metric}"},
        tables=("contrasts.parquet",),
        shows=("metric", "label", "homogenization", "views", "contrasts", "alpha", "models", "variants"),
        when=lambda study: study.contrasted and study.contrasted_metrics,
        metrics=lambda study: study.contrasted_metrics,
        folder="contrasts",
    ),
    Figure(
        name="first_token_scatter",
        title="Singular anisotropy and the first token",
        category="Position and attention",
        labels={"figure": "singular anisotropy and the first token"},
        tables=("metrics.parquet", "first_token.parquet"),
        when=lambda study: study.correlates_first_token,
    ),
    Figure(
        name="components",
        title="What each component of a block adds to anisotropy",
        category="Contrasts",
        labels={"figure": "components of a block"},
        tables=("components.parquet",),
        shows=("models", "variants", "min_reviews"),
        when=lambda study: study.component_jobs,
    ),
    Figure(
        name="extrema",
        title="What happens at the peaks",
        category="Contrasts",
        labels={"figure": "what happens at the peaks"},
        tables=("summary.parquet", "extrema.parquet", "extrema_blocks.parquet"),
        shows=("models", "metric_titles"),
        when=lambda study: study.finds_extrema,
    ),
    Figure(
        name="dose_response",
        title="Changed attention",
        category="Causes",
        labels={"figure": "dose and response: {metric}"},
        tables=("interventions.parquet", "doses.csv"),
        shows=("metric", "label", "homogenization", "models"),
        when=lambda study: study.intervention_jobs and study.intervened_metrics,
        metrics=lambda study: study.intervened_metrics,
        folder="dose_response",
    ),
    Figure(
        name="conditions",
        title="Closed keys, capped sinks, other positions",
        category="Causes",
        labels={"figure": "closed, capped, moved: {metric}"},
        tables=("interventions.parquet", "intervened_layers.parquet", "doses.csv"),
        shows=("metric", "label", "homogenization", "models"),
        when=lambda study: study.intervention_jobs and study.interventions.undosed,
        metrics=lambda study: study.interventions.metrics,
        folder="conditions",
    ),
    Figure(
        name="susceptibility",
        title="What a metric answers to: slopes by block",
        category="Causes",
        labels={"figure": "slopes by block"},
        tables=("slopes.parquet",),
        shows=("metric_titles", "models"),
        when=lambda study: study.intervention_jobs and study.interventions.slopes,
    ),
    Figure(
        name="harm",
        title="Homogenization and what it costs",
        category="Consequences",
        labels={"figure": "homogenization and harm"},
        tables=("harm.csv",),
        shows=("models",),
        when=lambda study: study.reading and study.reading.intervenes,
    ),
    Figure(
        name="probes",
        title="What a probe finds in the pooled states of a text",
        category="Consequences",
        labels={"figure": "probes by depth"},
        tables=("probes.parquet",),
        when=lambda study: study.reading and study.reading.probes,
    ),
    Figure(
        name="shifts",
        title="How far a changed text moves its pooled states",
        category="Consequences",
        labels={"figure": "shifts by depth"},
        tables=("shifts.parquet",),
        when=lambda study: study.reading and len(study.reading.texts) > 1,
    ),
    Figure(
        name="training",
        title="Losses while models are trained",
        category="Training",
        labels={"figure": "losses"},
        tables=("training.parquet",),
        shows=("arms",),
        when=lambda study: study.trained_models,
    ),
    Figure(
        name="arms",
        title="Trained models, over seeds",
        category="Training",
        labels={"figure": "over seeds: {metric}"},
        tables=("arms.parquet",),
        shows=("metric", "label", "views", "arms", "arm_pairs"),
        when=lambda study: study.trained_models and study.contrasted_metrics,
        metrics=lambda study: study.contrasted_metrics,
        folder="arms",
    ),
    Figure(
        name="positional_heads",
        title="How much of each head's attention follows from positions alone",
        category="Position and attention",
        labels={"figure": "positional attention by head"},
        tables=("positional.parquet",),
        when=lambda study: study.positional_jobs,
    ),
    Figure(
        name="positional_templates",
        title="The attention that positions alone predict",
        category="Position and attention",
        labels={"figure": "templates of positional attention"},
        tables=("templates.parquet", "positional.parquet", "attention.parquet"),
        when=lambda study: study.positional_jobs and study.states.record_attention,
    ),
    Figure(
        name="sinks",
        title="Tokens besides the first that draw attention or are massive",
        category="Position and attention",
        labels={"figure": "secondary sinks"},
        tables=("sinks.parquet",),
        when=lambda study: study.positional_jobs,
    ),
    Figure(
        name="sensitivity",
        title="What the metrics answer to",
        category="Metrics",
        labels={"metric": "what the metrics answer to"},
        tables=("sensitivity.csv",),
        shows=("metric_titles",),
        when=lambda study: study.sensitivity,
    ),
    Figure(
        name="claims",
        title="Published claims, judged on these reviews",
        category="Claims",
        labels={"table": "the board"},
        tables=("claims.csv", "comparisons.csv"),
        shows=("models",),
        when=lambda study: study.judged_claims,
    ),
)
FIGURES = {figure.name: figure for figure in _ENTRIES}


def drawn_figures(study: Any) -> list[Figure]:
    """The figures that `study` draws."""
    return [figure for figure in FIGURES.values() if figure.when(study)]
