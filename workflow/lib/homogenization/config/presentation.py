"""What figures and the report say besides the tables, from the configuration, as plain values."""

from typing import Any

from homogenization.config.study import Study
from homogenization.figures.catalogue import HEADLINE_METRICS, drawn_metrics
from homogenization.measures.views import VIEWS
from homogenization.metrics.catalogue import describe_metric
from homogenization.names.variants import ORIGINAL
from homogenization.run.sections import Section


def shown_of(study: Study) -> dict[str, Any]:
    """The fields of `figures.grammar.Shown` that all figures have."""
    return {
        "models": {name: study.figures.labels.get(name, name) for name in study.models},
        "variants": {name: study.figures.labels.get(name, name) for name in study.variants},
        "ladder": study.ladder,
        "pairs": study.contrasted,
        "margin": study.contrasts.margin,
        "threshold": study.similarity.threshold,
        "min_reviews": study.contrasts.min_reviews,
        "by": study.contrasts.by or "",
    }


def report_parameters(study: Study) -> dict[str, Any]:
    """What the report says besides its tables (`report.report`)."""
    shown_keys = ("source", "subset", "revision", "split", "n_reviews")
    drawn = [name for name in HEADLINE_METRICS if name in study.metrics] or drawn_metrics(study)
    compared = {variant for variant, minus in study.contrasted if minus == ORIGINAL} & set(study.placed)
    controls = {control for of_variant in study.controls.values() for control in of_variant.values()}
    return {
        **{key: [list(pair) for pair in shown_of(study)[key].items()] for key in ("models", "variants")},
        **{key: shown_of(study)[key] for key in ("by", "margin")},
        "sources": {claim["claim"]: claim["source"] for claim in study.judged_claims},
        "weights": {name: _given(model.weights) for name, model in study.models.items()},
        "corpus": {name: value for name, value in _given(study.corpus).items() if name in shown_keys},
        "uncontrolled": [name for name in study.rewritten if name in compared - controls - study.controls.keys()],
        "examples": {"model": next(iter(study.models)), "choice": example_choice(study)},
        "curves": {
            "metrics": [[name, describe_metric(name).title] for name in drawn],
            "ladder": study.ladder,
            "margin": study.contrasts.margin,
        },
    }


def example_choice(study: Study) -> dict[str, Any]:
    """By which difference the report chooses its texts: the first contrast of place, of a headline metric.

    Without contrasts, `variant` and `minus` are None, and the value of the originals counts.
    """
    of_places = [pair for pair in study.contrasted if pair[0] in study.placed]
    variant, minus = (of_places or study.contrasted or [(None, None)])[0]
    among = (*HEADLINE_METRICS, *study.contrasted_metrics, *study.metrics)
    metric = next(name for name in among if name in study.metrics)
    views = describe_metric(metric).views or [view for view in VIEWS if view in study.views]
    return {"variant": variant, "minus": minus, "metric": metric, "view": views[0]}


def _given(section: Section) -> dict[str, Any]:
    """The keys of a section that have a value of their own."""
    return section.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
