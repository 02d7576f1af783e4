"""What a study asks, and what its numbers answer: the rows and cells of the grid on the report's first page.

A question stands in the grid where a tested claim of the study, or a contrast or change over depth that it measures, is
about it. Its number is that of one row of a table, the same row for every model; other metrics and layers count as
further comparisons of the question.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

import polars as pl

from homogenization.claims.statistic import AT_LAYERS, SINCE, other_view
from homogenization.figures.catalogue import HEADLINE_METRICS
from homogenization.measures.views import VIEWS
from homogenization.metrics.attention import ATTENTION_METRICS
from homogenization.metrics.catalogue import describe_metric
from homogenization.metrics.registry import WITHOUT_FIRST
from homogenization.vocabulary.numbers import share_of_range, signed, significant
from homogenization.vocabulary.points import RESIDUAL_STREAM
from homogenization.vocabulary.variants import CONTROL_ROLES, ORIGINAL
from homogenization.vocabulary.verdicts import (
    CONTRADICTED,
    NEGLIGIBLE,
    NOT_TESTED,
    REVIEWS,
    SEEDS,
    SUPPORTED,
    UNDECIDED,
)

Row = Mapping[str, Any]
Labels = Mapping[str, str]

MORE, LESS = "more alike", "less alike"
#: Verdict of a claim whose look a cell has, by what the cell says.
LOOKS = {
    **{MORE: SUPPORTED, "more": SUPPORTED, "yes": SUPPORTED},
    **{LESS: CONTRADICTED, "less": CONTRADICTED, "no": CONTRADICTED},
    **{name: name for name in (NEGLIGIBLE, UNDECIDED, NOT_TESTED)},
}
DEPTH, TEXTS, FIRST_TOKEN, CAUSES, HARM, TRAINING = (
    *("Depth", "Where key phrases stand", "The first token", "Changed attention", "What it costs", "Training"),
)
_OF_LIKENESS = ("net_change", "slope", "contrast", "intervention")
_ATTENTION = "first_token_attention_excess"
_ATTRACTION = "cosine_to_first_token"  # close to the first token is not close to each other
# how the reason begins why a claim is about what the study does not have
_LACKING = ("the study ", "the model does not read ")
_THAN = {
    ORIGINAL: "{variant}: more alike than the original?",
    "edge": "{variant}: more than the same phrases moved inward?",
    "key": "{variant}: more than other phrases moved alike?",
    "rewriting": "{variant}: more than a plain rewriting?",
}
# what a row needs of a table of claims; of `contrasts` and `depth` it is made
_USED = (
    *("claim", "statement", "statistic", "model", "metric", "view", "variant", "minus", "layers", "since", "verdict"),
    *("measured", "fragile", "estimate", "ci_low", "ci_high", "share_of_depth", "depth_range", "n_reviews", "unit"),
    "reason",
)
_RESULT = {"higher": SUPPORTED, "lower": SUPPORTED}  # of a contrast; which of the two, its estimate says


@dataclass(frozen=True)
class Cell:
    """The answer for one model, or for all models together.

    Attributes:
        said: `more alike`, `less alike`, `more`, `less`, `yes`, `no`, `negligible`, `undecided` or `not tested`.
        size: the one number: a share of what depth does, positive where `rises` says, or the estimate.
        whole: what depth does, the range that `size` is a share of; NaN where it is none.
        rises: what a share above 0 means: `more alike`, `more attention` or `a larger number`.
        n: reviews or seeds in it.
        unit: `reviews`, `pools` or `seeds`.
        marks: `fragile`, `unbalanced`, `mixed`: other comparisons of the question are decided otherwise.
        reason: why it is not tested.
    """

    said: str
    size: float = nan
    whole: float = nan
    rises: str = ""
    n: int = 0
    unit: str = REVIEWS
    marks: tuple[str, ...] = ()
    reason: str = ""

    @property
    def look(self) -> str:
        """The verdict whose colour and sign it has."""
        return LOOKS[self.said]

    @property
    def number(self) -> str:
        """The size in words: `+0.4 % of 0.52`, of depth, or `−0.31`; empty where there is none."""
        if not isfinite(self.size):
            return ""
        return signed(share_of_range(self.size, self.whole) if isfinite(self.whole) else significant(self.size, 2))

    @property
    def counted(self) -> str:
        """`n 32`, or `3 seeds`; empty where nothing is counted."""
        if self.said == NOT_TESTED:
            return ""
        return f"n {self.n}" if self.unit == REVIEWS else f"{self.n} {self.unit if self.n != 1 else self.unit[:-1]}"


@dataclass(frozen=True)
class Question:
    """A row of the grid.

    Attributes:
        group: heading that it stands under.
        text: the question, or the statement that is judged.
        measured: what the number is, in words.
        cells: by model; that of None holds for all.
    """

    group: str
    text: str
    measured: str
    cells: Mapping[str | None, Cell]


def questions_of(
    claims: pl.DataFrame,
    contrasts: pl.DataFrame,
    depth: pl.DataFrame,
    models: Sequence[str],
    variants: Labels,
    written: Collection[str],
    controls: Mapping[str, Mapping[str, str]],
    unbalanced: Collection[tuple[str, str]] = (),
) -> list[Question]:
    """The questions of a study in the order of the grid.

    Claims answer first. Where no claim is about a contrast of the study, or about depth, the tables `contrasts` and
    `depth` answer, at the output.

    Args:
        claims: the table `claims`, without rows where the study judges none.
        contrasts: the table `contrasts`.
        depth: the table `depth`.
        models: names of the models.
        variants: label of each variant by its name, in the order of the configuration.
        written: variants that a language model writes.
        controls: by variant and role, the name of its control (`Study.controls`).
        unbalanced: pairs (variant, control) that are out of balance.
    """
    rows = [row for row in claims.iter_rows(named=True) if row["convention"] == "raw"]
    asked = _by_question([row for row in rows if not (row["reason"] or "").startswith(_LACKING)])
    for key, of_tables in _by_question([*_over_depth(depth), *_at_the_output(contrasts)]).items():
        if key[0] != FIRST_TOKEN or key[2] == ORIGINAL:  # attention beside controls: where a claim asks
            asked.setdefault(key, of_tables)
    roles = {(variant, control): role for variant, named in controls.items() for role, control in named.items()}
    in_controls = {control for named in controls.values() for control in named.values()}
    questions = []
    for key, of_question in asked.items():
        group, variant, minus, _ = key
        role = ORIGINAL if minus == ORIGINAL else roles.get((variant, minus))
        if group in (TEXTS, FIRST_TOKEN) and role == ORIGINAL and variant in in_controls:
            continue  # what a control does beside the original is no question of its own
        place = (_GROUPS.index(group), _rank(role), *_placed(variant, variants), len(questions))
        text = _in_words(key, of_question[0], role, variants, written)
        questions.append((place, _question(group, text, of_question, models, (variant, minus) in unbalanced)))
    return [question for _, question in sorted(questions, key=lambda placed: placed[0])]


_GROUPS = (DEPTH, TEXTS, FIRST_TOKEN, CAUSES, HARM, TRAINING)


def _rank(role: str | None) -> int:
    ranked = (ORIGINAL, *CONTROL_ROLES)
    return ranked.index(role) if role in ranked else len(ranked)


def _placed(variant: str | None, variants: Labels) -> tuple[int]:
    return (list(variants).index(variant) if variant in variants else -1,)


def _by_question(rows: Iterable[Row]) -> dict[tuple, list[Row]]:
    asked: dict[tuple, list[Row]] = {}
    for row in rows:
        if key := _key(row):
            asked.setdefault(key, []).append(row)
    return asked


def _key(row: Row) -> tuple[str, str | None, str | None, str] | None:
    """What a row is about: group, variant, what is subtracted, and what else tells questions of the group apart."""
    statistic, metric = row["statistic"], row["metric"]
    if statistic == "arms":
        return TRAINING, None, None, row["statement"]
    if statistic == "consequence":
        return HARM, None, None, row["statement"]
    if statistic not in _OF_LIKENESS:
        return None
    pair = row["variant"], row["minus"]
    if statistic == "contrast" and metric == _ATTENTION:
        return FIRST_TOKEN, *pair, _ATTENTION
    if not describe_metric(metric).homogenization or metric == _ATTRACTION:
        return None
    if statistic in ("net_change", "slope"):
        return (DEPTH, None, None, "") if row["variant"] == ORIGINAL else None
    if statistic == "contrast":
        view = other_view(row)
        return FIRST_TOKEN if view else TEXTS, *pair, view
    if statistic == "intervention":
        return CAUSES, None, None, row["measured"].removesuffix(f" {AT_LAYERS[row['layers']]}")
    return None


def _in_words(key: tuple, first: Row, role: str | None, variants: Labels, written: Collection[str]) -> str:
    group, variant, minus, what = key
    if group == DEPTH:
        return "Do tokens grow more alike with depth?"
    if group not in (TEXTS, FIRST_TOKEN):
        return first["statement"].rstrip(".")
    name, other = (_sentence(variants.get(each, each)) for each in (variant, minus))
    if variant in written and variants.get(variant) == variant:  # a label says it
        name += ", by a language model"
    if variant in written and minus not in (ORIGINAL, *written) and variants.get(minus) == minus:
        other += ", by rule"
    if what == _ATTENTION:
        return f"{name}: more attention on it than in {'the original' if minus == ORIGINAL else other}?"
    text = _THAN.get(role, "{variant}: more than {minus}?").format(variant=name, minus=other)
    if not what:
        return text
    return f"{text.removesuffix('?')}, {'without it' if what == WITHOUT_FIRST else what.replace('_', ' ')}?"


def _question(group: str, text: str, rows: Sequence[Row], models: Sequence[str], unbalanced: bool) -> Question:
    primary = _primary(rows)
    chosen = {row["model"]: row for row in rows if _cell_of(row) == _cell_of(primary)}
    cells = {model: _cell(chosen[model], group, rows, unbalanced) for model in (None, *models) if model in chosen}
    return Question(group, text, _measured(primary), cells)


def _measured(row: Row) -> str:
    """What the number is in few words: `Normalised effective rank, at the output`."""
    if row["metric"] is None:
        return _sentence(row["measured"].removeprefix("mean "))
    title = describe_metric(row["metric"]).title
    if row["statistic"] == "net_change":
        return f"{title}, output minus {SINCE[row['since']][1].removeprefix('at ')}"
    place = AT_LAYERS.get(row["layers"], row["measured"])
    return f"{title}, {place}{', over seeds' if row['unit'] == SEEDS else ''}"


def _cell_of(row: Row) -> tuple:
    return tuple(row[name] for name in ("claim", "statistic", "metric", "view", "layers", "since"))


def _primary(rows: Sequence[Row]) -> Row:
    """The row whose number stands in the grid: at the output, or a net change from the input; of these the first."""
    tested = [row for row in rows if row["verdict"] != NOT_TESTED] or rows
    return next((row for row in tested if row["layers"] == "output" or row["since"] == "input"), tested[0])


def _cell(row: Row, group: str, rows: Sequence[Row], unbalanced: bool) -> Cell:
    said = _said(row, group)
    if said == NOT_TESTED:
        return Cell(said, reason=row["reason"] or "no result")
    size, whole, rises = row["estimate"], nan, ""
    if group != DEPTH and isfinite(row["share_of_depth"]):
        sign, rises = _upwards(row["metric"])
        size, whole = sign * row["share_of_depth"], row["depth_range"]
    others = {_said(other, group) for other in rows if other["model"] == row["model"]} - {NOT_TESTED, said}
    marks = {"fragile": row["fragile"], "unbalanced": unbalanced, "mixed": others}
    return Cell(
        said, size, whole, rises, row["n_reviews"], row["unit"], tuple(name for name, true in marks.items() if true)
    )


def _upwards(metric: str | None) -> tuple[int, str]:
    """The sign by which shares of a metric are shown, and what they mean above 0 then."""
    if metric is None or metric == _ATTRACTION or not describe_metric(metric).homogenization:
        return 1, "more attention" if metric in ATTENTION_METRICS else "a larger number"
    return describe_metric(metric).homogenization, MORE


def _said(row: Row, group: str) -> str:
    """What the row says; a verdict on the claim where the group has statements, else on the question."""
    if row["verdict"] not in (SUPPORTED, CONTRADICTED):
        return row["verdict"]
    if group in (HARM, TRAINING):
        return "yes" if row["verdict"] == SUPPORTED else "no"
    if row["metric"] == _ATTENTION:
        return "more" if row["estimate"] > 0 else "less"
    return MORE if row["estimate"] * describe_metric(row["metric"]).homogenization > 0 else LESS


def _at_the_output(contrasts: pl.DataFrame) -> list[Row]:
    """Rows as of claims, of each contrast at the output."""
    stream = _headline_first(contrasts.filter(point=RESIDUAL_STREAM, depth=1.0))
    return [
        _row(row, "contrast", "mean difference at the output")
        | {"minus": row["minus"], "layers": "output", "estimate": row["mean"]}
        | {name: _number(row[name]) for name in ("share_of_depth", "depth_range")}
        | {"reason": row["reason"], "fragile": row["fragile"]}
        | {"verdict": _RESULT.get(row["verdict"], row["verdict"])}
        for row in stream.iter_rows(named=True)
    ]


def _over_depth(depth: pl.DataFrame) -> list[Row]:
    """Rows as of claims, of each net change of the originals."""
    changes = _headline_first(depth.filter(variant=ORIGINAL, statistic="net_change"))
    return [
        _row(row, "net_change", "mean change from the input to the output")
        | {"since": "input", "estimate": row["estimate"], "fragile": bool(row["fragile"])}
        | {"verdict": _RESULT.get(row["verdict"], row["verdict"] or NOT_TESTED)}
        for row in changes.iter_rows(named=True)
    ]


def _headline_first(table: pl.DataFrame) -> pl.DataFrame:
    """Rows in the first view of their metric; those of the headline metric stand first."""
    names = table["metric"].unique().to_list()
    views = {name: (describe_metric(name).views or VIEWS)[0] for name in names}
    first = pl.col("metric").replace_strict(views, default=None, return_dtype=pl.String)
    headline = headline_metric(names)
    return table.filter(pl.col("view") == first).sort(pl.col("metric").ne_missing(headline), maintain_order=True)


def headline_metric(names: Collection[str]) -> str | None:
    """The metric that stands for how alike tokens are: the paper's, else the next that the study has; None without."""
    alike = [name for name in names if describe_metric(name).homogenization and name != _ATTRACTION]
    return next((name for name in HEADLINE_METRICS if name in alike), min(alike, default=None))


def _row(row: Row, statistic: str, measured: str) -> dict[str, Any]:
    copied = {name: row[name] for name in ("model", "variant", "view", "metric", "n_reviews", "ci_low", "ci_high")}
    blank = dict.fromkeys(_USED) | {"fragile": False, "share_of_depth": nan, "depth_range": nan, "unit": REVIEWS}
    return blank | copied | {"statistic": statistic, "measured": measured}


def _number(value: float | None) -> float:
    return nan if value is None else value


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]
