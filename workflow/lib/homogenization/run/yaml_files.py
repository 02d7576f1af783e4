"""Files of a configuration."""

from pathlib import Path
from typing import Any

import yaml

from homogenization.run.errors import HomogenizationError


def read_yaml(path: str | Path) -> Any:
    """What a YAML file of the user holds, or a JSON file.

    Raises:
        HomogenizationError: it can't be read; the message says in which line.
    """
    try:
        return yaml.load(Path(path).read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (OSError, ValueError, yaml.YAMLError) as error:
        reason = " ".join(str(error).replace('in "<unicode string>", ', "in ").split())
        raise HomogenizationError(f"{path}: not readable as YAML ({reason})") from error
