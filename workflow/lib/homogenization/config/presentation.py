"""The parameters of the rules that draw figures, from the configuration."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from homogenization.config.study import Study
from homogenization.figures.catalogue import Figure
from homogenization.metrics.catalogue import METRIC_NAMES, depends_on_length, describe_metric


def parameters(study: Study, figure: Figure) -> dict[str, Callable[[Mapping[str, str]], Any]]:
    """The title and each field that `figure` uses, as functions of a job's wildcards (`metric`, where it has one)."""

    def field(name: str) -> Callable[[Mapping[str, str]], Any]:
        return lambda wildcards: presentation(study, figure, wildcards.get("metric"))[name]

    return {name: field(name) for name in ("title", *figure.shows)}


def presentation(study: Study, figure: Figure, metric: str | None = None) -> dict[str, Any]:
    """The fields of `figures.shown.Shown` that `figure` uses, as plain values.

    Args:
        study: the checked configuration.
        figure: an entry of the catalogue.
        metric: the metric drawn, where `figure` is drawn once for each.
    """
    fields = {
        "models": _labelled(study, study.models),
        "variants": _labelled(study, study.variants),
        "rewritten": _labelled(study, study.rewritten),
        "mauve_variants": study.mauve_variants,
        "views": study.figures.views,
        "contrasts": study.contrasted,
        "alpha": 1 - study.contrasts.confidence,
        "metric_titles": {name: describe_metric(name).title for name in METRIC_NAMES},
        "threshold": study.similarity.threshold,
        "min_reviews": study.contrasts.min_reviews,
        "max_imbalance": study.contrasts.max_imbalance,
        "arms": _labelled(
            study, dict.fromkeys(model.weights.arm for model in study.models.values() if model.weights.arm)
        ),
        "arm_pairs": [
            [*pair, " less ".join(study.figures.labels.get(name, name) for name in pair)] for pair in study.arms
        ],
    }
    titles = [study.figures.titles.get(figure.name, figure.title)]
    if metric is not None:
        description = describe_metric(metric)
        label = f"{description.label} †" if depends_on_length(metric) else description.label
        fields |= {"metric": metric, "label": label, "homogenization": description.homogenization}
        titles.append(study.figures.titles.get(metric, description.title))
    return {"title": ": ".join(filter(None, titles))} | {field: fields[field] for field in figure.shows}


def curves_page_parameters(study: Study) -> dict[str, Any]:
    """What the page of curves shows and how it names it, as plain values (`report.curves`).

    The metrics are those that the study tabulates; the first line of a metric's docstring is its definition. The views
    are those that the study computes, those of the figures first.
    """
    described = [describe_metric(name) for name in study.tabulated_metrics]
    return {
        "metrics": [
            {
                "name": metric.name,
                "title": study.figures.titles.get(metric.name, metric.title),
                "label": metric.label + " †" * depends_on_length(metric.name),
                "definition": inspect.getdoc(metric.compute).partition("\n")[0],
                "homogenization": metric.homogenization,
            }
            for metric in described
        ],
        "views": list(dict.fromkeys([*study.figures.views, *study.views])),
        "models": _labelled(study, study.models),
        "variants": _labelled(study, study.variants),
        "pairs": [list(pair) for pair in study.contrasted],
        "min_reviews": study.contrasts.min_reviews,
        "margin": study.contrasts.margin,
        "confidence": study.contrasts.confidence,
    }


def claims_page_parameters(study: Study) -> dict[str, list[list[str]]]:
    """The labels that the table of claims shows (`report.claims_table`)."""
    return {"models": _labelled(study, study.models), "variants": _labelled(study, study.variants)}


def first_page_parameters(study: Study) -> dict[str, Any]:
    """What the first page of the report says besides its tables, as plain values (`report.first_page`)."""
    return claims_page_parameters(study) | {
        "written": study.written,
        "controls": study.controls,
        "n_texts": study.corpus.n_reviews,
        "min_texts": study.contrasts.min_reviews,
    }


def _labelled(study: Study, names: Iterable[str]) -> list[list[str]]:
    """[name, display name] pairs, in the order of `names`."""
    return [[name, study.figures.labels.get(name, name)] for name in names]
