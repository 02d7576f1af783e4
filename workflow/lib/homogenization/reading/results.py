"""What a run left, in Python: tables with the meanings of their columns, texts, states, and a line to cite."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import polars as pl

from homogenization.metrics.catalogue import METRIC_NAMES, describe_metric
from homogenization.names.columns import columns
from homogenization.names.points import RESIDUAL_STREAM
from homogenization.names.variants import ORIGINAL
from homogenization.reading.citation import citation
from homogenization.reading.meanings import meanings, schema_of
from homogenization.run.errors import HomogenizationError, nearest
from homogenization.run.parquet import read_table, table_metadata
from homogenization.states.store import StateStore, open_store
from homogenization.tables.metrics import values_of
from homogenization.variants.schemas import PLACEMENT

#: A row for each review and variant, the original first; a review that was not rewritten in a variant has none there.
TEXTS_SCHEMA = {
    **columns("variant", "review_id", "shard"),
    "row": pl.Int64,  #: of the source, from 0
    "label": pl.String,  #: of the review; null without `corpus.label_column`
    "original": pl.String,  #: text of the review
    "text": pl.String,  #: text of the variant
    #: key phrases: `phrase`, `sentence` (from 0), and `original_position` and `position` in their sentence, 0 … 1
    "placements": pl.List(PLACEMENT),
    "f1": pl.Float64,  #: BERTScore against the original; null for the original
    "accepted": pl.Boolean,  #: whether the text is similar enough to the original; null for the original
}
_OF_SOURCE = "_of_source"  # behind the name of a column of the source that is also one of these tables


@dataclass(frozen=True)
class ReviewStates:
    """What one model made of one text, at every stored layer.

    Attributes:
        text: the text that the model read.
        tokens: a row for each token: `position`, `token_id`, `token` (its characters in `text`; "" for a token outside
            of the text, such as BOS), and the characters `start` and `end` (exclusive).
        layers: stored layers, ascending: 0 after the embedding, l after block l.
        residual_stream: float32 (layers, tokens, width), in the order of `layers`.
        final_norm: states after the final norm, float32 (tokens, width); None where the architecture has no such norm.
        attention_received: float32 (blocks, tokens), 1 for what a token gets on average; None where not recorded.
    """

    text: str
    tokens: pl.DataFrame
    layers: list[int]
    residual_stream: np.ndarray
    final_norm: np.ndarray | None
    attention_received: np.ndarray | None


@dataclass(frozen=True)
class Results:
    """The results of a study.

    Attributes:
        folder: the folder that the configuration calls `results`.
    """

    folder: Path

    @property
    def tables(self) -> pl.DataFrame:
        """The tables of the study: `table`, the name for `table()`, and `file`."""
        rows = [(name, f"tables/{path.name}") for name, path in self._files.items()]
        return pl.DataFrame(rows, schema=dict.fromkeys(("table", "file"), pl.String), orient="row")

    def table(self, name: str) -> pl.DataFrame:
        """A table of the study, such as `contrasts`.

        Raises:
            HomogenizationError: the study has no such table, or its file is damaged.
        """
        path = self._files.get(name)
        if path is None:
            known = ": its run has not made it, or its configuration does not ask for it" if schema_of(name) else ""
            raise HomogenizationError(
                f"{self.folder}: the study has no table {name!r}{known or nearest(name, self._files)}. "
                f"It has {', '.join(self._files)}."
            )
        if path.suffix == ".parquet":
            return read_table(path)
        _, types = schema_of(path.name) or ("", {})
        return pl.read_csv(path, schema_overrides=types, infer_schema=False)  # other columns are text

    @cached_property
    def texts(self) -> pl.DataFrame:
        """The text of every variant with its original, label, key phrases, acceptance, and columns of the source."""
        texts = pl.concat(
            read_table(self.folder / f"variants/{variant}/{shard}.parquet").with_columns(shard=pl.lit(shard))
            for variant, shard in self._read.select("variant", "shard").unique(maintain_order=True).rows()
        )
        texts = texts.sort(pl.col("variant") != ORIGINAL, maintain_order=True)
        originals = texts.filter(pl.col("variant") == ORIGINAL).select("review_id", original="text")
        judged = self.table("similarity").select("variant", "review_id", "f1", "accepted")
        texts = texts.join(originals, on="review_id", how="left", maintain_order="left")
        texts = texts.join(judged, on=("variant", "review_id"), how="left", maintain_order="left")
        texts = texts.join(self._columns, on="review_id", how="left", maintain_order="left", suffix=_OF_SOURCE)
        return texts.select(*TEXTS_SCHEMA, pl.exclude(*TEXTS_SCHEMA))

    def describe(self, name: str) -> pl.DataFrame:
        """What the columns of a table, or of `texts`, mean: `column`, `type` and `meaning`.

        Raises:
            HomogenizationError: neither this study nor another has such a table.
        """
        of_schema, schema = ("TEXTS_SCHEMA", TEXTS_SCHEMA) if name == "texts" else schema_of(name) or ("", {})
        known = meanings(of_schema)
        types = schema or self.table(name).schema
        known |= {name: describe_metric(name).title for name in METRIC_NAMES if name in types and name not in known}
        rows = [(column, str(dtype), known.get(column, "")) for column, dtype in types.items()]
        return pl.DataFrame(rows, schema=dict.fromkeys(("column", "type", "meaning"), pl.String), orient="row")

    def states(self, model: str, variant: str, review: str) -> ReviewStates:
        """The tokens of a review and their states at every stored layer, from the stores that the study keeps.

        Args:
            model: name of the model in the configuration.
            variant: name of the variant that it read.
            review: `review_id`.

        Raises:
            HomogenizationError: the study has no such model, variant or text, the model did not read it because it is
                too long, or the states were not kept.
        """
        written = self.texts.filter(pl.col("variant") == variant)
        self._refuse_unknown("model", model, self._read["model"])
        self._refuse_unknown("variant", variant, self._read["variant"])
        self._refuse_unknown(f"text in the variant {variant}", review, written["review_id"])
        shard, text = written.filter(review_id=review).select("shard", "text").row(0)
        path = self.folder / f"states/{model}/{variant}/{shard}.zarr.zip"
        if not path.exists():
            raise HomogenizationError(
                f"{path}: the states are not there. The study deleted them after it had measured them (`states.keep: "
                f"false`), or they were removed. Set `states.keep: true` and run it again: {model} reads anew."
            )
        with open_store(path) as store:
            if review not in store.review_ids:
                raise HomogenizationError(
                    f"{path}: {model} did not read the review {review}, which is too long for it."
                )
            return _states_of(store, store.review_ids.index(review), text)

    def curve(self, metric: str, *, view: str | None = None, point: str = RESIDUAL_STREAM) -> pl.DataFrame:
        """Mean of a metric over the reviews at each layer, with its interval: rows of `summary`, by model and variant.

        Args:
            metric: name of a metric.
            view: the tokens that it is of; None where it has one view alone.
            point: `residual_stream` or `final_norm`.

        Raises:
            HomogenizationError: the study has no such metric, point or view, or the metric has several views.
        """
        return self._only("summary", metric, point, view)

    def differences(
        self, variant: str, minus: str, metric: str, *, view: str | None = None, point: str = RESIDUAL_STREAM
    ) -> pl.DataFrame:
        """A metric of each review in two variants after the last block, and both texts.

        Args:
            variant: name of a variant.
            minus: name of the variant that is subtracted.
            metric: as in `curve`, also the next two.
            view: see there.
            point: see there.

        Returns:
            `model`, `review_id`, `value`, `value_minus`, `difference`, `text`, `text_minus`, `row` and the columns of
            the source that are kept, the largest difference of a model first, whatever its sign. Reviews that are
            accepted in one of the variants alone have no row.

        Raises:
            HomogenizationError: as `curve`, or the study has no such variant.
        """
        for name in (variant, minus):
            self._refuse_unknown("variant", name, self._read["variant"])
        values = self._only("metrics", metric, point, view).filter(
            pl.col("layer") == pl.col("layer").max().over("model")
        )
        values = values.join(self.texts.select("variant", "review_id", "text"), on=("variant", "review_id"))
        one, other = (
            values.filter(pl.col("variant") == name).select("model", "review_id", "value", "text")
            for name in (variant, minus)
        )
        both = one.join(other, on=("model", "review_id"), suffix="_minus")
        both = both.with_columns(difference=pl.col("value") - pl.col("value_minus"))
        columns_shown = ("model", "review_id", "value", "value_minus", "difference", "text", "text_minus")
        both = both.select(columns_shown).sort("model", -pl.col("difference").abs(), "review_id")
        return both.join(self._columns, on="review_id", how="left", maintain_order="left", suffix=_OF_SOURCE)

    def contrasts(
        self, metric: str, *, view: str | None = None, point: str = RESIDUAL_STREAM, at: str = "output"
    ) -> pl.DataFrame:
        """The contrasts of a metric after the last block, or over a part of the depth: rows of the table `contrasts`.

        Args:
            metric: as in `curve`, also the next two.
            view: see there.
            point: see there.
            at: `output`, or the mean over `all` layers, or the `first` quarter, `middle` half or `last` quarter of
                them.

        Returns:
            `model`, `variant`, `minus`, `n_reviews`, `mean` with `ci_low` and `ci_high`, `relative_effect`, `p_max_t`,
            `verdict`, and `margin` and `confidence` of the study.

        Raises:
            HomogenizationError: as `curve`, or there is no such part of the depth.
        """
        rows = self._only("contrasts", metric, point, view)
        parts = rows.with_columns(at=pl.col("layers").fill_null("output"))
        self._refuse_unknown("part of the depth", at, parts["at"])
        deepest = pl.col("layer").is_null() | (pl.col("layer") == pl.col("layer").max().over("model"))
        chosen = table_metadata(self._files["contrasts"]).get("resampling", {})
        parts = parts.filter(pl.col("group").is_null(), pl.col("minus") != "disorder")
        parts = parts.with_columns(relative_effect=pl.col("mean") / pl.col("yardstick"))
        return parts.filter(deepest, pl.col("at") == at).select(
            *("model", "variant", "minus", "n_reviews", "mean", "ci_low", "ci_high", "relative_effect", "p_max_t"),
            "verdict",
            *(pl.lit(chosen.get(name)).alias(name) for name in ("margin", "confidence")),
        )

    def _only(self, table: str, metric: str, point: str, view: str | None) -> pl.DataFrame:
        """The rows of one metric, point and view: different ones are not to be mixed."""
        rows = values_of(self.table(table)) if table == "metrics" else self.table(table)
        for column, asked in (("metric", metric), ("point", point), ("view", view)):
            known = rows[column]
            if asked is None and known.n_unique() > 1:
                several = ", ".join(known.unique(maintain_order=True))
                raise HomogenizationError(f"{self.folder}: {metric} has several views; name one: {several}.")
            if asked is not None:
                self._refuse_unknown(column, asked, known)
                rows = rows.filter(pl.col(column) == asked)
        return rows

    def _refuse_unknown(self, kind: str, asked: str, known: pl.Series) -> None:
        if asked not in known.to_list():
            has = known.unique(maintain_order=True).to_list()
            shown = ", ".join(has[:10]) + (f" and {len(has) - 10} others" if len(has) > 10 else "")
            raise HomogenizationError(
                f"{self.folder}: the study has no {kind} {asked!r}{nearest(str(asked), has)}. It has {shown}."
            )

    def citation(self) -> str:
        """The study in a line to cite: version and commit of the code, hash, folder, reviews, confidence."""
        return citation(self.folder, self._read)

    @cached_property
    def _columns(self) -> pl.DataFrame:
        """`review_id`, `row` and further columns of the source."""
        shards = self._read["shard"].unique(maintain_order=True)
        sample = pl.concat(read_table(self.folder / f"corpus/{shard}.parquet") for shard in shards)
        return sample.select(pl.exclude("text", "label", "rank"))

    @cached_property
    def _read(self) -> pl.DataFrame:
        """Model, variant and shard of what the study read, and where weights come from."""
        return self.table("extraction")

    @cached_property
    def _files(self) -> dict[str, Path]:
        """The files of tables by their names for `table()`."""
        found = sorted(self.folder.glob("tables/*"))
        return {path.stem: path for path in found if path.suffix in (".parquet", ".csv")}


def open_results(folder: str | Path = "results") -> Results:
    """Open the folder of results of a study; its run need not have ended.

    Raises:
        HomogenizationError: there is no such folder, or it has no table.
    """
    results = Results(Path(folder))
    if results._files:
        return results
    if not results.folder.is_dir():
        what = "no such folder"
    elif studies := sorted(str(path.parent) for path in results.folder.glob("*/tables")):
        what = f"no tables; a study is in {', '.join(studies)}"
    else:
        what = "no tables; its run has not come so far, or it holds no study"
    raise HomogenizationError(f"{folder}: {what}. Name the folder that the key `results` of the configuration names.")


def _states_of(store: StateStore, index: int, text: str) -> ReviewStates:
    span = slice(*store.review_offsets[index : index + 2].tolist())
    starts, ends = store.token_offsets[span].T
    tokens = pl.DataFrame(
        {
            "position": store.positions[span],
            "token_id": store.token_ids[span],
            "token": [text[start:end] for start, end in zip(starts, ends, strict=True)],
            "start": starts,
            "end": ends,
        }
    )
    received = store.attention_received()
    return ReviewStates(
        text,
        tokens,
        store.layers,
        np.stack([store.residual_stream(layer, span) for layer in store.layers]),
        store.final_norm(span),
        None if received is None else received[:, span],
    )
