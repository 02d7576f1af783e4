"""The parameters of the rule that makes the report, from the configuration."""

from typing import Any

from homogenization.config.figures import shown_of
from homogenization.config.study import Study
from homogenization.figures.catalogue import HEADLINE_METRICS, drawn_metrics
from homogenization.metrics.catalogue import describe_metric
from homogenization.names.variants import ORIGINAL
from homogenization.run.sections import Section


def report_parameters(study: Study) -> dict[str, Any]:
    """What the report says besides its tables, as plain values (`report.report`)."""
    figures = shown_of(study)
    shown_keys = ("source", "subset", "revision", "split", "n_reviews")
    drawn = [name for name in HEADLINE_METRICS if name in study.metrics] or drawn_metrics(study)
    compared = {variant for variant, minus in study.contrasted if minus == ORIGINAL} & set(study.placed)
    controls = {control for of_variant in study.controls.values() for control in of_variant.values()}
    return {
        "models": [list(pair) for pair in figures["models"].items()],
        "variants": [list(pair) for pair in figures["variants"].items()],
        "sources": {claim["claim"]: claim["source"] for claim in study.judged_claims},
        "weights": {name: _given(model.weights) for name, model in study.models.items()},
        "corpus": {name: value for name, value in _given(study.corpus).items() if name in shown_keys},
        "uncontrolled": [name for name in study.rewritten if name in compared - controls - study.controls.keys()],
        "examples": {"model": next(iter(study.models)), "choice": study.example_choice},
        "curves": {
            "metrics": [[name, describe_metric(name).title] for name in drawn],
            "ladder": figures["ladder"],
            "margin": study.contrasts.margin,
        },
    }


def _given(section: Section) -> dict[str, Any]:
    """The keys of a section that have a value of their own."""
    return section.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
