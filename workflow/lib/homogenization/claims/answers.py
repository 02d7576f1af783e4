"""The table `answers`: what the claims say of a model, in words made from their numbers."""

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from homogenization.claims.findings import OVER_DEPTH, Finding, findings
from homogenization.claims.terms import AT_LAYERS, CHANGE_BY, SINCE
from homogenization.names.changes import MORE_CHANGE
from homogenization.names.prose import grouped, listed, write
from homogenization.names.variants import ORIGINAL
from homogenization.names.verdicts import NOT_TESTED

#: What the claims say of each model together, in words made from their numbers: the first lines of the report. Net
#: changes and slopes over depth, contrasts with the original and with each control, and changed attention count, of
#: metrics that measure homogenization in single texts. Nearness to the first token does not. Models of which no such
#: claim was tested share the last row.
ANSWERS_SCHEMA = {
    "model": pl.String,  #: name of the model; in the last row the names of up to three models, or how many they are
    #: which variants were not tested because too few of their texts changed; by which metrics tokens are more or less
    #: alike at the output than at the input and after the first block, and where the slope points; in how many
    #: comparisons key phrases at an edge make tokens more alike than each control does, the largest of these
    #: differences with its metric, its direction and its share of what depth does, and of which range, how many texts
    #: there are where they are few, and the share of the texts that differ; likewise for changed attention; which
    #: variants have no control
    "answer": pl.String,
}
_NO_ANSWER = "No claim on depth, position or attention was tested."
_MINUS = " minus "  # within what a claim on an intervention compares
_SINCE, _LAYERS = (*SINCE, None), (*AT_LAYERS, None)  # in the order of their sentences
_FEW = 3  # models that share a row and are still named


def answers_table(
    claims: pl.DataFrame,
    models: Sequence[str],
    controls: Mapping[str, Mapping[str, str]],
    words: str,
    *,
    unchanged: Sequence[tuple[str, int, int]] = (),
    min_reviews: int = 0,
) -> pl.DataFrame:
    """What grows alike over depth, whether key phrases at an edge or attention do it, and how large that is.

    Whichever side a claim is on, tokens are *more alike* where the estimate is on the side of homogenization and the
    verdict decided. The columns are those of `ANSWERS_SCHEMA`.

    Args:
        claims: the table `claims`.
        models: names of the models, in the order of the rows.
        controls: by variant and role, the name of its control (`Study.controls_at_an_edge`).
        words: the template of an answer.
        unchanged: variants of which too few texts differ from the original, with the number of texts that are as the
            original, and that of texts (`unchanged_variants`).
        min_reviews: fewest texts that have to differ.
    """
    tested = claims.filter(pl.col("verdict") != NOT_TESTED, convention="raw")
    found = [finding for finding in findings(tested.iter_rows(named=True), controls) if finding.of_likeness]
    found.sort(key=lambda one: (_SINCE.index(one.since), _LAYERS.index(one.layers), one.rank))
    by_model, still = grouped(found, lambda one: one.model), {"unchanged": unchanged, "min_reviews": min_reviews}
    rows, silent = [], []
    for model in models:
        said = _said(by_model.get(model, []), controls)
        if said["depths"] or said["edges"] or said["changes"]:
            rows.append((model, write(words, **said, **still, more_change=MORE_CHANGE)))
        else:
            silent.append(model)
    if silent:
        answer = write(words, **_said([], controls), **still, more_change=MORE_CHANGE)
        rows.append((_together(silent, len(models)), f"{answer} {_NO_ANSWER}".strip()))
    return pl.DataFrame(rows, schema=ANSWERS_SCHEMA, orient="row")


def _said(found: Sequence[Finding], controls: Mapping[str, Mapping[str, str]]) -> dict:
    """The values of the template that are made of the findings of a model."""
    contrasts = [finding for finding in found if finding.statistic == "contrast"]
    compared = {finding.variant for finding in contrasts}
    return {
        "depths": _over_depth(found),
        "edges": grouped(
            (one for one in contrasts if one.role and one.variant in controls),
            lambda one: one.where,
            lambda one: (one.role, one.other_view),
        ),
        "changes": grouped(
            (one for one in found if one.statistic == "intervention"),
            lambda one: one.where,
            lambda one: one.change.removeprefix(CHANGE_BY).partition(_MINUS)[0],
            lambda one: (one.change.partition(_MINUS)[2], one.other_view),
        ),
        "differing": sorted({finding.share_changed for finding in contrasts}),
        "alone": [f"`{name}`" for name, named in controls.items() if not named and name in compared],
    }


def _together(silent: Sequence[str], n_models: int) -> str:
    """The models without an answer, by name if they are few: snapshots of trained models can be dozens."""
    if len(silent) <= _FEW:
        return listed(silent)
    return f"all {n_models} models" if len(silent) == n_models else f"{len(silent)} other models"


def _over_depth(found: Iterable[Finding]) -> list[tuple[list[str], list[Finding]]]:
    """Titles of metrics of which all findings on the depth of originals say the same, with those of one of them."""
    over_depth = (one for one in found if one.statistic in OVER_DEPTH and one.variant == ORIGINAL)
    alike: dict[frozenset, tuple[list[str], list[Finding]]] = {}
    for title, of_metric in grouped(over_depth, lambda one: one.title).items():
        last = {finding.since: finding for finding in of_metric}
        said = frozenset((since, finding.said) for since, finding in last.items())
        alike.setdefault(said, ([], list(last.values())))[0].append(title)
    return list(alike.values())
