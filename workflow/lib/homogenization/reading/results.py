"""What a run left, in Python. What a study lacks is a HomogenizationError that names what there is."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from homogenization.names.points import FINAL_NORM
from homogenization.names.variants import ORIGINAL
from homogenization.reading.citation import ORIGIN
from homogenization.run.errors import HomogenizationError, nearest
from homogenization.run.files import read_json
from homogenization.run.parquet import read_table
from homogenization.run.yaml_files import read_yaml
from homogenization.states.store import open_store
from homogenization.tables.metrics import values_of

_DEEPEST = pl.col("layer") == pl.col("layer").max().over("model")
_NUMBERS = ("n_reviews", "mean", "ci_low", "ci_high", "share", "p_max_t")


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
    """The results of a study. A metric is that of the residual stream, in a `view`; None where it has one alone."""

    folder: Path

    @property
    def tables(self) -> list[str]:
        """The names of the tables that the study has; not those that an earlier one left in the folder."""
        files, record = self.folder.glob("tables/*"), self.folder / ORIGIN
        if record.exists():
            of_study, end = read_json(record)["tables"], record.stat().st_mtime
            files = [file for file in files if file.stem in of_study or file.stat().st_mtime > end]
        return sorted(file.stem for file in files if file.suffix in (".parquet", ".csv"))

    def table(self, name: str) -> pl.DataFrame:
        """A table of the study, such as `contrasts`."""
        path = self.folder / f"tables/{self._one_of(self.tables, 'table', name)}.parquet"
        return read_table(path) if path.exists() else pl.read_csv(path.with_suffix(".csv"), infer_schema_length=None)

    @cached_property
    def texts(self) -> pl.DataFrame:
        """A row for each review that is read and each variant, the original first.

        Columns are those of the files of variants (`text`, `placements`, …), `shard`, `original` (the text of the
        review), `f1` (BERTScore against it), `accepted`, and those of the user's file.
        """
        sample, number = self._shards("corpus"), pl.col("shard").cast(int)
        # later shards with the same review are left of a smaller `corpus.shard_size`
        sample = sample.filter(number == number.min().over("review_id"))
        texts = self._shards("variants/*").filter(pl.col("variant").is_in(self._known("variant")))
        texts = texts.join(sample, on=["review_id", "shard"], how="semi")
        texts = texts.join(self.table("metrics"), on="review_id", how="semi")
        texts = texts.sort(pl.col("variant") != ORIGINAL, "variant", maintain_order=True)
        originals = texts.filter(variant=ORIGINAL).select("review_id", original="text")
        judged = self.table("similarity").select("variant", "review_id", "f1", "accepted")
        sample = sample.select(pl.exclude("shard", "text", "label", "rank"))
        for more, on in ((originals, "review_id"), (judged, ["variant", "review_id"]), (sample, "review_id")):
            texts = texts.join(more, on=on, how="left", maintain_order="left", suffix="_of_source")
        return texts

    def states(self, model: str, variant: str, review: str) -> ReviewStates:
        """The tokens of a review, by its `review_id`, in a variant, and their states, where the study keeps them."""
        self._one_of(self._known("model"), "model", model)
        written = self.texts.filter(variant=self._one_of(self._known("variant"), "variant", variant))
        written = written.filter(review_id=self._one_of(written["review_id"], f"text in the variant {variant}", review))
        shard, text = written.select("shard", "text").row(0)
        path = self.folder / f"states/{model}/{variant}/{shard}.zarr.zip"
        if not path.exists():
            raise HomogenizationError(
                f"{path}: the states are not there; a study with `states.keep: false` deletes those that it has "
                f"measured. Set `states.keep: true` and ask Snakemake for this file: {model} reads anew."
            )
        with open_store(path) as store:
            if review not in store.review_ids:
                raise HomogenizationError(f"{path}: {model} did not read {review}, which is too long for it.")
            place = store.review_ids.index(review)
            span = slice(*store.review_offsets[place : place + 2].tolist())
            starts, ends = store.token_offsets[span].T
            characters = [text[start:end] for start, end in zip(starts, ends, strict=True)]
            tokens = {"position": store.positions[span], "token_id": store.token_ids[span], "token": characters}
            tokens = pl.DataFrame(tokens | {"start": starts, "end": ends})
            stream = np.stack([store.residual_stream(layer, span) for layer in store.layers])
            attention = store.attention()
            received = None if attention is None else attention[0][:, span]
            return ReviewStates(text, tokens, store.layers, stream, store.final_norm(span), received)

    def curve(self, metric: str, *, view: str | None = None) -> pl.DataFrame:
        """Mean of a metric over the reviews at each layer, with its interval: rows of `summary`."""
        return self._only("summary", metric, view)

    def differences(self, variant: str, minus: str, metric: str, *, view: str | None = None) -> pl.DataFrame:
        """A metric of each review in two variants after the last block: the largest difference of a model first.

        Columns are `model`, `value`, those of `texts` in `variant`, `value_minus`, `text_minus` and `difference`. A
        review that is not accepted in both has no row.
        """
        values = self._only("metrics", metric, view).filter(_DEEPEST).select("model", "variant", "review_id", "value")
        named = [self._one_of(self._known("variant"), "variant", name) for name in (variant, minus)]
        one, other = (values.join(self.texts.filter(variant=name), ("variant", "review_id")) for name in named)
        both = one.join(other.select("model", "review_id", "value", "text"), ("model", "review_id"), suffix="_minus")
        both = both.with_columns(difference=pl.col("value") - pl.col("value_minus"))
        return both.sort("model", -pl.col("difference").abs(), "review_id")

    def contrasts(self, metric: str, *, view: str | None = None, at: str = "output") -> pl.DataFrame:
        """The contrasts of a metric: rows of the table, with the `share` of the yardstick.

        They are `at` the `output`, the layer after the last block, or means over `all`, `first`, `middle`, `last` ones.
        """
        rows = self._only("contrasts", metric, view).filter(pl.col("layer").is_null() | _DEEPEST)
        rows = rows.with_columns(pl.col("layers").fill_null("output"), share=pl.col("mean") / pl.col("yardstick"))
        rows = rows.filter(layers=self._one_of(rows["layers"], "part of the depth", at))
        return rows.select("model", "variant", "minus", *_NUMBERS, "verdict", "reason", "group")

    def citation(self) -> str:
        """A finished study in a line: version and commit of the code, hash of the configuration, what was read."""
        origin = read_yaml(self.folder / ORIGIN)
        read, named = self.table("metrics"), {"review_id": "reviews", "model": "models", "variant": "variants"}
        counts = ", ".join(f"{name}: {read[column].n_unique()}" for column, name in named.items())
        return f"{origin['software']}; configuration {origin['digest']}; {counts}"

    def _only(self, table: str, metric: str, view: str | None) -> pl.DataFrame:
        """The rows of one metric and view before the final norm: different ones are not to be mixed."""
        rows = values_of(self.table(table)) if table == "metrics" else self.table(table)
        rows = rows.filter(pl.col("point") != FINAL_NORM, metric=self._one_of(rows["metric"], "metric", metric))
        return rows.filter(view=self._one_of(rows["view"], "view", view))

    def _known(self, column: str) -> list[str]:
        return self.table("summary")[column].unique(maintain_order=True).to_list()

    def _one_of(self, known: Any, kind: str, asked: str | None) -> str:
        """What is asked for, among what is known; where nothing is asked for, the one that there is."""
        known = list(dict.fromkeys(known))
        if asked in known or (asked is None and len(known) == 1):
            return asked or known[0]
        there = ", ".join(known[:25]) + (f" and {len(known) - 25} others" if len(known) > 25 else "")
        if asked is None:
            raise HomogenizationError(f"{self.folder}: there are several {kind}s; name one: {there}.")
        said = f"the study has no {kind} {asked!r}{nearest(asked, known)}. It has {there}."
        raise HomogenizationError(f"{self.folder}: {said}")

    def _shards(self, folder: str) -> pl.DataFrame:
        table = pl.read_parquet(self.folder / folder / "[0-9]*[0-9].parquet", include_file_paths="shard")
        return table.with_columns(pl.col("shard").str.extract(r"(\d+)\.parquet$"))


def open_results(folder: str | Path = "results") -> Results:
    """Open the folder of results of a study, which has to have tables."""
    results = Results(Path(folder))
    if not results.tables:
        found = ", ".join(sorted(str(path.parent) for path in results.folder.glob("*/tables"))) or "none below it"
        raise HomogenizationError(f"{folder}: no tables of a study; name the folder of the key `results` ({found}).")
    return results


def to_latex(contrasts: pl.DataFrame) -> str:
    r"""Rows of `Results.contrasts` as a `tabular` with the rules of booktabs, which needs `\usepackage{booktabs}`."""
    titles = {"variant": "difference of", "n_reviews": "n", "ci_low": "from", "ci_high": "to", "p_max_t": "p"}
    shown = contrasts.select("model", "variant", "minus", *_NUMBERS, "verdict").rename(titles).to_pandas()
    return shown.to_latex(index=False, escape=True, float_format="$%.3g$", na_rep="")
