"""What a study asks, and what its numbers answer: the rows and cells of the grid on the report's first page.

A question stands in the grid where a tested claim of the study, or a contrast or change over depth that it measures, is
about it. Its number is that of one row of a table, the same row for every model; other metrics and layers count as
further comparisons of the question.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import polars as pl

from homogenization.claims.findings import ATTENTION, OVER_DEPTH, STATED, Finding, findings
from homogenization.claims.terms import views_of
from homogenization.figures.catalogue import HEADLINE_METRICS
from homogenization.metrics.catalogue import describe_metric, likeness
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.prose import grouped, sentence
from homogenization.names.variants import ORIGINAL
from homogenization.names.verdicts import DECIDED, NOT_TESTED, SEEDS, SUPPORTED

# of controls that have the same phrases at another place
PLACE_ROLES = ("edge", "side", "rewriting")
Controls = Mapping[str, Mapping[str, str]]

DEPTH, TEXTS, FIRST_TOKEN, CAUSES, HARM, TRAINING = GROUPS = (
    *("Depth", "Where key phrases stand", "The first token", "Changed attention", "What it costs", "Training"),
)
# how the reason begins why a claim is about what the study does not have
_LACKING = ("the study ", "the model does not read ")
_RESULT = dict.fromkeys(DECIDED, SUPPORTED)  # of a contrast; which of the two, its estimate says


class Topic(NamedTuple):
    """What the findings of a question have in common.

    Attributes:
        group: heading that the question stands under.
        variant: variant that is compared, if one is.
        minus: variant that is subtracted.
        what: what else tells questions of the group apart: a view, a metric, a statement, or what is measured.
    """

    group: str
    variant: str | None = None
    minus: str | None = None
    what: str = ""


@dataclass(frozen=True)
class Question:
    """A row of the grid.

    Attributes:
        topic: what it is about.
        first: its first finding, which has the statement that is judged, and the role of what is subtracted.
        measured: what the number is, in words.
        cells: by model; that of None holds for all.
    """

    topic: Topic
    first: Finding
    measured: str
    cells: Mapping[str | None, Finding]


def questions_of(
    tables: Mapping[str, pl.DataFrame],
    models: Sequence[str],
    variants: Sequence[str],
    controls: Controls,
) -> list[Question]:
    """The questions of a study in the order of the grid.

    Claims answer first. Where no claim is about a contrast of the study, or about depth, the tables `contrasts` and
    `depth` answer, at the output.

    Args:
        tables: `claims`, without rows where the study judges none; `contrasts`, `depth`; and `comparisons`, which says
            which controls are out of balance.
        models: names of the models.
        variants: names of the variants, in the order of the configuration.
        controls: by variant and role, the name of its control (`Study.controls`).
    """
    claimed = findings(tables["claims"].filter(convention="raw").iter_rows(named=True), controls)
    asked = _by_topic([finding for finding in claimed if not finding.reason.startswith(_LACKING)])
    for topic, measured in _by_topic(_of_tables(tables, controls)).items():
        if topic.group != FIRST_TOKEN or topic.minus == ORIGINAL:  # attention beside controls: where a claim asks
            asked.setdefault(topic, measured)
    unbalanced = tables["comparisons"].filter(pl.col("imbalance").fill_null("") != "").select("variant", "minus").rows()
    in_controls = {control for named in controls.values() for control in named.values()}
    questions = []
    for topic, found in asked.items():
        if topic.group in (TEXTS, FIRST_TOKEN) and topic.minus == ORIGINAL and topic.variant in in_controls:
            continue  # what a control does beside the original is no question of its own
        place = variants.index(topic.variant) if topic.variant in variants else -1
        cells = _cells(found, models, (topic.variant, topic.minus) in unbalanced)
        question = Question(topic, found[0], _measured(_primary(found)), cells)
        questions.append(((GROUPS.index(topic.group), found[0].rank, place), question))
    return [question for _, question in sorted(questions, key=lambda placed: placed[0])]


def moves_of(questions: Sequence[Question], model: str) -> tuple[Finding | None, list[tuple[str, Finding, Any]]]:
    """What a model's cells say of depth, and of each variant that is compared with the original.

    Returns:
        The cell on depth, None without one; and the variant, its cell beside the original, and the first tested one
        beside a control of its place (`PLACE_ROLES`), None without one.
    """
    cells = {question.topic: question.cells[model] for question in questions if model in question.cells}
    tested = {topic: cell for topic, cell in cells.items() if cell.said != NOT_TESTED}
    of_texts = {topic[1:3]: cell for topic, cell in tested.items() if topic.group == TEXTS and not topic.what}
    beside = {pair[0]: cell for pair, cell in reversed(of_texts.items()) if cell.role in PLACE_ROLES}
    moves = [(variant, cell, beside.get(variant)) for (variant, minus), cell in of_texts.items() if minus == ORIGINAL]
    return tested.get(Topic(DEPTH)), moves


def headline_metric(names: Iterable[str]) -> str | None:
    """The metric that stands for how alike tokens are: the paper's, else the next that the study has; None without."""
    alike = [name for name in names if likeness(name)]
    return next((name for name in HEADLINE_METRICS if name in alike), min(alike, default=None))


