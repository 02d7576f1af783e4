"""The table `answers`: what the claims say of a model, in words made from their numbers."""

from collections.abc import Collection, Mapping, Sequence

import polars as pl

from homogenization.claims.statistic import AT_LAYERS
from homogenization.metrics.catalogue import describe_metric
from homogenization.vocabulary.numbers import share_in_words
from homogenization.vocabulary.variants import ORIGINAL
from homogenization.vocabulary.verdicts import CONTRADICTED, NEGLIGIBLE, NOT_TESTED, SUPPORTED

#: What the claims say of each model together, in words made from their numbers: the first lines of the report. Slopes
#: over depth, contrasts with the original and with each control, and changed attention count, of metrics that measure
#: homogenization in single texts. Nearness to the first token does not. Models of which no such claim was tested share
#: the last row.
ANSWERS_SCHEMA = {
    "model": pl.String,  #: name of the model; in the last row the names of up to three models, or how many they are
    #: what grows alike over depth; in how many comparisons key phrases at an edge make tokens more alike than each
    #: control does, and the largest of these differences as a share of what depth does; likewise for changed attention
    "answer": pl.String,
}
_NO_ANSWER = "No claim on depth, position or attention was tested."
_FEW = 3  # models that share a row and are still named
_COUNTED = ("slope", "contrast", "intervention")
_ATTRACTION = "cosine_to_first_token"  # close to the first token is not close to each other
_THAN = {  # role of what is subtracted -> what it is, as the sentence names it
    ORIGINAL: "in the original",
    "edge": "with the same phrases moved as far inward",
    "key": "with other phrases moved to the same edge",
    "rewriting": "in the same reviews rewritten without a preferred place",
}


def answers_table(
    claims: pl.DataFrame,
    models: Sequence[str],
    controls: Mapping[str, Mapping[str, str]],
    doses: Mapping[str, str],
) -> pl.DataFrame:
    """What grows alike over depth, whether key phrases at an edge or attention do it, and how large that is.

    Counted are slopes, contrasts and interventions of metrics that measure homogenization, of each text by itself;
    whichever side a claim is on, tokens are *more alike* where the estimate is on the side of homogenization and the
    verdict decided. Models of which no such claim was tested share the last row. The columns are those of
    `ANSWERS_SCHEMA`.

    Args:
        claims: the table `claims`.
        models: names of the models, in the order of the rows.
        controls: by variant and role, the name of its control (`Study.controls`).
        doses: what a claim on an intervention compares, by the claim's name (`dose_in_words`).
    """
    roles = {(variant, control): role for variant, named in controls.items() for role, control in named.items()}
    roles |= {(variant, ORIGINAL): ORIGINAL for variant in controls}
    judged = [
        row
        for row in claims.filter(pl.col("verdict") != NOT_TESTED, convention="raw").iter_rows(named=True)
        if row["statistic"] in _COUNTED and describe_metric(row["metric"]).homogenization
    ]
    rows = []
    for model in models:
        of_model = [row for row in judged if row["model"] == model]
        slopes = [row for row in of_model if row["statistic"] == "slope"]
        contrasts = [row for row in of_model if row["statistic"] == "contrast"]
        by_role = {
            role: [row for row in contrasts if roles.get((row["variant"], row["minus"])) == role] for role in _THAN
        }
        sentences = [_over_depth(slopes), *(_at_an_edge(by_role, layers) for layers in AT_LAYERS)]
        changed = [row for row in of_model if row["statistic"] == "intervention"]
        sentences += [_under_change(changed, doses, layers) for layers in AT_LAYERS]
        if answer := " ".join(filter(None, sentences)):
            rows.append((model, answer))
    answered = {model for model, _ in rows}
    if silent := [model for model in models if model not in answered]:
        rows.append((_together(silent, answered), _NO_ANSWER))
    return pl.DataFrame(rows, schema=ANSWERS_SCHEMA, orient="row")


def _together(silent: Sequence[str], answered: Collection[str]) -> str:
    """The models without an answer, by name if they are few: snapshots of trained models can be dozens."""
    if len(silent) <= _FEW:
        return _listed(silent, "and")
    return f"{len(silent)} other models" if answered else f"all {len(silent)} models"


