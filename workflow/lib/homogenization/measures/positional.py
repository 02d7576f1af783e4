"""The sums of attention by the places of query and key, and the attention that positions alone predict.

Queries are binned by powers of two: query i (from 0) is in bin floor(log2(i + 1)). Keys are token 0, token 1, or one of
15 bins of distance. A model without causality has 14 cells more, for keys behind the query. A query that sees one key
alone has no choice and is in no cell.

If what a query attends to is a mixture, A = (1 - lambda) C + lambda P, where P depends on positions alone and the
content C is exchangeable over the keys that the query sees, the mean attention of a cell is that of (1 - lambda) U +
lambda P, U uniform. The sums of `HEAD_SUMS` by block, head, half of the reviews, query bin and key cell are all that
the numbers of `homogenization.tables.positional` need. The memory of one sum is 4.5 MB for 32 blocks of 32 heads.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from homogenization.names.columns import columns
from homogenization.run.errors import HomogenizationError

QUERY_BINS = 16  # of up to 65,535 tokens
DISTANCES = (0, 1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 65, 129, 257)  # the least distance of each bin


def _names(side: str, first: int) -> list[str]:
    """Names of the bins of distance from the bin `first` on."""
    bounds = [*DISTANCES, None]
    ranges = list(zip(bounds[first:-1], bounds[first + 1 :], strict=True))
    spans = [
        f"{low}_up" if stop is None else f"{low}" if stop == low + 1 else f"{low}_{stop - 1}" for low, stop in ranges
    ]
    return [f"{side}_{span}" for span in spans]


CAUSAL_CELLS = ("key_0", "key_1", *_names("distance", 0))
CELLS = (*CAUSAL_CELLS, *_names("ahead", 1))

_HALF_LIVES = (2, 8, 32)
UNIFORM = "uniform"
# what a query would attend to if it knew nothing but positions, each a distribution over the keys that it sees
DICTIONARY = ("first", "second", "self", "previous", "next", *(f"recency_{half}" for half in _HALF_LIVES), UNIFORM)

HEAD_SUMS = ("attention", "permuted", "selective", "log", "squared_log")
POSITION_SUMS = ("pairs", *DICTIONARY)
KEYS = ("block", "head", "half", "query_bin", "cell")
#: A row for each block, head, half of the reviews and cell that occurs: sums over queries and keys. The metadata
#: contain `n_reviews` and `states` (model, weights and shard, as in the stores). Queries that see one key alone are
#: left out.
POSITIONAL_SUMS_SCHEMA = {
    **columns("model", "variant", "block"),
    "head": pl.Int32,  #: from 1
    "half": pl.Int32,  #: 0 for reviews of even rank in the sample, 1 for odd ranks
    "query_bin": pl.Int32,  #: as in `templates.parquet`
    "cell": pl.Int32,  #: number of the key's cell in `CELLS` (`measures/positional.py`), from 0
    #: `attention`: sum of A_ij; `permuted`: the same with the keys of each query in random order; `selective`: sum of
    #: max(0, A_ij − U_ij), U uniform; `log`, `squared_log`: sum of ln A_ij minus its mean over the keys of the query,
    #: and of its square
    **dict.fromkeys(HEAD_SUMS, pl.Float64),
    "pairs": pl.Float64,  #: pairs of query and key; the same for all heads, as the columns that follow
    #: mass that the template of the dictionary gives to the cell; `uniform` summed over cells is the number of queries
    **dict.fromkeys(DICTIONARY, pl.Float64),
}


def seen_keys(queries: np.ndarray, keys: np.ndarray, causal: bool, window: int | None) -> np.ndarray:
    """(queries, keys) bool: whether a query sees a key.

    Args:
        queries: positions of queries in their review, from 0.
        keys: positions of keys.
        causal: whether a query sees only its own key and earlier ones.
        window: distance from which a query no longer sees a key; None for no limit.
    """
    distance = queries[:, None] - keys
    seen = distance >= 0 if causal else np.ones(distance.shape, dtype=bool)
    return seen if window is None else seen & (np.abs(distance) < window)


def choices(seen: np.ndarray) -> np.ndarray:
    """`seen` (queries, keys) without the rows of queries that see one key alone."""
    return seen & (seen.sum(axis=1, keepdims=True) > 1)


def query_bins(queries: np.ndarray) -> np.ndarray:
    """(queries,) int64, the bin of each position: floor(log2(i + 1)), the last bin open."""
    return np.minimum(np.frexp(queries + 1)[1] - 1, QUERY_BINS - 1).astype(np.int64)


def key_cells(queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """(queries, keys) int64, the index in `CELLS` of each pair, seen or not."""
    distance = queries[:, None] - keys
    bins = np.searchsorted(DISTANCES, np.abs(distance), side="right") - 1
    cells = np.where(distance >= 0, bins + 2, bins + len(CAUSAL_CELLS) - 1)
    return np.where(keys < 2, keys, cells)


def dictionary_templates(queries: np.ndarray, keys: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """(templates, queries, keys) float64, in the order of `DICTIONARY`; a row sums to 1, or to 0
    where the template has no key.

    `first` and `second` give all attention to token 0 or 1, `self`, `previous` and `next` to the key at distance 0, 1
    or -1, `uniform` the same to all keys; `recency_h` halves with every h tokens of distance.
    """
    distance = queries[:, None] - keys
    one_key = [np.broadcast_to(keys == key, distance.shape) for key in (0, 1)]
    one_key += [distance == offset for offset in (0, 1, -1)]
    recency = [0.5 ** (np.abs(distance) / half) for half in _HALF_LIVES]
    raw = np.stack([*one_key, *recency, np.ones(distance.shape)]) * seen
    totals = raw.sum(axis=-1, keepdims=True)
    return np.divide(raw, totals, out=np.zeros_like(raw), where=totals > 0)


@dataclass
class PositionalSums:
    """Sums over queries and keys, by cell, of the reviews that were read.

    Attributes:
        by_head: float64 (sums of `HEAD_SUMS`, heads, halves, QUERY_BINS, cells) by index of the block: the
            attention; the attention with the keys that each query sees in random order; the part of the attention
            above uniform, max(0, A_ij - U_ij); log A_ij minus its mean over the keys of the query; its square.
        by_position: float64 (sums of `POSITION_SUMS`, halves, QUERY_BINS, cells) by index of the block: pairs of query
            and key, and the mass that each template of the dictionary gives to the cell.
    """

    by_head: dict[int, np.ndarray] = field(default_factory=dict)
    by_position: dict[int, np.ndarray] = field(default_factory=dict)

    def add(self, other: "PositionalSums") -> None:
        """Add the sums of other reviews of the same model."""
        for mine, theirs in ((self.by_head, other.by_head), (self.by_position, other.by_position)):
            for block, sums in theirs.items():
                mine[block] = mine[block] + sums if block in mine else sums

    def table(self, identity: Mapping[str, str]) -> pl.DataFrame:
        """The sums as a table (`POSITIONAL_SUMS_SCHEMA`); blocks and heads from 1, cells without pairs left out."""
        parts = [pl.DataFrame(schema=POSITIONAL_SUMS_SCHEMA)]
        for block, of_heads in sorted(self.by_head.items()):
            by_position = np.broadcast_to(self.by_position[block][:, None], (len(POSITION_SUMS), *of_heads.shape[1:]))
            kept = by_position[0] > 0
            head, *others = np.nonzero(kept)
            keys = (np.full(len(head), block + 1), head + 1, *others)
            sums = np.concatenate([of_heads, by_position])[:, kept]
            columns = dict(zip((*KEYS, *HEAD_SUMS, *POSITION_SUMS), (*keys, *sums), strict=True))
            names = {name: pl.lit(identity[name], dtype=pl.String) for name in ("model", "variant")}
            parts.append(pl.DataFrame(columns).with_columns(**names).select(*POSITIONAL_SUMS_SCHEMA))
        return pl.concat([part.cast(POSITIONAL_SUMS_SCHEMA) for part in parts])

    @classmethod
    def of_table(cls, table: pl.DataFrame) -> "PositionalSums":
        """The sums of a table of one model and variant, which may hold several shards, one after another."""
        n_cells = len(CELLS if (table["cell"].max() or 0) >= len(CAUSAL_CELLS) else CAUSAL_CELLS)
        found = cls()
        for (block,), rows in table.group_by("block", maintain_order=True):
            head, *others = (rows[key].to_numpy() for key in KEYS[1:])
            place = (head - 1, *others)
            heads = np.zeros((len(HEAD_SUMS), head.max(), 2, QUERY_BINS, n_cells))
            positions = np.zeros((len(POSITION_SUMS), 2, QUERY_BINS, n_cells))
            for name, sums in zip(HEAD_SUMS, heads, strict=True):
                np.add.at(sums, place, rows[name].to_numpy())
            one_head = head == 1
            for name, sums in zip(POSITION_SUMS, positions, strict=True):
                np.add.at(sums, tuple(key[one_head] for key in others), rows[name].to_numpy()[one_head])
            found.by_head[block - 1], found.by_position[block - 1] = heads, positions
        return found


def template_of(sums: PositionalSums, block: int, n_tokens: int, half: int, window: int | None = None) -> np.ndarray:
    """The attention that positions alone predict for a text: each cell has its mean share of uniform attention.

    A pair of query and key has weight r U_ij, where r is the attention of its cell over that of uniform attention in
    the same cell, summed over the reviews of `half`; rows are then divided by their sum. Attention that ignores
    positions has the uniform template. A constant mass on a key has an r that grows with the number of keys that a
    query sees, so r is interpolated between query bins along this number (a model without causality: r of the bin). A
    cell that these reviews lack has the r of the cell before it, a query bin that they lack that of the nearest.

    Args:
        sums: sums of one model and variant.
        block: the block, from 1.
        n_tokens: tokens of the text.
        half: 0 for the reviews of even rank, 1 for odd ones.
        window: distance in tokens from which a query no longer sees a key; None for no limit.

    Returns:
        (heads, n_tokens, n_tokens) float64; rows sum to 1, and a query gives nothing to keys that it does not see.

    Raises:
        HomogenizationError: the half has no review of two tokens or more.
    """
    attention = sums.by_head[block - 1][HEAD_SUMS.index("attention"), :, half]
    by_position = sums.by_position[block - 1][:, half]
    pairs, uniform = by_position[POSITION_SUMS.index("pairs")], by_position[POSITION_SUMS.index(UNIFORM)]
    causal = pairs.shape[-1] == len(CAUSAL_CELLS)
    occupied = np.flatnonzero(pairs.any(axis=1))
    if not occupied.size:
        raise HomogenizationError(
            f"positional: a template needs reviews of {('even', 'odd')[half]} rank with two "
            "tokens or more, and there are none. Raise corpus.n_reviews."
        )
    share = np.divide(attention, uniform, out=np.ones_like(attention), where=pairs > 0)[:, occupied]
    for cell in range(1, pairs.shape[-1]):
        lacking = pairs[occupied, cell] == 0
        share[:, lacking, cell] = share[:, lacking, cell - 1]
    tokens = np.arange(n_tokens)
    seen = seen_keys(tokens, tokens, causal, window)
    if causal:
        n_keys = pairs[occupied].sum(axis=1) / uniform[occupied].sum(axis=1)
        place = np.interp(seen.sum(axis=1), n_keys, np.arange(len(occupied)))
    else:
        place = np.abs(query_bins(tokens)[:, None] - occupied).argmin(axis=1)
    below, above = np.floor(place).astype(int), np.ceil(place).astype(int)
    part = (place - below)[:, None]
    of_queries = (1 - part) * share[:, below] + part * share[:, above]
    cells = np.where(seen, key_cells(tokens, tokens), 0)
    template = np.take_along_axis(of_queries, cells[None], axis=2) * seen
    return template / template.sum(axis=-1, keepdims=True)
