"""The table `answers`: what the claims say of a model, in words made from their numbers."""

from collections.abc import Collection, Mapping, Sequence
from math import isfinite
from typing import Any

import polars as pl

from homogenization.claims.statistic import AT_LAYERS, SINCE, other_view
from homogenization.metrics.catalogue import describe_metric
from homogenization.metrics.registry import WITHOUT_FIRST
from homogenization.vocabulary.changes import MORE_CHANGE
from homogenization.vocabulary.prose import listed, write
from homogenization.vocabulary.variants import CONTROL_ROLES, ORIGINAL
from homogenization.vocabulary.verdicts import CONTRADICTED, NEGLIGIBLE, NOT_TESTED, SUPPORTED, UNDECIDED

Row = Mapping[str, Any]

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
_FEW = 3  # models that share a row and are still named
_NET, _SLOPE = "net_change", "slope"
_COUNTED = (_NET, _SLOPE, "contrast", "intervention")
_MORE, _LESS = "more alike", "less alike"
_ATTRACTION = "cosine_to_first_token"  # close to the first token is not close to each other
_ROLES = (ORIGINAL, *CONTROL_ROLES)


def answers_table(
    claims: pl.DataFrame,
    models: Sequence[str],
    controls: Mapping[str, Mapping[str, str]],
    doses: Mapping[str, str],
    words: str,
    unchanged: Sequence[tuple[str, int, int]] = (),
    min_reviews: int = 0,
) -> pl.DataFrame:
    """What grows alike over depth, whether key phrases at an edge or attention do it, and how large that is.

    Counted are net changes and slopes of the originals, contrasts and interventions, of metrics that measure
    homogenization, of each text by itself; whichever side a claim is on, tokens are *more alike* where the estimate is
    on the side of homogenization and the verdict decided. Models of which no such claim was tested share the last row.
    The columns are those of `ANSWERS_SCHEMA`.

    Args:
        claims: the table `claims`.
        models: names of the models, in the order of the rows.
        controls: by variant and role, the name of its control (`Study.controls_at_an_edge`).
        doses: what a claim on an intervention compares, by the claim's name (`dose_in_words`).
        words: the template of an answer.
        unchanged: variants of which too few texts differ from the original, with the number of texts that are as the
            original, and that of texts (`unchanged_variants`).
        min_reviews: fewest texts that have to differ.
    """
    roles = {(variant, control): role for variant, named in controls.items() for role, control in named.items()}
    roles |= {(variant, ORIGINAL): ORIGINAL for variant in controls}
    judged = [
        row
        for row in claims.filter(pl.col("verdict") != NOT_TESTED, convention="raw").iter_rows(named=True)
        if row["statistic"] in _COUNTED and describe_metric(row["metric"]).homogenization
    ]
    still = {"unchanged": unchanged, "min_reviews": min_reviews, "more_change": MORE_CHANGE}
    rows = []
    for model in models:
        net, slopes, contrasts, changed = (
            [row for row in judged if row["model"] == model and row["statistic"] == statistic] for statistic in _COUNTED
        )
        said = {
            "depths": _over_depth(net + slopes),
            "edges": [edge for layers in AT_LAYERS if (edge := _at_an_edge(contrasts, roles, layers))],
            "changes": [change for layers in AT_LAYERS if (change := _under_change(changed, doses, layers))],
        }
        if any(said.values()):
            differing = sorted({row["share_changed"] for row in contrasts})
            compared = {row["variant"] for row in contrasts}
            alone = [f"`{name}`" for name, named in controls.items() if not named and name in compared]
            rows.append((model, write(words, differing=differing, alone=alone, **said, **still)))
    answered = {model for model, _ in rows}
    if silent := [model for model in models if model not in answered]:
        none = dict.fromkeys(("depths", "edges", "changes", "differing", "alone"), ())
        rows.append((_together(silent, answered), f"{write(words, **none, **still)} {_NO_ANSWER}".strip()))
    return pl.DataFrame(rows, schema=ANSWERS_SCHEMA, orient="row")


def _together(silent: Sequence[str], answered: Collection[str]) -> str:
    """The models without an answer, by name if they are few: snapshots of trained models can be dozens."""
    if len(silent) <= _FEW:
        return listed(silent)
    return f"{len(silent)} other models" if answered else f"all {len(silent)} models"


def _over_depth(rows: Sequence[Row]) -> list[tuple[list[str], dict[str, list[str]], str | None]]:
    """Titles of metrics of which all claims on depth say the same, with what the net changes and the slope say.

    A net change is told by where it begins, under what it says; the slope is None where no claim is about it. What
    they say is `more alike`, `less alike`, `negligible` or `undecided`.
    """
    by_metric: dict[str, dict[str, str]] = {}
    for row in rows:
        if row["variant"] == ORIGINAL:
            begins = SINCE[row["since"]][1] if row["statistic"] == _NET else _SLOPE
            by_metric.setdefault(_title(row), {})[begins] = _said(row)
    alike: dict[tuple, list[str]] = {}
    for title, said in by_metric.items():
        alike.setdefault(tuple(sorted(said.items())), []).append(title)
    found = []
    for pairs, titles in alike.items():
        said = dict(pairs)
        by_verdict: dict[str, list[str]] = {}
        for _, where in SINCE.values():
            if where in said:
                by_verdict.setdefault(said[where], []).append(where)
        found.append((titles, by_verdict, said.get(_SLOPE)))
    return found


