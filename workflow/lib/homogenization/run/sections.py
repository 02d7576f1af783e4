"""Strict sections of YAML files, checked names and paths, and messages for mistakes.

Every parse of the Snakefile imports them.
"""

import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from homogenization.run.errors import HomogenizationError, nearest

_Location = tuple[str | int, ...]
_NO_MAPPING = ("model_type", "model_attributes_type", "dict_type")  # pydantic's names of errors
_WORKFLOW = Path(__file__).parents[4]
_LONGEST_NAME = 100  # characters: files bear the names of two entries, an ending and what marks an unfinished file
_LONGEST_PART = 200  # bytes of a part of a path; file systems take 255


class Section(BaseModel):
    """A mapping of the configuration: unknown keys are refused, values are not coerced.

    A key's docstring is its meaning; config/README.md has a row for each key.
    """

    model_config = ConfigDict(
        extra="forbid", strict=True, frozen=True, allow_inf_nan=False, use_attribute_docstrings=True
    )

    def params(self, *keys: str) -> dict[str, Any]:
        """Plain values that the `params` of a rule can track: those of `keys`, or of all keys.

        Keys that change no result are fields with `exclude=True`, which are left out.
        """
        return json.loads(json.dumps(self.model_dump(mode="json", include=set(keys) or None), sort_keys=True))


class Option(Section):
    """One of several forms of a section. The value of the key `discriminator` says which form it is."""

    discriminator: ClassVar[str]

    @classmethod
    def names(cls) -> tuple[str, ...]:
        """The values of `discriminator` that stand for this form."""
        return get_args(cls.model_fields[cls.discriminator].annotation)


def without_nulls(given: Any) -> Any:
    """A mapping without its empty keys, so that an overlay can remove keys of its base; another value as it is."""
    return {key: value for key, value in given.items() if value is not None} if isinstance(given, dict) else given


def expanded(value: str) -> str:
    """`value` with ~ and $VARIABLES replaced, so that one configuration serves several machines."""
    result = os.path.expandvars(os.path.expanduser(value))
    unset = re.search(r"\$\{?(\w+)", result)
    if unset:
        raise ValueError(f"{value!r}: the environment variable {unset[1]!r} is not set; set it or write the path out")
    return one_path(result)


def one_path(path: str) -> str:
    """`path`, after a check that Snakemake and every file system take it as it is."""
    if special := sorted(set(path) & set("{}\n\0")):
        raise ValueError(
            f"{path!r}: a path has no {' or '.join(map(repr, special))}, since Snakemake takes braces for wildcards; "
            "rename it, or give a link to it"
        )
    if len(longest := max(map(os.fsencode, path.split("/")), key=len)) > _LONGEST_PART:
        raise ValueError(f"a name of {len(longest)} bytes in {path[:80]!r}…; at most {_LONGEST_PART}")
    return path


