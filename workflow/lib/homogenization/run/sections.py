"""Strict sections of YAML files, and types of their keys."""

import json
from collections.abc import Callable, Iterable
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


class Section(BaseModel):
    """A mapping of the configuration: unknown keys are refused, values are not coerced.

    A key's docstring is its meaning; config/README.md has a row for each key.
    """

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    def params(self, *keys: str) -> dict[str, Any]:
        """Plain values for the `params` of a rule: of `keys`, or of all but those with `exclude=True`."""
        return json.loads(json.dumps(self.model_dump(mode="json", include=set(keys) or None), sort_keys=True))


def without_nulls(given: Any) -> Any:
    """A mapping without its empty keys, so that an overlay can remove keys of its base; another value as it is."""
    return {key: value for key, value in given.items() if value is not None} if isinstance(given, dict) else given


def refused(when: Callable[[Any], Any], message: str) -> Callable[[Any], Any]:
    """A validator: a value, other than None, of which `when` holds is refused; in the message, {} stands for it."""

    def check(value: Any) -> Any:
        if value is not None and when(value):
            raise ValueError(message.format(value))
        return value

    return check


def ascending(values: Any, least: int) -> bool:
    """Whether `values` is a list of different whole numbers from `least`, in ascending order."""
    whole = isinstance(values, list) and values != [] and all(type(value) is int for value in values)
    return whole and values[0] >= least and values == sorted(set(values))


def names_of(names: Iterable[str], least: int = 0) -> Any:
    """The type of a list of different names, all of them among `names`; at least so many."""
    return Annotated[list[Literal[tuple(names)]], Field(min_length=least), AfterValidator(once)]


once = refused(lambda values: len(set(map(str, values))) < len(values), "{} names a value twice; name each once")
Names = Annotated[list[str], AfterValidator(once)]
# files bear the names of two entries, an ending and what marks an unfinished file
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]


def sections_in(annotation: Any) -> list[type[Section]]:
    """The sections that a key of this type can hold: one, the several forms of one, or none for a plain value."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [section for argument in get_args(annotation) for section in sections_in(argument)]