def _said(row: Row) -> str:
    if row["verdict"] in (SUPPORTED, CONTRADICTED):
        return _MORE if _more_alike(row) else _LESS
    return row["verdict"]


def _at_an_edge(contrasts: Sequence[Row], roles: Mapping[tuple[str, str], str], layers: str) -> tuple | None:
    """Where it is, and how contrasts over these layers compare: all, and by the role of what is subtracted and view."""
    there = [(roles.get((row["variant"], row["minus"])), row) for row in contrasts if row["layers"] == layers]
    by_role: dict[tuple[str, str], list[Row]] = {}
    for role, row in sorted((pair for pair in there if pair[0]), key=lambda pair: _ROLES.index(pair[0])):
        by_role.setdefault((role, _seen(row)), []).append(row)
    if not by_role:
        return None
    together = _comparisons([row for rows in by_role.values() for row in rows])
    return _place(layers), together, {role: _comparisons(rows) for role, rows in by_role.items()}


def _under_change(changed: Sequence[Row], doses: Mapping[str, str], layers: str) -> tuple | None:
    """Where it is, and how interventions over these layers compare, by dose, and by what is subtracted and view."""
    by_dose: dict[str, dict[tuple[str, str], list[Row]]] = {}
    for row in changed:
        if row["layers"] == layers and row["metric"] != _ATTRACTION:
            dose, _, control = doses[row["claim"]].partition(" minus ")
            other = f"under {control}" if control else "untouched"
            by_dose.setdefault(dose, {}).setdefault((other, _seen(row)), []).append(row)
    counted = {
        dose: {control: _comparisons(rows) for control, rows in by_control.items()}
        for dose, by_control in by_dose.items()
    }
    return (_place(layers), counted) if counted else None


def _place(layers: str) -> str:
    return f"Averaged {AT_LAYERS[layers]}" if layers == "all" else AT_LAYERS[layers].capitalize()


def _comparisons(rows: Sequence[Row]) -> dict[str, Any]:
    """How many of `rows` are more alike, less alike or negligible, and the largest difference, as a share of depth.

    `largest` says of what metric and view that one is, which way it goes and of which range it is a share; it is None
    where no difference has such a share. `of_first` has the number of texts of each comparison that has another verdict
    where the first token stays, `n_texts` that of each comparison.
    """
    alike = [row for row in rows if _more_alike(row)]
    decided = [row for row in rows if row["verdict"] in (SUPPORTED, CONTRADICTED)]
    sized = [row for row in rows if isfinite(row["share_of_depth"])]
    largest = max(sized, key=lambda row: abs(row["share_of_depth"]), default=None)
    return {
        "n": len(rows),
        "n_alike": len(alike),
        "n_fragile": sum(row["fragile"] for row in alike),
        "n_less_alike": len(decided) - len(alike),
        "of_first": [row["n_same_first"] for row in rows if row["first_decides"]],
        "n_texts": [row["n_reviews"] for row in rows],
        "n_undecided": sum(row["verdict"] == UNDECIDED for row in rows),
        "n_negligible": sum(row["verdict"] == NEGLIGIBLE for row in rows),
        "largest": largest and _size(largest),
    }


def _size(row: Row) -> dict[str, Any]:
    """A difference without its sign, which way it goes, in which metric, and as a share of which range."""
    return {
        "title": _title(row),
        "difference": abs(row["estimate"]),
        "towards": _MORE if _towards_alike(row) else _LESS,
        "share": abs(row["share_of_depth"]),
        "depth_range": row["depth_range"],
    }


def _more_alike(row: Row) -> bool:
    """Whether the verdict is decided and the estimate on the side of homogenization."""
    return row["verdict"] in (SUPPORTED, CONTRADICTED) and _towards_alike(row)


def _towards_alike(row: Row) -> bool:
    return row["estimate"] * describe_metric(row["metric"]).homogenization > 0


def _seen(row: Row) -> str:
    """The view as it follows a comparison, where it is not the metric's first."""
    view = other_view(row)
    return ", without the first token," if view == WITHOUT_FIRST else view and f" ({view.replace('_', ' ')})"


def _title(row: Row) -> str:
    """The metric as a sentence names it, with its view where that is not its first."""
    title = describe_metric(row["metric"]).title.partition(" (")[0]
    return title[:1].lower() + title[1:] + (f" ({row['view'].replace('_', ' ')})" if other_view(row) else "")
