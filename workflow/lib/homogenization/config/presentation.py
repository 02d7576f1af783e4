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
