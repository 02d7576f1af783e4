"""Messages for the mistakes of a configuration, all at once."""

import re
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from homogenization.run.errors import nearest
from homogenization.run.sections import sections_in


def describe_problems(error: ValidationError, root: type[BaseModel]) -> list[str]:
    """One line for each problem that pydantic found in a `root`: where, what stands there, what is allowed."""
    return [_described(problem, root) for problem in error.errors()]


def _described(problem: Any, root: type[BaseModel]) -> str:
    kind, given, location = problem["type"], problem["input"], problem["loc"]
    if kind in ("extra_forbidden", "missing"):
        where, forms = _place(root, location[:-1])
        key, fields = location[-1], {name: field for form in forms for name, field in form.model_fields.items()}
        where = ".".join(filter(None, (where, str(key))))
        if kind == "missing":
            return f"{where}: missing; {fields[key].description or 'a section that has to be there'}"
        return f"{where}: unknown key{nearest(key, fields)}; allowed: {', '.join(fields)}"
    where, forms = _place(root, location[:-2] if location[-1:] == ("[key]",) else location)
    where = where or "(top level)"
    message = problem["msg"].removeprefix("Value error, ")
    if kind == "value_error":
        return f"{where}: {message}"
    allowed = re.findall(r"'(.*?)'", str(problem.get("ctx", {}).get("expected")))
    if kind.startswith("union_tag"):
        key, allowed = forms[0].discriminator, [name for form in forms for name in form.names()]
        if key not in given:
            return f"{where}.{key}: missing; allowed: {', '.join(allowed)}"
        where, given, message = f"{where}.{key}", given[key], f"allowed: {', '.join(allowed)}"
    elif kind in ("model_type", "model_attributes_type", "dict_type"):
        message = "input should be a mapping of keys"
    return f"{where}: {given!r} is not allowed{nearest(str(given), allowed)}; {message[0].lower()}{message[1:]}"


def _place(root: type[BaseModel], location: tuple[str | int, ...]) -> tuple[str, list[type[Any]]]:
    """One of pydantic's locations as the user writes it, without the names of forms; and the section there."""
    path, here = "", root
    for part in location:
        forms = sections_in(here)
        if get_origin(here) is not dict and len(forms) > 1:
            here = next(form for form in forms if part in form.names())
            continue
        path += f"[{part}]" if isinstance(part, int) else f".{part}"
        field = forms[0].model_fields.get(part) if forms else None
        here = get_args(here)[1] if get_origin(here) is dict else field and field.annotation
    return path.lstrip("."), sections_in(here)
