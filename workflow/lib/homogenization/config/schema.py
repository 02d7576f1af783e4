"""The schema of the configuration for editors: `python -m homogenization.config.schema > config/schema.json`."""

import json
from typing import Any

from homogenization.config.study import Study


def schema() -> str:
    """JSON Schema of `Study`, with a line for each key."""
    return _text(Study.model_json_schema()) + "\n"


def _text(node: Any, margin: str = "") -> str:
    line = json.dumps(node, ensure_ascii=False)
    if len(line) <= 250 or not isinstance(node, dict):
        return line
    keys = (f"{margin} {json.dumps(key)}: {_text(value, margin + ' ')}" for key, value in node.items())
    return "{\n" + ",\n".join(keys) + f"\n{margin}}}"


if __name__ == "__main__":
    print(schema(), end="")
