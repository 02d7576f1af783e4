"""The first page of the report: a grid of questions and models, one curve, how many texts, and what to beware of."""

import io
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from math import isfinite
from typing import Any, NamedTuple

import matplotlib
import polars as pl
from matplotlib.figure import Figure

from homogenization.claims.findings import LOOKS, Finding
from homogenization.claims.judgement import CLAIMS_SCHEMA
from homogenization.figures.grammar import draw_lines, set_depth_axis
from homogenization.figures.shown import Named
from homogenization.figures.style import FINE, GREY, VERDICTS, house_style, variant_styles
from homogenization.metrics.catalogue import describe_metric
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.prose import grouped, listed, where_few, write
from homogenization.names.variants import ORIGINAL
from homogenization.names.verdicts import NOT_TESTED, REVIEWS
from homogenization.report.page import render
from homogenization.report.questions import Question, headline_metric, in_first_views, moves_of, questions_of
from homogenization.run.parquet import read_input, table_metadata
from homogenization.statistics.contrasts import CONTRASTS_SCHEMA
from homogenization.statistics.depth import DEPTH_SCHEMA
from homogenization.tables.comparisons import COMPARISONS_SCHEMA
from homogenization.tables.extraction import LONG_TEXTS_SCHEMA
from homogenization.tables.similarity import ACCEPTANCE_SCHEMA
from homogenization.tables.summary import SUMMARY_SCHEMA

_SIDE_BY_SIDE = 5  # most models beside each other
_MOST_MODELS = 10  # with more, a column says what is so in how many, and the curve has no legend
_INCHES = (4.3, 3.0)  # of the curve
_LEGEND_INCHES = 0.2  # for each model


class Shown(NamedTuple):
    """What the page shows of several cells together, by the names of a `Finding`.

    Attributes:
        look: verdict whose colour and sign it has.
        said: what it says.
        number: the range of the sizes.
        counted: of how many texts, where they are few.
        marks: caveats in a word each.
    """

    look: str
    said: str
    number: str
    counted: str
    marks: list[str]


_SCHEMAS = {
    **{"claims": CLAIMS_SCHEMA, "contrasts": CONTRASTS_SCHEMA, "comparisons": COMPARISONS_SCHEMA},
    **{"depth": DEPTH_SCHEMA, "summary": SUMMARY_SCHEMA, "acceptance": ACCEPTANCE_SCHEMA},
    "long_texts": LONG_TEXTS_SCHEMA,
}


def make(inputs: Mapping[str, Any], **shown: Any) -> str:
    """The page from a rule's files of its tables, by name; empty for those that the study does not make."""
    tables = {name: read_input(inputs.get(name), schema) for name, schema in _SCHEMAS.items()}
    clean = pl.scan_parquet(inputs["clean"]).select(pl.len()).collect().item()
    raw = table_metadata(inputs["clean"]).get("rows_of_source", clean)  # of an earlier version, without
    return first_page(tables, **shown, cleaned=(raw, raw - clean))


def first_page(
    tables: Mapping[str, pl.DataFrame],
    *,
    models: Named,
    variants: Named,
    written: Sequence[str],
    controls: Mapping[str, Mapping[str, str]],
    n_texts: int,
    min_texts: int,
    template: str,
    words: str,
    cleaned: tuple[int, int] = (0, 0),
) -> str:
    """The page as HTML, which stands by itself and within another page.

    Args:
        tables: `claims`, `contrasts`, `comparisons`, `depth`, `summary`, `acceptance` and `long_texts`, without rows
            where the study does not make them.
        models: (name, label) of each model.
        variants: (name, label) of each variant.
        written: names of the variants that a language model writes.
        controls: by variant and role, the name of its control.
        n_texts: texts of the sample.
        min_texts: fewest texts of a comparison.
        template: the template of the page.
        words: that of the sentences on a model.
        cleaned: rows of the source, and how many of them cleaning left out.
    """
    labels, comparisons = dict(variants), tables["comparisons"]
    questions = questions_of(tables, [name for name, _ in models], list(labels), controls)
    cells = [cell for question in questions for cell in question.cells.values()]

    def named(variant: str) -> str:
        return labels.get(variant, variant)

    return render(
        template,
        sentences=_sentences(questions, models, named, words) if len(models) <= _MOST_MODELS else {},
        blocks=blocks(questions, models),
        n_models=len(models),
        groups=_groups(questions),
        labels=labels,
        written=written,
        legend=_legend({cell.said for cell in cells}),
        looks=VERDICTS,
        marks={mark for cell in cells for mark in cell.marks},
        curve=depth_curve(tables["summary"], models),
        n_texts=n_texts,
        min_texts=min_texts,
        accepted={row["variant"]: row for row in tables["acceptance"].iter_rows(named=True)},
        not_tested=grouped(
            comparisons.filter(~pl.col("tested")).iter_rows(named=True),
            lambda row: row["reason"],
            lambda row: f"{named(row['variant'])} against {named(row['minus'])}",
        ),
        cleaned=cleaned,
        long_texts=_long_texts(tables["long_texts"], dict(models)),
        claims=Counter(tables["claims"]["verdict"]),
        uncontrolled=[named(name) for name in _uncontrolled(comparisons.filter(minus=ORIGINAL)["variant"], controls)],
    )