def readable(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A validator: what a value names can be read."""

    def check(value: Any) -> Any:
        try:
            if value is not None:
                read(value)
        except HomogenizationError as error:
            raise ValueError(str(error)) from None
        return value

    return check


def _placed(path: str) -> str:
    """`path`, or the workflow's own file in `config/`, where the working directory has none of this name."""
    own = _WORKFLOW / path
    return str(own) if path.startswith("config/") and own.is_file() and not os.path.exists(path) else path


ExpandedPath = Annotated[str, AfterValidator(expanded)]
InputPath = Annotated[ExpandedPath, AfterValidator(_placed)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$", max_length=_LONGEST_NAME)]


def refused(when: Callable[[Any], bool], message: str) -> Callable[[Any], Any]:
    """A validator: a value, other than None, of which `when` holds is refused; in the message, {} stands for it."""

    def check(value: Any) -> Any:
        if value is not None and when(value):
            raise ValueError(message.format(value))
        return value

    return check


once = refused(
    lambda values: len(set(map(str, values))) < len(values), "{} names a value twice; name each once"
)  # a validator of a list


def one_of(names: tuple[str, ...]) -> Callable[[Any], Any]:
    """A validator: every entry of a list is among `names`, none stands twice; None stays."""

    def check(values: list[str] | None) -> list[str] | None:
        if unknown := [f"{value!r}{nearest(value, names)}" for value in values or () if value not in names]:
            raise ValueError(f"unknown name {', '.join(unknown)}; allowed: {', '.join(names)}")
        if values and len(set(values)) < len(values):
            raise ValueError(f"{sorted({v for v in values if values.count(v) > 1})} stand twice; name each once")
        return values

    return check


def names_of(names: Iterable[str], least: int | None = None) -> Any:
    """The type of a list of different names, all of them among `names`; at least so many."""
    return Annotated[list[str], Field(min_length=least), AfterValidator(one_of(tuple(names)))]


def pairs_of(kind: str) -> Callable[[Any], Any]:
    """A validator: every pair of a list names two different things of a `kind`, and stands once."""

    def check(pairs: list[list[str]] | None) -> list[list[str]] | None:
        for pair in pairs or ():
            if len(pair) != 2 or pair[0] == pair[1]:
                raise ValueError(f"{pair} is no pair of two {kind}s; write [{kind}, minus]")
        if pairs and len(set(map(tuple, pairs))) < len(pairs):
            raise ValueError("a pair stands twice; name each once")
        return pairs

    return check


def sections_in(annotation: Any) -> list[type[Section]]:
    """The sections that a key of this type can hold: one, the several forms of one, or none for a plain value."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [section for argument in get_args(annotation) for section in sections_in(argument)]


def describe_problems(error: ValidationError, root: type[BaseModel]) -> Iterator[str]:
    """One line for each problem that pydantic found in a `root`: where, what stands there, what is allowed."""
    return (_described(problem, root) for problem in error.errors())


def _described(problem: Any, root: type[BaseModel]) -> str:
    location, kind, given = problem["loc"], problem["type"], problem["input"]
    if kind == "extra_forbidden":
        return _unknown_key(root, location)
    if kind == "missing":
        return _missing_key(root, location)
    if location and location[-1] == "[key]":
        shown = f"{given[:40]!r}…" if len(str(given)) > _LONGEST_NAME else repr(given)
        return (
            f"{_dotted(location[:-2])}: the name {shown} is not allowed; at most {_LONGEST_NAME} letters, digits, '.', "
            "'_', '-'"
        )
    path, forms, _ = _place(root, location)
    if kind.startswith("union_tag"):
        discriminator, names = forms[0].discriminator, [name for form in forms for name in form.names()]
        chosen = given.get(discriminator)
        found = f"{chosen!r} is not allowed{nearest(str(chosen), names)}" if discriminator in given else "missing"
        return f"{_dotted((*path, discriminator))}: {found}; allowed: {', '.join(names)}"
    message = problem["msg"].removeprefix("Value error, ")
    if kind == "value_error":
        return f"{_dotted(path)}: {message}"
    if kind in _NO_MAPPING:
        message = "input should be a mapping of keys"
        if path[:1] == ("models",) and isinstance(given, str):
            message += f", such as {{weights: {{{'path' if '/' in given else 'hub'}: {given}}}}}"
    return f"{_dotted(path)}: {given!r} is not allowed; {message[0].lower()}{message[1:]}"


def _unknown_key(root: type[BaseModel], location: _Location) -> str:
    key = str(location[-1])
    path, forms, chosen = _place(root, location[:-1])
    takers = [name for form in forms if key in form.model_fields for name in form.names()]
    if takers:
        has = f"{forms[0].discriminator} {chosen!r}".strip()
        return f"{_dotted(path)}: {has} takes no {key}; {key!r} goes with {' or '.join(map(repr, takers))} alone"
    own = [form for form in forms if chosen in form.names()] if chosen and forms[0].discriminator else forms
    allowed = list(dict.fromkeys(name for form in own for name in form.model_fields))
    return f"{_dotted((*path, key))}: unknown key{nearest(key, allowed)}; allowed: {', '.join(allowed)}"


def _missing_key(root: type[BaseModel], location: _Location) -> str:
    key = str(location[-1])
    path, forms, chosen = _place(root, location[:-1])
    own = [form for form in forms if chosen in form.names()] if chosen and forms[0].discriminator else forms
    field = next(form.model_fields[key] for form in own if key in form.model_fields)
    if chosen:
        form = f"{forms[0].discriminator} {chosen!r}".strip()
        return f"{_dotted(path)}: {form} needs {key!r}; {field.description}"
    return f"{_dotted((*path, key))}: missing; {field.description or 'a section that has to be there'}"


def _place(root: type[BaseModel], location: _Location) -> tuple[_Location, list[type[Any]], str]:
    """The section at one of pydantic's locations, which name the form after a section that has several.

    Returns:
        The location as the user writes it; the section there, in all its forms; and the name of the form that was
        chosen, empty for a section that has one form.
    """
    path: list[str | int] = []
    here: Any = root
    forms, chosen = [root], ""
    for part in location:
        if get_origin(here) is not dict and len(forms) > 1 and not chosen:
            here, chosen = next(form for form in forms if part in form.names()), str(part)
            continue
        path.append(part)
        if get_origin(here) is dict:
            here = get_args(here)[1]
        else:
            field = getattr(here, "model_fields", {}).get(part)
            here = field.annotation if field else None
        forms, chosen = sections_in(here), ""
    return tuple(path), forms, chosen


def _dotted(location: _Location) -> str:
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return path.lstrip(".") or "(top level)"