def _by_topic(found: Sequence[Finding]) -> dict[Topic, list[Finding]]:
    topics = grouped(found, _topic)
    topics.pop(None, None)
    return topics


def _topic(finding: Finding) -> Topic | None:
    """The question that a finding is about; None where the grid has no such question."""
    statistic = finding.statistic
    if statistic in STATED:
        return Topic(TRAINING if statistic == "arms" else HARM, what=finding.statement)
    if statistic == "contrast" and finding.metric == ATTENTION:
        return Topic(FIRST_TOKEN, finding.variant, finding.minus, ATTENTION)
    if not finding.of_likeness:
        return None
    if statistic in OVER_DEPTH:
        return Topic(DEPTH) if finding.variant == ORIGINAL else None
    if statistic == "contrast":
        view = finding.other_view
        return Topic(FIRST_TOKEN if view else TEXTS, finding.variant, finding.minus, view)
    return Topic(CAUSES, what=finding.change)


def _measured(finding: Finding) -> str:
    """What the number is in few words: `Normalised effective rank, at the output`."""
    if finding.metric is None:
        return sentence(finding.measured.removeprefix("mean "))
    title = describe_metric(finding.metric).title
    if finding.statistic == "net_change":
        return f"{title}, output minus {finding.where.removeprefix('at ')}"
    return f"{title}, {finding.where}{', over seeds' if finding.unit == SEEDS else ''}"


def _primary(found: Sequence[Finding]) -> Finding:
    """The finding whose number stands in the grid: at the output, or a change from the input; of these the first."""
    tested = [finding for finding in found if finding.verdict != NOT_TESTED] or found
    return next((one for one in tested if one.layers == "output" or one.since == "input"), tested[0])


def _cells(found: Sequence[Finding], models: Sequence[str], unbalanced: bool) -> dict[str | None, Finding]:
    """The finding of each model that is like the primary one, marked where others of the model say something else."""
    primary = _cell_of(_primary(found))
    chosen = {finding.model: finding for finding in found if _cell_of(finding) == primary}
    cells = {}
    for model in (None, *models):
        if cell := chosen.get(model):
            others = {other.said for other in found if other.model == model} - {NOT_TESTED, cell.said}
            marks = (*["unbalanced"] * unbalanced, *["mixed"] * bool(others))
            cells[model] = replace(cell, marks=marks if cell.said != NOT_TESTED else ())
    return cells


def _cell_of(finding: Finding) -> tuple:
    return finding.claim, finding.statistic, finding.metric, finding.view, finding.layers, finding.since


def _of_tables(tables: Mapping[str, pl.DataFrame], controls: Controls) -> list[Finding]:
    """What the originals' net changes, and the contrasts at the output, say."""
    net_changes = tables["depth"].filter(variant=ORIGINAL, statistic="net_change")
    at_the_output = tables["contrasts"].filter(point=RESIDUAL_STREAM, depth=1.0)
    rows = [row | {"since": "input"} for row in in_first_views(net_changes).to_dicts()]
    rows += [
        row | {"statistic": "contrast", "layers": "output", "estimate": row["mean"]}
        for row in in_first_views(at_the_output).to_dicts()
    ]
    decided = [row | {"verdict": _RESULT.get(row["verdict"], row["verdict"] or NOT_TESTED)} for row in rows]
    return findings(decided, controls)


def in_first_views(table: pl.DataFrame) -> pl.DataFrame:
    """The rows in the first view of their metric; those of the headline metric stand first."""
    views = {name: views_of(name)[0] for name in table["metric"].unique()}
    first = pl.col("metric").replace_strict(views, default=None, return_dtype=pl.String)
    rows = table.filter(pl.col("view") == first)
    return rows.sort(pl.col("metric").ne_missing(headline_metric(rows["metric"].unique())), maintain_order=True)
