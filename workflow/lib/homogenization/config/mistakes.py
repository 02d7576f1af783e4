"""Messages for the mistakes of a configuration, all at once."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from homogenization.metrics.catalogue import METRIC_NAMES
from homogenization.names.variants import ORIGINAL
from homogenization.run.errors import nearest
from homogenization.run.sections import sections_in


def describe_problems(error: ValidationError, root: type[BaseModel]) -> list[str]:
    """One line for each problem that pydantic found in a `root`: where, what stands there, what is allowed."""
    return [_described(problem, root) for problem in error.errors()]


def _described(problem: Any, root: type[BaseModel]) -> str:
    kind, given, location = problem["type"], problem["input"], problem["loc"]
    if kind == "value_error":
        return ": ".join(filter(None, (_place(root, location)[0], problem["msg"].removeprefix("Value error, "))))
    message = problem["msg"][0].lower() + problem["msg"][1:]
    above, forms = _place(root, location[:-1])
    fields = {name: field for form in forms for name, field in form.model_fields.items()}
    described = fields[location[-1]].description if location[-1] in fields else None
    where = f"{above}.{location[-1]}".lstrip(".")
    if kind == "missing":
        return f"{where}: missing; {described or 'a section that has to be there'}"
    if kind == "extra_forbidden":
        return f"{where}: unknown key{nearest(location[-1], fields)}; allowed: {', '.join(fields)}"
    where, forms = _place(root, location[:-2] if location[-1] == "[key]" else location)
    allowed = re.findall(r"'(.*?)'", str(problem.get("ctx", {}).get("expected")))
    if kind.startswith("union_tag"):
        key = problem["ctx"]["discriminator"].strip("'")
        allowed = [name for form in forms for name in get_args(form.model_fields[key].annotation)]
        where, message = f"{where}.{key}", f"allowed: {', '.join(allowed)}"
        if key not in given:
            return f"{where}: missing; {message}"
        given = given[key]
    elif kind in ("model_type", "model_attributes_type", "dict_type"):
        message = "input should be a mapping of keys"
    elif kind == "string_pattern_mismatch":
        message = described or message
    return f"{where}: {given!r} is not allowed{nearest(str(given), allowed)}; {message}"


def _place(root: type[BaseModel], location: tuple[str | int, ...]) -> tuple[str, list[type[Any]]]:
    """One of pydantic's locations as the user writes it, without the names of forms; and the section there."""
    path, here = "", root
    for part in location:
        forms = sections_in(here)
        if get_origin(here) is not dict and len(forms) > 1:
            named = (part,)  # by the key whose only value this is
            here = next(form for form in forms for of in form.model_fields.values() if get_args(of.annotation) == named)
            continue
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
        field = forms[0].model_fields.get(part) if forms else None
        here = get_args(here)[1] if get_origin(here) is dict else field and field.annotation
    return path.lstrip("."), sections_in(here)


def unknown_names(given: Mapping[str, Any]) -> list[str]:
    """One line for each model, variant, writer or metric that a section names and the study, as `given`, lacks."""
    if not all(isinstance(given.get(key, {}), dict) for key in ("models", "variants", "writers")):
        return []
    models = [single for name, entry in _keys(given.get("models")).items() for single in _single_models(name, entry)]
    variants, metrics = [*{ORIGINAL: 0, **_keys(given.get("variants"))}], [*_names(given.get("metrics"))]
    known = {"models": models, "variants": variants, "pairs": variants, "labels": models + variants}
    known |= {"writer": [*_keys(given.get("writers"))], "metrics": metrics}
    sections = {name: _keys(section) for name, section in given.items() if name not in ("models", "variants")}
    sections |= {f"variants.{name}": _keys(entry) for name, entry in _keys(given.get("variants")).items()}
    return [
        f"{section}.{key}: {name!r} is not in the study{nearest(name, known[key])}; "
        f"allowed: {', '.join(known[key]) or 'none'}"
        for section, keys in sections.items()
        for key in keys.keys() & known.keys()
        for name in _names(keys[key])
        if name not in known[key] and (key != "metrics" or name in METRIC_NAMES)  # others are no metrics at all
    ]


def _keys(section: Any) -> dict[str, Any]:
    """The keys of a section that are text, if it is a mapping as it should be."""
    return {key: of for key, of in section.items() if isinstance(key, str)} if isinstance(section, dict) else {}


def _single_models(name: str, entry: Any) -> list[str]:
    """The names of the models that an entry stands for: of each seed, where they are trained."""
    weights = _keys(_keys(entry).get("weights"))
    seeds = weights.get("seeds", [0])
    return [f"{name}-{seed}" for seed in seeds] if "trained" in weights and isinstance(seeds, list) else [name]


def _names(value: Any) -> Iterator[str]:
    """A name, those of a list or of pairs, or those of a mapping that have a value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from (name for name, content in _keys(value).items() if content is not None)
    elif isinstance(value, (list, tuple)):
        yield from (name for one in value for name in _names(one))
