"""The parameters of the rules that draw figures, from the configuration."""

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


def shown_texts(study: Study, model: str) -> dict[str, Any]:
    """What the page of a model's example texts says besides its tables, as plain values (`report.text_page`)."""
    labels, choice = study.figures.labels, study.example_choice
    variant, minus = (labels.get(name, name) for name in (choice["variant"], choice["minus"]))
    title = describe_metric(choice["metric"]).title.lower() if choice["metric"] else ""
    return {
        "model": labels.get(model, model),
        "variants": _labelled(study, study.example_variants),
        "contrast": f"{title} of {variant} − {minus}" if choice["variant"] else title,
    }


def _labelled(study: Study, names: Iterable[str]) -> list[list[str]]:
    """[name, display name] pairs, in the order of `names`."""
    return [[name, study.figures.labels.get(name, name)] for name in names]
