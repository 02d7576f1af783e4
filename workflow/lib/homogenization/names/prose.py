"""Sentences made from numbers, by the templates of workflow/report/answers."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import lru_cache
from math import isfinite
from typing import Any

from jinja2 import Environment, StrictUndefined, Template

from homogenization.names.numbers import probability, share_in_words, significant
from homogenization.names.variants import CONTROL_ROLES
from homogenization.names.verdicts import FEW_REVIEWS


def write(template: str, **values: Any) -> str:
    """The text that a Jinja template makes of `values`; blanks and line ends in a row are one blank.

    Besides those of Jinja, there are the filters `significant`, `share` and `probability` (`names.numbers`),
    `listed`, `sentence` and `plain`, which make a first letter large and small; the functions `interval` and
    `where_few`; and the tests `finite` and `decided`. Numbers are looked up by their column in a row of a table.

    Raises:
        jinja2.UndefinedError: the template names what is not among `values`.
    """
    return " ".join(compiled(template).render(values).split())


def interval(row: Mapping[str, Any], name: str = "estimate", written: Callable[[float], str] = significant) -> str:
    """A number, with its interval if it has one: `0.3 [0.1, 0.5]`; its columns are as for `ends`."""
    low, high = ends(row, name)
    return f"{written(row[name])} [{written(low)}, {written(high)}]" if isfinite(low) else written(row[name])


def where_few(numbers: Iterable[int], noun: str = "texts") -> str:
    """How many texts numbers are of, where these are few: `7 texts`, `7 to 60 texts`; else empty."""
    least, *others = sorted(set(numbers)) or [FEW_REVIEWS]
    return "" if least >= FEW_REVIEWS else f"{' to '.join(map(str, [least, *others[-1:]]))} {noun}"


def is_decided(row: Mapping[str, Any], name: str = "estimate") -> bool:
    """Whether the interval of a number leaves out 0."""
    low, high = ends(row, name)
    return low > 0 or high < 0


def ends(row: Mapping[str, Any], name: str = "estimate") -> tuple[float, float]:
    """The ends of the interval of a number: those of `estimate` are `ci_low` and `ci_high`."""
    stem = "ci" if name == "estimate" else name
    return row[f"{stem}_low"], row[f"{stem}_high"]


def listed(names: Sequence[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`; each name once."""
    names = list(dict.fromkeys(names))
    return f" {last} ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def grouped(items: Iterable[Any], *keys: Callable[[Any], Hashable]) -> dict[Any, Any]:
    """What is said together: `items` by the first key, within it by the next, and so on, in the order they stand in."""
    groups: dict[Any, Any] = {}
    for item in items:
        groups.setdefault(keys[0](item), []).append(item)
    return {key: grouped(of_key, *keys[1:]) for key, of_key in groups.items()} if keys[1:] else groups


def sentence(text: str) -> str:
    """`text` with a large first letter."""
    return text[:1].upper() + text[1:]


def plain(text: str) -> str:
    """`text` with a small first letter."""
    return text[:1].lower() + text[1:]


def _environment(autoescape: bool) -> Environment:
    environment = Environment(undefined=StrictUndefined, autoescape=autoescape, trim_blocks=True, lstrip_blocks=True)
    environment.filters |= {"significant": significant, "share": share_in_words, "probability": probability}
    environment.filters |= {"listed": listed, "sentence": sentence, "plain": plain}
    environment.globals |= {"interval": interval, "share": share_in_words, "where_few": where_few}
    environment.globals["control_roles"] = CONTROL_ROLES
    environment.tests |= {"finite": isfinite, "decided": is_decided}
    return environment


@lru_cache
def compiled(template: str, autoescape: bool = False) -> Template:
    """A Jinja template that writes numbers as all sentences and pages do; it escapes values for HTML if asked to."""
    return _environment(autoescape).from_string(template)
