"""The JSON schema and the key table of config/README.md, from the configuration model.

    PYTHONPATH=workflow/lib python -m homogenization.config.docs

writes both, and docs/tables.md from the schemas of tables; a test fails when they differ.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_origin

from pydantic import TypeAdapter
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from homogenization.config.study import Study
from homogenization.config.table_docs import PAGE, made_anew, tables_page
from homogenization.models.weights import SOURCES
from homogenization.run.sections import sections_in

SCHEMA = Path("workflow/schemas/config.schema.json")
README = Path("config/README.md")
_WEIGHTS = "models.NAME.weights"

Row = tuple[str, str, str, str]  # key, type, default, meaning


def schema() -> str:
    """The JSON schema of the configuration, as text."""
    return json.dumps(Study.model_json_schema(), indent=2, ensure_ascii=False) + "\n"


def key_table() -> str:
    """A Markdown table of every key: dotted name, type, default, meaning."""
    rows = [("key", "type", "default", "meaning"), ("---",) * 4, *_rows([Study], "")]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in rows)


def with_key_table(readme: str) -> str:
    """`readme` with the table between the two markers replaced."""
    return made_anew(readme, "keys", key_table())


def _rows(forms: list[type[Any]], prefix: str) -> Iterator[Row]:
    """The rows of a section; the meaning of a key that only some forms have begins with the names of these forms."""
    tag = getattr(forms[0], "discriminator", "")
    if tag:
        fields = [form.model_fields[tag] for form in forms]
        default = next((default for default in map(_default, fields) if default != "required"), "required")
        yield f"`{prefix}{tag}`", _names_of(forms), default, " ".join(str(field.description) for field in fields)
    forms_of_row: dict[Row, list[type[Any]]] = {}
    for form in forms:
        first = form.names()[0] if len(forms) > 1 else ""  # the key that tells the form, unless a tag does
        for name in sorted(form.model_fields, key=first.__ne__):
            for row in _rows_of_key(f"{prefix}{name}", form.model_fields[name]) if name != tag else ():
                forms_of_row.setdefault(row, []).append(form)
    for (key, kind, default, meaning), having in forms_of_row.items():
        if len(having) == len(forms):
            yield key, kind, default, meaning
        elif not tag and key == f"`{prefix}{having[0].names()[0]}`":  # the key that tells the form
            yield key, kind, "one of these", meaning
        else:
            yield key, kind, default, f"({_names_of(having)}) {meaning}"


def _names_of(forms: list[type[Any]]) -> str:
    return ", ".join(f"`{name}`" for form in forms for name in form.names())


def _rows_of_key(key: str, field: FieldInfo) -> Iterator[Row]:
    forms = sections_in(field.annotation)
    if not forms:
        yield f"`{key}`", _words(TypeAdapter(field.annotation).json_schema()), _default(field), str(field.description)
    elif tuple(forms) == SOURCES:
        yield f"`{key}`", f"as `{_WEIGHTS}`", _default(field), str(field.description)
    else:
        yield from _rows(forms, f"{key}.NAME." if get_origin(field.annotation) is dict else f"{key}.")


def _words(definition: dict[str, Any]) -> str:
    """The type of a key, by its JSON schema, in the words of YAML."""
    if "anyOf" in definition:
        return " or ".join(map(_words, definition["anyOf"]))
    if "enum" in definition:
        return ", ".join(f"`{value}`" for value in definition["enum"])
    if definition["type"] == "array":
        items = definition.get("items") or definition["prefixItems"][0]
        return f"list of {_words(items)}"
    return {"object": "mapping", "boolean": "true or false"}.get(definition["type"], definition["type"])


def _default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "required"
    return f"`{json.dumps(field.default, default=list)}`"


if __name__ == "__main__":
    SCHEMA.write_text(schema(), encoding="utf-8")
    README.write_text(with_key_table(README.read_text(encoding="utf-8")), encoding="utf-8")
    PAGE.write_text(tables_page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
