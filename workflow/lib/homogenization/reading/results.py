"""What a run left, in Python: tables with the meanings of their columns, texts, states, and a line to cite.

A study that lacks what is asked for, or has several of it, is a HomogenizationError that names what there is.
"""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from homogenization.metrics.catalogue import METRIC_NAMES, describe_metric
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL
from homogenization.reading.citation import CONFIGURATION, provenance
from homogenization.run.errors import HomogenizationError, nearest
from homogenization.run.parquet import read_table
from homogenization.run.yaml_files import read_yaml
from homogenization.states.store import open_store
from homogenization.tables.metrics import values_of

_LIBRARY = Path(__file__).parents[1]
_SHARED = (_LIBRARY / "names/columns.py", _LIBRARY / "statistics/estimate.py")  # columns of many tables


class ReviewStates(NamedTuple):
    """What one model made of one text, at every stored layer."""

    text: str  # that the model read
    tokens: pl.DataFrame  # position, token_id, token ("" for one outside of the text), characters start to end
    layers: list[int]  # ascending: 0 after the embedding, l after block l
    residual_stream: np.ndarray  # float32 (layers, tokens, width)
    final_norm: np.ndarray | None  # float32 (tokens, width), after the final norm; None without one
    attention_received: np.ndarray | None  # float32 (blocks, tokens), 1 on average; None where not recorded


