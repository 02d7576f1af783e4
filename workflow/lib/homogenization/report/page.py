"""What pages of the report share: a page is a template and values, and holds no address of anything outside it."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from jinja2 import Environment, StrictUndefined

from homogenization.figures.style import COLOURS
from homogenization.names.numbers import probability, share_in_words, significant


def render(template: str, **values: Any) -> str:
    """The page that a Jinja template makes of `values`, which it escapes.

    Besides those of Jinja, there are the filters `share`, `probability` (`names.numbers`) and `listed`, the function
    `interval`, the test `finite`, and `colours` by name (`figures.style`).

    Raises:
        jinja2.UndefinedError: the template names what is not among `values`.
    """
    environment = Environment(undefined=StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"share": share_in_words, "probability": probability, "listed": listed}
    environment.globals |= {"interval": interval, "colours": COLOURS}
    environment.tests["finite"] = isfinite
    return environment.from_string(template).render(values)


def interval(row: Mapping[str, Any]) -> str:
    """An estimate, with its interval if it has one: `0.3 [0.1, 0.5]`."""
    ends = f" [{significant(row['ci_low'])}, {significant(row['ci_high'])}]" if isfinite(row["ci_low"]) else ""
    return significant(row["estimate"]) + ends


def listed(names: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`; each name once."""
    names = list(dict.fromkeys(names))
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def grouped(items: Iterable[Any], *keys: Callable[[Any], Hashable]) -> dict[Any, Any]:
    """What is said together: `items` by the first key, within it by the next, and so on, in the order they stand in."""
    groups: dict[Any, Any] = {}
    for item in items:
        groups.setdefault(keys[0](item), []).append(item)
    return {key: grouped(of_key, *keys[1:]) for key, of_key in groups.items()} if keys[1:] else groups
