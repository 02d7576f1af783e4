"""The parameters of the rules that draw figures, from the configuration."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from homogenization.config.study import Study
from homogenization.figures.catalogue import HEADLINE_METRICS, Figure
from homogenization.figures.view_labels import view_label
from homogenization.metrics.catalogue import METRIC_NAMES, describe_metric, likeness
from homogenization.names.variants import ORIGINAL
from homogenization.run.sections import Section


def report_parameters(study: Study) -> dict[str, Any]:
    """What the report says besides its tables, as plain values (`report.report`)."""
    told = ("source", "subset", "revision", "split", "n_reviews")
    drawn = [name for name in HEADLINE_METRICS if name in study.tabulated_metrics] or study.drawn_metrics
    compared = {variant for variant, minus in study.contrasted if minus == ORIGINAL} & set(study.placed)
    controls = {control for of_variant in study.controls.values() for control in of_variant.values()}
    return {
        "models": _labelled(study, study.models),
        "variants": _labelled(study, study.variants),
        "sources": {claim["claim"]: claim["source"] for claim in study.judged_claims},
        "weights": {name: _told(model.weights) for name, model in study.models.items()},
        "corpus": {name: value for name, value in _told(study.corpus).items() if name in told},
        "uncontrolled": [name for name in study.rewritten if name in compared - controls - study.controls.keys()],
        "examples": study.examples
        and {
            "model": study.example_models[0],
            "choice": study.example_choice,
            **study.examples.params("reviews", "tokens"),
        },
        "curves": {
            "metrics": [[name, study.figures.titles.get(name, describe_metric(name).title)] for name in drawn],
            "margin": study.contrasts.margin,
        },
    }


def _told(section: Section) -> dict[str, Any]:
    """The keys of a section that have a value of their own."""
    return section.model_dump(mode="json", exclude_none=True, exclude_defaults=True)


def in_menu(label: str) -> str:
    """A label for the menu of the report, as it is written: Snakemake looks for wildcards where a brace opens."""
    return label.replace("{", "{\N{ZERO WIDTH SPACE}")


def _labelled(study: Study, names: Iterable[str], shown: Iterable[str] | None = None) -> list[list[str]]:
    """[name, display name] pairs, in the order of `names`; those that are not `shown` have their name."""
    there = set(names if shown is None else shown)
    return [[name, study.figures.labels.get(name, name) if name in there else name] for name in names]