def _over_depth(slopes: Sequence[Mapping]) -> str:
    """A sentence such as `Over depth, tokens grow alike by effective rank, not by cosine anisotropy`."""
    alike = [_title(row) for row in slopes if _more_alike(row)]
    others = [_title(row) for row in slopes if not _more_alike(row)]
    if not slopes:
        return ""
    if not alike:
        return f"Over depth, tokens do not grow alike by {_listed(others, 'or')}."
    without = f", not by {_listed(others, 'or')}" if others else ""
    return f"Over depth, tokens grow alike by {_listed(alike, 'and')}{without}."


def _at_an_edge(by_role: Mapping[str, Sequence[Mapping]], layers: str) -> str:
    """A sentence such as `At the output, key phrases ... more alike than in the original in 3 of 4 comparisons`."""
    there = {role: [row for row in rows if row["layers"] == layers] for role, rows in by_role.items()}
    there = {role: rows for role, rows in there.items() if rows}
    if not there:
        return ""
    where = f"Averaged {AT_LAYERS[layers]}" if layers == "all" else AT_LAYERS[layers].capitalize()
    of_all = [row for rows in there.values() for row in rows]
    if all(row["verdict"] == NEGLIGIBLE for row in of_all):
        others = ["the original"] * (ORIGINAL in there) + ["the controls"] * bool(set(there) - {ORIGINAL})
        return (
            f"{where}, it makes no difference that matters whether key phrases stand at an edge of their sentence: "
            f"each of {len(of_all)} comparisons with {_listed(others, 'and')} is negligible ({_largest(of_all)})."
        )
    parts = [f"than {_THAN[role]} in {_count(rows)}" for role, rows in there.items()]
    return f"{where}, key phrases at an edge of their sentence make tokens more alike {_listed(parts, 'and')}."


def _under_change(rows: Sequence[Mapping], doses: Mapping[str, str], layers: str) -> str:
    """A sentence such as `At the output, tokens are more alike under first .1 than untouched in 1 of 2 comparisons`."""
    there: dict[str, dict[str, list[Mapping]]] = {}
    for row in rows:
        if row["layers"] == layers and row["metric"] != _ATTRACTION:
            dose, _, control = doses[row["claim"]].partition(" less ")
            there.setdefault(dose, {}).setdefault(f"under {control}" if control else "untouched", []).append(row)
    parts = []
    for dose, by_control in there.items():
        than = [f"than {control} in {_count(compared)}" for control, compared in by_control.items()]
        parts.append(f"under {dose}, {_listed(than, 'and')}")
    where = f"Averaged {AT_LAYERS[layers]}" if layers == "all" else AT_LAYERS[layers].capitalize()
    return f"{where}, tokens are more alike {'; '.join(parts)}." if parts else ""


def _count(rows: Sequence[Mapping]) -> str:
    """How many of `rows` are more alike: `3 of 4 comparisons (1 fragile; up to 0.6 % of what depth does)`."""
    alike = [row for row in rows if _more_alike(row)]
    fragile = sum(row["fragile"] for row in alike)
    less = sum(row["verdict"] in (SUPPORTED, CONTRADICTED) and not _more_alike(row) for row in rows)
    negligible = sum(row["verdict"] == NEGLIGIBLE for row in rows)
    notes = [
        f"{fragile} fragile" if fragile else "",
        f"less alike in {less}" if less else "",
        f"negligible in {negligible}" if negligible else "",
        _largest(rows),
    ]
    comparisons = "comparison" if len(rows) == 1 else "comparisons"
    return f"{len(alike)} of {len(rows)} {comparisons} ({'; '.join(filter(None, notes))})"


def _largest(rows: Sequence[Mapping]) -> str:
    """The largest difference of `rows`: `up to 0.6 % of what depth does`."""
    return f"up to {share_in_words(max(abs(row['share_of_depth']) for row in rows))} of what depth does"


def _more_alike(row: Mapping) -> bool:
    """Whether the verdict is decided and the estimate on the side of homogenization."""
    decided = row["verdict"] in (SUPPORTED, CONTRADICTED)
    return decided and row["estimate"] * describe_metric(row["metric"]).homogenization > 0


def _title(row: Mapping) -> str:
    title = describe_metric(row["metric"]).title.partition(" (")[0]
    return title[:1].lower() + title[1:]


def _listed(names: Sequence[str], last: str) -> str:
    """`a`, `a and b`, `a, b and c`; each name once."""
    names = list(dict.fromkeys(names))
    return f" {last} ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
