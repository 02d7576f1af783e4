"""Contrasts for a paper, as a table of LaTeX."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from homogenization.names.numbers import probability, share_in_words, significant

_KEYS = ("model", "variant", "minus")
_SPECIAL = str.maketrans(
    {char: rf"\{char}" for char in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": r"\~{}", "^": r"\^{}"}
)
_IN_MATH = str.maketrans({"−": "-", "%": r"\%", " ": r"\,"})
_HEADINGS = ("model", "difference of", "minus", "$n$", "mean", "interval", "of depth", "$p$", "verdict")


def to_latex(contrasts: pl.DataFrame) -> str:
    r"""Contrasts (`Results.contrasts`) as a `tabular` with the rules of booktabs, which needs `\usepackage{booktabs}`.

    A number has three significant digits, a share of the depth range and p two; a contrast that is not tested has none.
    """
    rows = (rf"{' & '.join(_cells(row))} \\" for row in contrasts.iter_rows(named=True))
    head = rf"{' & '.join(_HEADINGS)} \\"
    lines = (r"\begin{tabular}{lllrrrrrl}", r"\toprule", head, r"\midrule", *rows, r"\bottomrule", r"\end{tabular}")
    return "\n".join(lines) + "\n"


def _cells(row: Mapping[str, Any]) -> Iterator[str]:
    yield from (row[key].translate(_SPECIAL) for key in _KEYS)
    yield str(row["n_reviews"])
    ends = f"[{significant(row['ci_low'])}, {significant(row['ci_high'])}]" if math.isfinite(row["ci_low"]) else ""
    finite = {name: write(row[name]) for name, write in _WRITTEN.items() if math.isfinite(row[name])}
    for cell in (finite.get("mean", ""), ends, finite.get("relative_effect", ""), finite.get("p_max_t", "")):
        yield f"${cell.translate(_IN_MATH)}$" if cell else ""
    yield row["verdict"]


_WRITTEN = {"mean": significant, "relative_effect": share_in_words, "p_max_t": probability}