def blocks(questions: Sequence[Question], models: Named) -> list[tuple[list[str], list[tuple[Question, list]]]]:
    """The grid, in parts of at most five models side by side: headings, and each question with its cells.

    Of more than ten models, one column says in how many it is so. A cell that holds for all models stands alone.
    """
    if len(models) > _MOST_MODELS:
        return [([f"{len(models)} models"], [(question, [together(question, models)]) for question in questions])]
    n_parts = -(-len(models) // _SIDE_BY_SIDE)
    size = -(-len(models) // n_parts)
    parts = [models[start : start + size] for start in range(0, len(models), size)]
    return [
        ([label for _, label in part], [(question, _cells(question, part)) for question in questions]) for part in parts
    ]


def together(question: Question, models: Named) -> Finding | Shown:
    """What a question's cells say in how many models, with the range of the sizes."""
    cells = _cells(question, models)
    if None in question.cells:
        return cells[0]
    counts = Counter(cell.said for cell in cells).most_common()
    sized = sorted((cell for cell in cells if isfinite(cell.size)), key=lambda cell: cell.size)
    return Shown(
        look=LOOKS[counts[0][0]],
        said=", ".join(f"{said} {n}" for said, n in counts),
        number=" to ".join(dict.fromkeys(cell.sized for cell in (*sized[:1], *sized[-1:]))),
        counted=where_few(cell.n_reviews for cell in cells if cell.counted and cell.unit == REVIEWS),
        marks=[f"some {mark}" for mark in dict.fromkeys(mark for cell in cells for mark in cell.marks)],
    )


def _cells(question: Question, models: Named) -> list[Finding]:
    """The cell of each model, or the one that holds for all."""
    if None in question.cells:
        return [question.cells[None]]
    return [question.cells.get(name, Finding(NOT_TESTED)) for name, _ in models]


def _sentences(
    questions: Sequence[Question], models: Named, named: Callable[[str], str], words: str
) -> dict[str, list[str]]:
    """What holds in a model, in words, and the labels of the models in which it does."""
    said: dict[str, list[str]] = {}
    for model, label in models:
        depth, moves = moves_of(questions, model)
        told = [(named(variant), plain, beside) for variant, plain, beside in moves]
        said.setdefault(write(words, depth=depth, moves=told), []).append(label)
    return {words: labels for words, labels in said.items() if words}


def _groups(questions: Sequence[Question]) -> dict[str, str]:
    """The headings of the grid, each with what is measured in most questions below it."""
    measured = grouped(questions, lambda question: question.topic.group)
    return {group: Counter(one.measured for one in of).most_common(1)[0][0] for group, of in measured.items()}


def _legend(said: Collection[str]) -> dict[str, str]:
    """What the grid's cells say, by the verdict whose look it is."""
    words = {look: [word for word in LOOKS if LOOKS[word] == look and word in said] for look in VERDICTS}
    return {look: listed(there, "or") for look, there in words.items() if there}


def _long_texts(long_texts: pl.DataFrame, models: Mapping[str, str]) -> list[tuple[str, int, int]]:
    """(model, readings that were cut, readings that were left out) of each model that has any."""
    sums = long_texts.group_by("model").agg(pl.col("n_cut").sum(), pl.col("n_left_out").sum())
    found = {model: (n_cut, n_left_out) for model, n_cut, n_left_out in sums.rows()}
    return [(label, *found[name]) for name, label in models.items() if any(found.get(name, ()))]


def _uncontrolled(compared: Sequence[str], controls: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The variants that are compared with the original alone: no control tells position from rewriting."""
    in_controls = {control for named in controls.values() for control in named.values()}
    return [name for name in compared if name not in controls and name not in in_controls]


@house_style()
def depth_curve(summary: pl.DataFrame, models: Named) -> str:
    """An SVG element with a line for each model; "" where no metric that is about likeness has its first view.

    Up to ten models have a style each, a 95 % interval and a legend.

    Args:
        summary: the table `summary`.
        models: (name, label) of each model.
    """
    stream = in_first_views(summary.filter(variant=ORIGINAL, point=RESIDUAL_STREAM))
    name = headline_metric(stream["metric"].unique())
    if name is None:
        return ""
    metric = describe_metric(name)
    rows = stream.filter(metric=name).drop("variant").rename({"model": "variant"})
    several = len(models) > _MOST_MODELS
    width, height = _INCHES
    figure = Figure(figsize=(width, height + (0 if several else _LEGEND_INCHES * len(models))), layout="constrained")
    axes = figure.add_subplot()
    if several:
        for _, of_model in rows.sort("depth").group_by("variant", maintain_order=True):
            axes.plot(of_model["depth"], of_model["mean"], color=GREY, lw=FINE)
    else:
        draw_lines(axes, rows, variant_styles(models))
    set_depth_axis(axes)
    axes.set(xlabel="depth: layer / blocks", ylabel=metric.label)
    if not several:
        labels = dict(models)
        lines = [line for line in axes.lines if line.get_label() in labels]
        figure.legend(lines, [labels[line.get_label()] for line in lines], loc="outside lower left", frameon=False)
    drawn = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": "first page"}):
        figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    svg = drawn.getvalue()
    title = f"{metric.title} of the originals over depth, a line for each of {len(models)} models"
    return svg[svg.index("<svg") :].replace("<svg", f'<svg role="img" aria-label="{title}"', 1)
