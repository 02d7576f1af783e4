"""What the sections of the report share: its templates, and numbers as it writes them."""

from collections.abc import Callable, Hashable, Iterable, Mapping
from math import floor, isfinite, log10
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from homogenization.figures.style import COLOURS
from homogenization.report.numbers import probability, share_in_words, significant, typeset


def render(template: str, **values: Any) -> str:
    """The page that a template of this folder makes of `values`, which it escapes.

    Raises:
        jinja2.UndefinedError: the template names what is not among `values`.
    """
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent, "utf-8"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"share": share_in_words, "probability": probability, "estimate": estimate}
    environment.globals |= {"colours": COLOURS}
    environment.tests["finite"] = is_finite
    return environment.get_template(template).render(values)


def is_finite(value: float | None) -> bool:
    """Whether there is such a number."""
    return value is not None and isfinite(value)


def estimate(row: Mapping[str, Any]) -> tuple[str, str]:
    """An estimate and its interval, to two digits of half the interval's width; to three and "" without one.

    More digits where an end that is not 0 would be written as 0.
    """
    low, high = row["ci_low"], row["ci_high"]
    if not (is_finite(low) and is_finite(high) and low < high):
        return significant(row["estimate"]), ""
    digits = max(0, 1 - floor(log10((high - low) / 2)))
    while any(end and not round(end, digits) for end in (low, high)):
        digits += 1
    number, *ends = (typeset(f"{value:.{digits}f}") for value in (row["estimate"], low, high))
    return number, f"[{', '.join(ends)}]"


def grouped(items: Iterable[Any], key: Callable[[Any], Hashable]) -> dict[Any, list[Any]]:
    """What is said together: `items` by the key, in the order they stand in."""
    groups: dict[Any, list[Any]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
