"""What a mistake in the configuration is called: one line each, with the key, its value and what is allowed."""

import difflib
from collections.abc import Callable
from typing import Any, get_args

from pydantic import BaseModel


def one_of(names: tuple[str, ...]) -> Callable[[list[str]], list[str]]:
    """A validator: every entry of a list is among `names`, none stands twice."""

    def check(values: list[str]) -> list[str]:
        for value in values:
            if value not in names:
                raise ValueError(f"unknown name {value!r}{nearest(value, names)}; allowed: {', '.join(names)}")
        if len(set(values)) < len(values):
            raise ValueError(f"{sorted({v for v in values if values.count(v) > 1})} stand twice; name each once")
        return values

    return check


def describe_problem(problem: Any, root: type[BaseModel]) -> str:
    """One line for one of pydantic's errors in a `root`: where, what stands there, what is allowed."""
    location = problem["loc"]
    if location and location[-1] == "[key]":
        location = location[:-2]
        return f"{_dotted(location)}: the name {problem['input']!r} is not allowed; letters, digits, '.', '_', '-'"
    where = _dotted(location)
    if problem["type"] == "extra_forbidden":
        allowed = list(_section_at(root, location[:-1]).model_fields)
        return f"{where}: unknown key{nearest(str(location[-1]), allowed)}; allowed: {', '.join(allowed)}"
    if problem["type"] == "missing":
        field = _section_at(root, location[:-1]).model_fields[location[-1]]
        return f"{where}: missing; {field.description or 'a section that has to be there'}"
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "value_error":
        return f"{where}: {message}"
    return f"{where}: {problem['input']!r} is not allowed; {message[0].lower()}{message[1:]}"


def _dotted(location: tuple[str | int, ...]) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return path.lstrip(".") or "(top level)"


def _section_at(root: type[BaseModel], location: tuple[str | int, ...]) -> type[BaseModel]:
    """The section that stands at `location`, looking through optional values and mappings by name."""
    section = root
    for part in location:
        if part in section.model_fields:
            inner = _sections_in(section.model_fields[part].annotation)
            section = inner[0] if inner else section
    return section


def _sections_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [section for argument in get_args(annotation) for section in _sections_in(argument)]


def nearest(word: str, words: Any) -> str:
    """' (did you mean …?)' with the word of `words` closest to `word`, or nothing."""
    close = difflib.get_close_matches(word, list(words), n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""
