"""The first page of the report: a grid of questions and models, one curve, how many texts, and what to beware of."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import polars as pl

from homogenization.claims.judgement import CLAIMS_SCHEMA
from homogenization.figures.style import VERDICTS
from homogenization.report.depth_curve import depth_curve
from homogenization.report.page import read_or_empty, render
from homogenization.report.questions import LOOKS, Cell, Question, questions_of
from homogenization.run.parquet import table_metadata
from homogenization.statistics.contrasts import CONTRASTS_SCHEMA
from homogenization.statistics.depth import DEPTH_SCHEMA
from homogenization.tables.comparisons import COMPARISONS_SCHEMA
from homogenization.tables.extraction import LONG_TEXTS_SCHEMA
from homogenization.tables.similarity import ACCEPTANCE_SCHEMA
from homogenization.tables.summary import SUMMARY_SCHEMA
from homogenization.vocabulary.changes import MORE_CHANGE
from homogenization.vocabulary.prose import listed, where_few
from homogenization.vocabulary.variants import ORIGINAL
from homogenization.vocabulary.verdicts import NOT_TESTED, REVIEWS

_SIDE_BY_SIDE = 5  # most models beside each other
_MOST_MODELS = 10  # with more, a column says what is so in how many
Named = Sequence[Sequence[str]]


@dataclass(frozen=True)
class Shown:
    """A cell as the page shows it.

    Attributes:
        look: verdict whose colour and sign it has.
        words: what it says.
        detail: one size, and what it is over, each if there is one.
        marks: caveats in a word each.
    """

    look: str
    words: str
    detail: tuple[str, ...] = ()
    marks: str = ""

    @property
    def sign(self) -> str:
        """The sign of its verdict."""
        return VERDICTS[self.look].sign


_SCHEMAS = {
    **{"claims": CLAIMS_SCHEMA, "contrasts": CONTRASTS_SCHEMA, "comparisons": COMPARISONS_SCHEMA},
    **{"depth": DEPTH_SCHEMA, "summary": SUMMARY_SCHEMA, "acceptance": ACCEPTANCE_SCHEMA},
    "long_texts": LONG_TEXTS_SCHEMA,
}


def make(inputs: Mapping[str, Any], **shown: Any) -> str:
    """The page from a rule's files of its tables, by name; empty for those that the study does not make."""
    tables = {name: read_or_empty(inputs, name, schema) for name, schema in _SCHEMAS.items()}
    clean = pl.scan_parquet(inputs["clean"]).select(pl.len()).collect().item()
    raw = table_metadata(inputs["clean"]).get("rows_of_source", clean)  # of an earlier version, without
    return first_page(tables, **shown, cleaned=(raw, raw - clean))


