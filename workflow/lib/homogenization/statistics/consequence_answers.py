"""The report's page on consequences: what homogenization costs each model, in words made from the tables."""

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from homogenization.statistics.harm import named
from homogenization.tables.intervened import UNTOUCHED
from homogenization.vocabulary.columns import columns
from homogenization.vocabulary.numbers import share_in_words, significant
from homogenization.vocabulary.variants import ORIGINAL

#: A row for each model: the answer under *Consequences* on the first page of the report.
ANSWERS_SCHEMA = {
    **columns("model"),
    "answer": pl.String,  #: what homogenization costs, in words
}
_LIKENESS = ("all_tokens", "cosine_anisotropy")


def answers_table(
    probes: pl.DataFrame, predictability: pl.DataFrame, shifts: pl.DataFrame, harm: pl.DataFrame, models: Sequence[str]
) -> pl.DataFrame:
    """A row for each of `models`: what its probes find, what is predictable, how texts move, what conditions cost."""
    rows = []
    for model in models:
        sentences = [
            _of_probes(probes.filter(model=model, kind=UNTOUCHED, variant=ORIGINAL)),
            _of_predictability(predictability.filter(model=model)),
            _of_shifts(shifts.filter(pl.col("minus").is_null(), model=model, kind=UNTOUCHED)),
            *_of_harm(harm.filter(model=model)),
        ]
        rows.append((model, " ".join(filter(None, sentences)) or "Nothing was measured."))
    return pl.DataFrame(rows, schema=ANSWERS_SCHEMA, orient="row")


def _of_probes(rows: pl.DataFrame) -> str:
    """What probes find at their best layer and at the output, beside permuted labels."""
    levels = rows.filter(pl.col("minus").is_null())
    losses = levels.filter(quantity="log_loss").sort("layer")
    if losses.is_empty():
        return "The labels were not probed."
    best = losses.sort("estimate").row(0, named=True)
    last = losses.row(-1, named=True)
    null = levels.filter(quantity="null_log_loss", layer=last["layer"])["estimate"][0]
    told = {
        place: levels.filter(quantity="accuracy", layer=row["layer"])["estimate"][0]
        for place, row in (("best", best), ("last", last))
    }
    lost = (
        "its last layer is its best"
        if best["layer"] == last["layer"]
        else f"at the output {share_in_words(told['last'])} and {_with_interval(last)} nats"
    )
    finds = "finds the labels" if last["ci_high"] < null else "does not find the labels at the output"
    return (
        f"A probe of pooled states {finds}: at layer {best['layer']}, {share_in_words(told['best'])} are right, with a "
        f"log-loss of {_with_interval(best)} nats; {lost}; with permuted labels {significant(null)} nats."
    )


def _of_predictability(rows: pl.DataFrame) -> str:
    """Whether alike tokens go with predictable texts at the output, raw and given the confounds."""
    if rows.is_empty():
        return ""
    if rows["reason"][0]:
        return f"No cross-entropy: {rows['reason'][0]}."
    view, metric = _LIKENESS
    of_cell = rows.filter(kind=UNTOUCHED, view=view, metric=metric)
    last = of_cell.filter(layer=of_cell["layer"].max())
    by_given = {row["given"]: row for row in last.iter_rows(named=True)}
    if len(by_given) < 2:
        return ""
    raw, given = by_given["nothing"], by_given["confounds"]
    if not np.isfinite(raw["estimate"]) or not np.isfinite(given["estimate"]):
        return ""
    remains = _decided(given) and given["estimate"] * raw["estimate"] > 0
    kept = "and this remains" if remains else "but not"
    if not _decided(raw):
        return (
            "At the output, the mean cosine does not go with cross-entropy over reviews (Spearman "
            f"{_with_interval(raw)}; given length, types and layer 0: {_with_interval(given)})."
        )
    side = "better" if raw["estimate"] < 0 else "worse"
    return (
        f"Texts whose tokens are alike at the output are predicted {side} (Spearman of mean cosine and cross-entropy "
        f"{_with_interval(raw)}), {kept} given length, types and the same cosine at layer 0: {_with_interval(given)}."
    )


def _of_shifts(rows: pl.DataFrame) -> str:
    """How far each text moves at the first and at the last layer."""
    clauses = []
    for (text,), of_text in rows.group_by("variant", maintain_order=True):
        of_text = of_text.filter(pl.col("estimate").is_finite()).sort("layer")
        if len(of_text):
            first, last = (of_text["estimate"][place] for place in (0, -1))
            clauses.append(f"`{text}` {share_in_words(first)} and {share_in_words(last)}")
    if not clauses:
        return ""
    told = ", ".join(clauses)
    return f"Of the distance between different texts, pooled states move at the input and at the output: {told}."


def _of_harm(rows: pl.DataFrame) -> list[str]:
    """What the condition costs that makes tokens most alike, beside the placebo that is nearest to it."""
    if rows.is_empty():
        return []
    alike = rows.filter(pl.col("cosine_low") > 0)
    pattern = alike.filter(~pl.col("placebo")).sort("cosine", descending=True)
    counts = f"{len(alike)} of {len(rows)} conditions make tokens more alike (mean cosine over layers)"
    if pattern.is_empty():
        return [f"{counts}{', all of them placebos' if len(alike) else ''}."]
    top = pattern.row(0, named=True)
    sentences = [f"{counts}. The strongest that is no placebo is {_costs(top)}."]
    placebos = alike.filter("placebo").with_columns(apart=(pl.col("cosine") - top["cosine"]).abs()).sort("apart")
    if placebos.is_empty():
        return [*sentences, "No placebo makes tokens more alike, so nothing tells likeness from damage."]
    return [*sentences, f"The placebo nearest to it in likeness is {_costs(placebos.row(0, named=True))}."]


def _costs(row: Mapping) -> str:
    """`first 0.4 (dial): cosine +.08 [...], KL .3 [...] nats, log-loss of the probe +.01 [...], shift of a typo …`."""
    parts = [f"cosine {_change(row, 'cosine')}"]
    for name, label in (
        ("kl", "KL {} nats"),
        ("cross_entropy", "cross-entropy {} nats"),
        ("probe", "log-loss of the probe {} nats"),
        ("shift", f"shift of one {str(row['perturbation']).replace('_', ' ')} {{}}"),
    ):
        if np.isfinite(row[name]):
            parts.append(label.format(_change(row, name)))
    moved = (
        f" (another token took over the sink in {row['n_sink_moved']} of {row['n_reviews']} reviews)"
        if row["n_sink_moved"]
        else ""
    )
    return f"{named(row)}{moved}: {', '.join(parts)}"


def _change(row: Mapping, name: str) -> str:
    return f"{significant(row[name])} [{significant(row[f'{name}_low'])}, {significant(row[f'{name}_high'])}]"


def _decided(row: Mapping) -> bool:
    return row["ci_low"] > 0 or row["ci_high"] < 0


def _with_interval(row: Mapping) -> str:
    return f"{significant(row['estimate'])} [{significant(row['ci_low'])}, {significant(row['ci_high'])}]"
