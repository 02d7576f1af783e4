"""What the configuration model says of itself: the JSON schema and the key table of config/README.md.

    PYTHONPATH=workflow/lib python -m homogenization.config.docs

writes both; a test fails when they differ from the model.
"""

import json
from pathlib import Path
from typing import Any, get_args

from pydantic import TypeAdapter
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from homogenization.config.study import Section, Study

SCHEMA = Path("workflow/schemas/config.schema.json")
README = Path("config/README.md")
BEGIN, END = "<!-- keys: begin -->", "<!-- keys: end -->"


def schema() -> str:
    """The JSON schema of the configuration, as text."""
    return json.dumps(Study.model_json_schema(), indent=2, ensure_ascii=False) + "\n"


def key_table() -> str:
    """A Markdown table of every key: dotted name, type, default, meaning."""
    rows = ["| key | type | default | meaning |", "| --- | --- | --- | --- |", *_rows(Study, "")]
    return "\n".join(rows) + "\n"


def with_key_table(readme: str) -> str:
    """`readme` with the table between the two markers replaced."""
    before, rest = readme.split(BEGIN)
    _, after = rest.split(END)
    return f"{before}{BEGIN}\n\n{key_table()}\n{END}{after}"


def _rows(section: type[Section], prefix: str) -> list[str]:
    rows = []
    for name, field in section.model_fields.items():
        key = f"{prefix}{name}"
        inner, by_name = _section_of(field.annotation)
        if inner is None:
            described = field.description
            rows.append(f"| `{key}` | {_type_name(field.annotation)} | {_default(field)} | {described} |")
        elif inner.__name__ == "Weights" and prefix != "models.NAME.":
            rows.append(f"| `{key}` | as `models.NAME.weights` | {_default(field)} | {field.description} |")
        else:
            rows += _rows(inner, f"{key}.NAME." if by_name else f"{key}.")
    return rows


def _section_of(annotation: Any) -> tuple[type[Section] | None, bool]:
    """The section that a key holds, and whether it holds one under every name of a mapping."""
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation, False
    for argument in get_args(annotation):
        if isinstance(argument, type) and issubclass(argument, Section):
            return argument, getattr(annotation, "__origin__", None) is dict
    return None, False


def _type_name(annotation: Any) -> str:
    """The type of a key in the words of YAML."""
    described = TypeAdapter(annotation).json_schema()
    return " or ".join(_words(option) for option in described.get("anyOf", [described]))


def _words(described: dict[str, Any]) -> str:
    if "enum" in described:
        return ", ".join(f"`{value}`" for value in described["enum"])
    if described["type"] == "array":
        items = described.get("items") or described["prefixItems"][0]
        return f"list of {_words(items)}"
    return {"object": "mapping", "integer": "integer", "number": "number", "boolean": "true or false"}.get(
        described["type"], described["type"]
    )


def _default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "required"
    return f"`{json.dumps(field.default, default=list)}`"


if __name__ == "__main__":
    SCHEMA.write_text(schema(), encoding="utf-8")
    README.write_text(with_key_table(README.read_text(encoding="utf-8")), encoding="utf-8")