def first_page(
    tables: Mapping[str, pl.DataFrame],
    models: Named,
    variants: Named,
    written: Sequence[str],
    controls: Mapping[str, Mapping[str, str]],
    n_texts: int,
    min_texts: int,
    template: str,
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
        cleaned: rows of the source, and how many of them cleaning left out.
    """
    labels, comparisons = dict(variants), tables["comparisons"]
    unbalanced = set(comparisons.filter(pl.col("imbalance").fill_null("") != "").select("variant", "minus").rows())
    questions = questions_of(
        tables["claims"],
        tables["contrasts"],
        tables["depth"],
        [name for name, _ in models],
        labels,
        written,
        controls,
        unbalanced,
    )
    return render(
        template,
        blocks=blocks(questions, models),
        n_models=len(models),
        groups=_groups(questions),
        legend=[(name, VERDICTS[name], words) for name, words in _legend(questions).items()],
        looks=VERDICTS,
        marks={mark for question in questions for cell in question.cells.values() for mark in cell.marks},
        curve=depth_curve(tables["summary"], models),
        n_texts=n_texts,
        min_texts=min_texts,
        accepted=_accepted(tables["acceptance"], labels),
        not_tested=_not_tested(comparisons, labels),
        more_change=MORE_CHANGE,
        cleaned=cleaned,
        long_texts=_long_texts(tables["long_texts"], dict(models)),
        claims=Counter(tables["claims"]["verdict"]),
        n_fragile=int(tables["claims"]["fragile"].sum()),
        uncontrolled=_uncontrolled(questions, comparisons, controls, labels),
        rises=dict.fromkeys(cell.rises for question in questions for cell in question.cells.values() if cell.rises),
    )


def blocks(questions: Sequence[Question], models: Named) -> list[tuple[list[str], list[tuple[Question, list]]]]:
    """The grid, in parts of at most five models side by side: headings, and each question with its cells.

    Of more than ten models, one column says in how many it is so. A cell that holds for all models stands alone.
    """
    if len(models) > _MOST_MODELS:
        cells = [(question, [together(question, models)]) for question in questions]
        return [([f"{len(models)} models"], cells)]
    n_parts = -(-len(models) // _SIDE_BY_SIDE)
    size = -(-len(models) // n_parts)
    parts = []
    for start in range(0, len(models), size):
        part = models[start : start + size]
        rows = []
        for question in questions:
            if None in question.cells:
                rows.append((question, [shown(question.cells[None])]))
                continue
            absent = Cell(NOT_TESTED, reason="no result")
            rows.append((question, [shown(question.cells.get(name, absent)) for name, _ in part]))
        parts.append(([label for _, label in part], rows))
    return parts


def shown(cell: Cell) -> Shown:
    """A cell in at most seven words, besides its marks."""
    detail = tuple(filter(None, [cell.number, cell.counted]))
    return Shown(cell.look, cell.said, detail, " · ".join(cell.marks))


def together(question: Question, models: Named) -> Shown:
    """What a question's cells say in how many models, with the range of the sizes."""
    if None in question.cells:
        return shown(question.cells[None])
    absent = Cell(NOT_TESTED)
    cells = [question.cells.get(name, absent) for name, _ in models]
    counts = Counter(cell.said for cell in cells).most_common()
    said = ", ".join(f"{name} {n}" for name, n in counts)
    sized = sorted((cell for cell in cells if isfinite(cell.size)), key=lambda cell: cell.size)
    ends = list(dict.fromkeys(cell.number for cell in (*sized[:1], *sized[-1:])))
    marks = list(dict.fromkeys(mark for cell in cells for mark in cell.marks))
    few = where_few(cell.n for cell in cells if cell.counted and cell.unit == REVIEWS)
    detail = tuple(filter(None, [" to ".join(ends), few]))
    return Shown(LOOKS[counts[0][0]], said, detail, " · ".join(f"some {mark}" for mark in marks))


def _groups(questions: Sequence[Question]) -> dict[str, str]:
    """The headings of the grid, each with what is measured in most questions below it."""
    measured: dict[str, Counter[str]] = {}
    for question in questions:
        measured.setdefault(question.group, Counter())[question.measured] += 1
    return {group: words.most_common(1)[0][0] for group, words in measured.items()}


def _legend(questions: Sequence[Question]) -> dict[str, str]:
    """What the grid's cells say, by the verdict whose look it is."""
    said = {cell.said for question in questions for cell in question.cells.values()}
    return {
        look: listed([word for word in LOOKS if LOOKS[word] == look and word in said], "or")
        for look in VERDICTS
        if any(LOOKS[word] == look for word in said)
    }


def _accepted(acceptance: pl.DataFrame, labels: Mapping[str, str]) -> list[dict[str, Any]]:
    """Of each rewritten variant, how many texts are accepted, and of these changed."""
    rows = {row["variant"]: row for row in acceptance.iter_rows(named=True)}
    return [rows[name] | {"label": label} for name, label in labels.items() if name in rows]


def _not_tested(comparisons: pl.DataFrame, labels: Mapping[str, str]) -> list[tuple[str, str]]:
    """Comparisons that are not tested, by their reason: (names of them, reason)."""
    by_reason: dict[str, list[str]] = {}
    for row in comparisons.filter(~pl.col("tested")).iter_rows(named=True):
        pair = " against ".join(labels.get(row[side], row[side]) for side in ("variant", "minus"))
        by_reason.setdefault(row["reason"].removesuffix(f". {MORE_CHANGE}"), []).append(pair)
    return [(listed(pairs), reason) for reason, pairs in by_reason.items()]


def _long_texts(long_texts: pl.DataFrame, models: Mapping[str, str]) -> list[tuple[str, int, int]]:
    """(model, readings that were cut, readings that were left out) of each model that has any."""
    sums = long_texts.group_by("model").agg(pl.col("n_cut").sum(), pl.col("n_left_out").sum())
    found = {model: (n_cut, n_left_out) for model, n_cut, n_left_out in sums.rows()}
    return [(label, *found[name]) for name, label in models.items() if any(found.get(name, ()))]


def _uncontrolled(
    questions: Sequence[Question],
    comparisons: pl.DataFrame,
    controls: Mapping[str, Mapping[str, str]],
    labels: Mapping[str, str],
) -> str:
    """The variants that are compared with the original alone: no control tells position from rewriting."""
    in_controls = {control for named in controls.values() for control in named.values()}
    compared = comparisons.filter(minus=ORIGINAL)["variant"].to_list()
    alone = [labels.get(name, name) for name in compared if name not in controls and name not in in_controls]
    return listed(alone)
