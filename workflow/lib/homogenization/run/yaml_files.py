"""Files of a configuration."""

from pathlib import Path
from typing import Any

import yaml

from homogenization.run.errors import HomogenizationError


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """YAML as it is, but for a key that stands twice in a mapping, of which the first would be lost."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        lines: dict[str, int] = {}
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode) and key.value != "<<"):
            line = key.start_mark.line + 1
            if key.value in lines:
                raise ValueError(f"{key.value!r} stands twice, in lines {lines[key.value]} and {line}; rename one")
            lines[key.value] = line
        return super().construct_mapping(node, deep)


def read_yaml(path: str | Path) -> Any:
    """What a YAML file of the user holds, or a JSON file.

    Raises:
        HomogenizationError: it can't be read, or a key stands twice; the message says in which line.
    """
    try:
        return yaml.load(Path(path).read_text("utf-8"), Loader=_Loader)
    except (OSError, ValueError, yaml.YAMLError) as error:
        reason = " ".join(str(error).replace('in "<unicode string>", ', "in ").split())
        raise HomogenizationError(f"{path}: not readable as YAML ({reason})") from error
