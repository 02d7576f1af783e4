"""The parameters of the rules that draw figures, from the configuration."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from homogenization.config.study import Study
from homogenization.figures.catalogue import HEADLINE_METRICS, Figure
from homogenization.figures.view_labels import view_label
from homogenization.metrics.catalogue import METRIC_NAMES, describe_metric, likeness

# fields of `figures.shown.Shown` that differ between the files of a kind
_OF_A_FILE = ("title", "metric", "label", "homogenization", "view")


def parameters(study: Study, figure: Figure) -> dict[str, Any]:
    """What the rule of `figure` gives its script.

    Returns:
        `title` of the figure, or what the titles of a kind share; its `module`; the names of its `tables`; `shared`,
        the fields of `figures.shown.Shown` that all files of a kind have; and `each`, further fields of every file.
    """
    files = [presentation(study, figure, of_file) for of_file in figure.files(study).values()]
    return {
        "title": study.figures.titles.get(figure.name, figure.title),
        "module": figure.module,
        "tables": [table.partition(".")[0] for table in figure.tables],
        "shared": {name: value for name, value in files[0].items() if name not in _OF_A_FILE},
        "each": [{name: of_file[name] for name in _OF_A_FILE if name in of_file} for of_file in files],
    }


def drawn_files(study: Study, figure: Figure) -> list[tuple[str, dict[str, Any] | None]]:
    """The files that the rule of `figure` makes, below results/figures.

    Each file stands beside its arguments of Snakemake's `report`, without the path; None where the report does not show
    it, such as a PDF.
    """
    files: list[tuple[str, dict[str, Any] | None]] = []
    for file, of_file in figure.files(study).items():
        title = in_menu(presentation(study, figure, of_file)["title"])
        entry = {"caption": f"../report/{figure.name}.rst", "category": figure.category, "labels": {"title": title}}
        files += [(f"{file}.svg", entry if figure.reported(of_file) else None), (f"{file}.pdf", None)]
    return files


def presentation(study: Study, figure: Figure, of_file: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    """The fields of `figures.shown.Shown` that `figure` uses, as plain values.

    Args:
        study: the checked configuration.
        figure: an entry of the catalogue.
        of_file: the fields of one of its files (`Figure.files`).
    """
    fields = dict(of_file) | {
        "models": _labelled(study, study.models),
        "variants": _labelled(study, study.variants, figure.variants(study)),
        "rewritten": _labelled(study, study.rewritten),
        "mauve_variants": study.mauve_variants,
        "placed": study.placed,
        "views": study.figures.views,
        "contrasts": study.contrasted,
        "alpha": 1 - study.contrasts.confidence,
        "margin": study.contrasts.margin,
        "metric_titles": {name: describe_metric(name).title for name in METRIC_NAMES},
        "threshold": study.similarity.threshold,
        "min_reviews": study.contrasts.min_reviews,
        "max_imbalance": study.contrasts.max_imbalance,
    }
    titles = [study.figures.titles.get(figure.name, figure.title)]
    if metric := of_file.get("metric"):
        description = describe_metric(metric)
        label = f"{description.label} †" if description.depends_on_length else description.label
        fields |= {"label": label, "homogenization": likeness(metric)}
        titles.append(study.figures.titles.get(metric, description.title))
    title = ": ".join(filter(None, titles))
    if view := of_file.get("view"):
        title += f"; {view_label(view)}"
    style = {"style": study.figures.style} if study.figures.style != "report" else {}
    return {"title": title} | {field: fields[field] for field in figure.shows} | style


def curves_page_parameters(study: Study) -> dict[str, Any]:
    """What the page of curves shows and how it names it, as plain values (`report.curves`)."""
    metrics = study.contrasted_metrics or study.drawn_metrics
    cells = [
        {"metric": metric, "view": view, "label": _label_of_cell(study, metric, view)}
        for metric in sorted(metrics, key=lambda metric: metric not in HEADLINE_METRICS)
        for view in study.drawn_views(metric)
    ]
    return _labels(study) | {
        "cells": cells,
        "pairs": [list(pair) for pair in study.contrasted],
        "min_reviews": study.contrasts.min_reviews,
        "margin": study.contrasts.margin,
    }


def _label_of_cell(study: Study, metric: str, view: str) -> str:
    described = describe_metric(metric)
    title = study.figures.titles.get(metric, described.title)
    return f"{title}{' †' * described.depends_on_length}: {view_label(view)}"


def first_page_parameters(study: Study) -> dict[str, Any]:
    """What the first page of the report says besides its tables, as plain values (`report.first_page`)."""
    return _labels(study) | {
        "placed": study.placed,
        "controls": study.controls,
        "n_texts": study.corpus.n_reviews,
        "min_texts": study.contrasts.min_reviews,
    }


def shown_texts(study: Study, model: str) -> dict[str, Any]:
    """What the page of a model's example texts says besides its tables, as plain values (`report.text_page`)."""
    labels, choice = study.figures.labels, study.example_choice
    variant, minus = (labels.get(name, name) for name in (choice["variant"], choice["minus"]))
    title = describe_metric(choice["metric"]).title.lower() if choice["metric"] else ""
    return {
        "name": model,
        "model": labels.get(model, model),
        "variants": _labelled(study, study.example_variants),
        "reviews": study.examples.reviews,
        "choice": choice,
        "contrast": f"{title} of {variant} − {minus}" if choice["variant"] else title,
        "tokens": study.examples.tokens,
    }


def in_menu(label: str) -> str:
    """A label for the menu of the report, as it is written: Snakemake looks for wildcards where a brace opens."""
    return label.replace("{", "{\N{ZERO WIDTH SPACE}")


def _labels(study: Study) -> dict[str, list[list[str]]]:
    """The labels that pages show."""
    return {"models": _labelled(study, study.models), "variants": _labelled(study, study.variants)}


def _labelled(study: Study, names: Iterable[str], shown: Iterable[str] | None = None) -> list[list[str]]:
    """[name, display name] pairs, in the order of `names`; those that are not `shown` have their name."""
    there = set(names if shown is None else shown)
    return [[name, study.figures.labels.get(name, name) if name in there else name] for name in names]
