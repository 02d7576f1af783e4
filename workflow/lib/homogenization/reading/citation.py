"""Where a study comes from: the code and the configuration."""

import hashlib
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

VERSION = "0.1.0"  # of the library; a checkout runs without being installed, and pip reads it here
ORIGIN = "origin.json"  # in the folder of results: `provenance` of its report, and the names of the study's tables


def provenance(configuration: Mapping[str, Any]) -> dict[str, str]:
    """The `software` (version, commit); the `configuration` as YAML, and its `digest`, whatever the order of keys."""
    canonical = json.dumps(configuration, sort_keys=True)
    digest = hashlib.blake2b(canonical.encode(), digest_size=8).hexdigest()
    written = yaml.safe_dump(json.loads(canonical), allow_unicode=True)
    return {"software": _software(), "configuration": written, "digest": digest}


def _software() -> str:
    """Version, the commit of the checkout that this library is part of, and whether it was edited since."""
    git = ["git", "-C", str(Path(__file__).parents[1])]
    described = [*git, "describe", "--always", "--dirty", "--exclude=*", "--abbrev=12"]
    try:
        # an installed library may stand in the checkout of something else
        subprocess.run([*git, "ls-files", "--error-unmatch", "__init__.py"], check=True, capture_output=True)
        commit = subprocess.run(described, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return f"token-homogenization {VERSION}"
    return f"token-homogenization {VERSION}, commit {commit}"