@dataclass(frozen=True)
class Results:
    """The results of a study in a folder; its run need not have ended."""

    folder: Path

    @property
    def tables(self) -> list[str]:
        """The names of the tables that the study has."""
        return sorted(path.stem for path in self.folder.glob("tables/*") if path.suffix in (".parquet", ".csv"))

    def table(self, name: str) -> pl.DataFrame:
        """A table of the study, such as `contrasts`."""
        path = self.folder / f"tables/{self._one_of(self.tables, 'table', name)}.parquet"
        return read_table(path) if path.exists() else pl.read_csv(path.with_suffix(".csv"), infer_schema_length=None)

    def describe(self, name: str) -> pl.DataFrame:
        """What the columns of a table mean: `column`, `type` and `meaning`.

        A meaning is the comment `#:` behind or above a column in the module that makes the table, or where it stands
        with columns of many tables.
        """
        meanings = {metric: describe_metric(metric).title for metric in METRIC_NAMES}
        own = re.compile(rf'^SCHEMAS = .*"{name}":', re.MULTILINE)
        sources = [file.read_text("utf-8") for file in (*_SHARED, *sorted(_LIBRARY.rglob("*.py")))]
        for source in (*sources[: len(_SHARED)], *filter(own.search, sources)):
            above = ""
            for entry, _, behind in (line.partition("#:") for line in source.splitlines()):
                meaning = re.sub(r"\[([^]]+)]\([^)]+\)", r"\1", behind.strip() or above)
                meanings |= dict.fromkeys(re.findall(r'"(\w+)"', entry), meaning) if meaning else {}
                above = "" if entry.strip() else f"{above} {behind.strip()}".strip()
        rows = [(column, str(dtype), meanings.get(column, "")) for column, dtype in self.table(name).schema.items()]
        return pl.DataFrame(rows, schema=dict.fromkeys(("column", "type", "meaning"), pl.String), orient="row")

    @cached_property
    def texts(self) -> pl.DataFrame:
        """A row for each review that is read and each variant, the original first.

        Columns are those of the files of variants (`text`, `placements` of key phrases, …), `shard`, `original` (the
        text of the review), `f1` (BERTScore against it), `accepted`, and those of the user's file.
        """
        texts = self._shards("variants/*").filter(pl.col("variant").is_in(self._known("variant")))
        texts = texts.join(self.table("metrics").select("review_id").unique(), on="review_id", how="semi")
        texts = texts.sort(pl.col("variant") != ORIGINAL, "variant", maintain_order=True)
        originals = texts.filter(variant=ORIGINAL).select("review_id", original="text")
        judged = self.table("similarity").select("variant", "review_id", "f1", "accepted")
        texts = texts.join(originals, on="review_id", how="left", maintain_order="left")
        texts = texts.join(judged, on=("variant", "review_id"), how="left", maintain_order="left")
        return self._with_source(texts)

    def states(self, model: str, variant: str, review: str) -> ReviewStates:
        """The tokens of a review, by its `review_id`, in a variant, and their states, where the study keeps them."""
        for kind, name in (("model", model), ("variant", variant)):
            self._one_of(self._known(kind), kind, name)
        written = self.texts.filter(variant=variant)
        self._one_of(written["review_id"].to_list(), f"text in the variant {variant}", review)
        shard, text = written.filter(review_id=review).select("shard", "text").row(0)
        path = self.folder / f"states/{model}/{variant}/{shard}.zarr.zip"
        if not path.exists():
            raise HomogenizationError(
                f"{path}: the states are not there. The study deleted them after it had measured them (`states.keep: "
                f"false`), or they were removed. Set `states.keep: true` and run it again: {model} reads anew."
            )
        with open_store(path) as store:
            if review not in store.review_ids:
                raise HomogenizationError(f"{path}: {model} did not read {review}, which is too long for it.")
            place = store.review_ids.index(review)
            span = slice(*store.review_offsets[place : place + 2].tolist())
            starts, ends = store.token_offsets[span].T
            characters = [text[start:end] for start, end in zip(starts, ends, strict=True)]
            tokens = {"position": store.positions[span], "token_id": store.token_ids[span], "token": characters}
            stream = np.stack([store.residual_stream(layer, span) for layer in store.layers])
            received = store.attention_received()
            received = None if received is None else received[:, span]
            tokens = pl.DataFrame(tokens | {"start": starts, "end": ends})
            return ReviewStates(text, tokens, store.layers, stream, store.final_norm(span), received)

    def curve(self, metric: str, *, view: str | None = None, point: str = RESIDUAL_STREAM) -> pl.DataFrame:
        """Mean of a metric over the reviews at each layer, with its interval: rows of `summary`.

        Args:
            metric: name of a metric.
            view: the tokens that it is of; None where it has one view alone.
            point: `residual_stream` or `final_norm`.
        """
        return self._only("summary", metric, point, view)

    def differences(
        self, variant: str, minus: str, metric: str, *, view: str | None = None, point: str = RESIDUAL_STREAM
    ) -> pl.DataFrame:
        """A metric, as of `curve`, of each review in two variants after the last block, and both texts.

        Returns:
            `model`, `review_id`, `value`, `value_minus`, `difference`, `text`, `text_minus` and the columns of the
            user's file, the largest difference of a model first. A review that is not accepted in both has no row.
        """
        for name in (variant, minus):
            self._one_of(self._known("variant"), "variant", name)
        values = self._only("metrics", metric, point, view).filter(_deepest())
        values = values.join(self.texts, on=("variant", "review_id")).select(
            "variant", "model", "review_id", "value", "text"
        )
        one, other = (values.filter(variant=name).drop("variant") for name in (variant, minus))
        both = one.join(other, on=("model", "review_id"), suffix="_minus")
        both = both.with_columns(difference=pl.col("value") - pl.col("value_minus"))
        both = both.sort("model", -pl.col("difference").abs(), "review_id")
        both = both.select("model", "review_id", "value", "value_minus", "difference", "text", "text_minus")
        return self._with_source(both)

    def contrasts(
        self, metric: str, *, view: str | None = None, point: str = RESIDUAL_STREAM, at: str = "output"
    ) -> pl.DataFrame:
        """The contrasts of a metric, as of `curve`: rows of the table, with the `share` of the yardstick.

        Args:
            metric: name of a metric.
            view: see `curve`.
            point: see there.
            at: `output`, the layer after the last block; or means over `all` layers, or the `first` quarter, `middle`
                half or `last` quarter of them.
        """
        rows = self._only("contrasts", metric, point, view)
        rows = rows.with_columns(pl.col("layers").fill_null("output"), share=pl.col("mean") / pl.col("yardstick"))
        self._one_of(rows["layers"], "part of the depth", at)
        rows = rows.filter(pl.col("layer").is_null() | _deepest(), layers=at)
        numbers = ("n_reviews", "mean", "ci_low", "ci_high", "share", "p_max_t", "verdict", "reason")
        return rows.select("model", "variant", "minus", *numbers, "group")

    def citation(self) -> str:
        """A finished study in a line: version and commit of the code, hash of the configuration, what was read."""
        origin = provenance(read_yaml(self.folder / CONFIGURATION))
        counts = {"reviews": self.table("metrics")["review_id"].n_unique()}
        counts |= {f"{name}s": len(self._known(name)) for name in ("model", "variant")}
        counted = ", ".join(f"{count} {name if count != 1 else name[:-1]}" for name, count in counts.items())
        return f"{origin['software']}; configuration {origin['digest']}: {counted}"

    def _only(self, table: str, metric: str, point: str, view: str | None) -> pl.DataFrame:
        """The rows of one metric, point and view: different ones are not to be mixed."""
        rows = values_of(self.table(table)) if table == "metrics" else self.table(table)
        for column, asked in (("metric", metric), ("point", point), ("view", view)):
            rows = rows.filter(pl.col(column) == self._one_of(rows[column], column, asked))
        return rows

    def _known(self, column: str) -> list[str]:
        return self.table("summary")[column].unique(maintain_order=True).to_list()

    def _one_of(self, known: Any, kind: str, asked: str | None) -> str:
        """What is asked for, among what is known; where nothing is asked for, the one that there is."""
        known = list(dict.fromkeys(known))
        if asked is None and len(known) == 1:
            return known[0]
        if asked in known:
            return asked
        there = ", ".join(known[:25]) + (f" and {len(known) - 25} others" if len(known) > 25 else "")
        if asked is None:
            raise HomogenizationError(f"{self.folder}: there are several {kind}s; name one: {there}.")
        raise HomogenizationError(
            f"{self.folder}: the study has no {kind} {asked!r}{nearest(asked, known)}. It has {there}."
        )

    def _with_source(self, rows: pl.DataFrame) -> pl.DataFrame:
        """`rows` of reviews with `row` and further columns of the user's file."""
        sample = self._shards("corpus").select(pl.exclude("shard", "text", "label", "rank"))
        return rows.join(sample, on="review_id", how="left", maintain_order="left", suffix="_of_source")

    def _shards(self, folder: str) -> pl.DataFrame:
        table = pl.read_parquet(self.folder / folder / "[0-9]*[0-9].parquet", include_file_paths="shard")
        return table.with_columns(pl.col("shard").str.extract(r"(\d+)\.parquet$"))


def _deepest() -> pl.Expr:
    return pl.col("layer") == pl.col("layer").max().over("model")


def open_results(folder: str | Path = "results") -> Results:
    """Open the folder of results of a study, which has to have tables."""
    results = Results(Path(folder))
    if not results.tables:
        studies = ", ".join(sorted(str(path.parent) for path in results.folder.glob("*/tables")))
        what = f"a study is in {studies}" if studies else "name the folder that the key `results` names"
        raise HomogenizationError(f"{folder}: there are no tables of a study; {what}.")
    return results


def to_latex(contrasts: pl.DataFrame) -> str:
    r"""Rows of `Results.contrasts` as a `tabular` with the rules of booktabs, which needs `\usepackage{booktabs}`."""
    import pandas as pd

    numbers = {"n_reviews": "n", "mean": "mean", "ci_low": "from", "ci_high": "to", "share": "share", "p_max_t": "p"}
    shown = {"model": "model", "variant": "difference of", "minus": "minus", **numbers, "verdict": "verdict"}
    rows = pd.DataFrame(contrasts.select(pl.col(name).alias(title) for name, title in shown.items()).to_dict())
    return rows.to_latex(index=False, escape=True, float_format="$%.3g$", na_rep="")
