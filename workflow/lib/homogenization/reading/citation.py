"""Where a study comes from: the code and the configuration."""

import hashlib
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

VERSION = "0.1.0"  # of the library; a checkout runs without being installed, and pip reads it here
CONFIGURATION = "configuration.yaml"  # in the folder of results
_LIBRARY = Path(__file__).parents[1]


def provenance(configuration: Mapping[str, Any]) -> dict[str, str]:
    """What a report says of its origin.

    Args:
        configuration: the merged configuration, as YAML or JSON has it.

    Returns:
        `software`, its version and commit; `configuration`, as YAML, and its `digest`, 16 hexadecimal digits whatever
        the order of its keys.
    """
    canonical = json.dumps(configuration, sort_keys=True)
    return {
        "software": _software(),
        "configuration": yaml.safe_dump(json.loads(canonical), allow_unicode=True),
        "digest": hashlib.blake2b(canonical.encode(), digest_size=8).hexdigest(),
    }


def _software() -> str:
    """Version, the commit of the checkout that this library is part of, and whether it was edited since."""
    git = ["git", "-C", str(_LIBRARY)]
    try:
        # an installed library may stand in the checkout of something else
        subprocess.run([*git, "ls-files", "--error-unmatch", "__init__.py"], check=True, capture_output=True)
        described = [*git, "describe", "--always", "--dirty", "--exclude=*", "--abbrev=12"]
        commit = subprocess.run(described, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return f"token-homogenization {VERSION}"
    return f"token-homogenization {VERSION}, commit {commit}"
