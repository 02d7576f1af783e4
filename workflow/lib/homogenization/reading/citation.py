"""Where a study comes from: a line to cite its numbers with, and what its report says of its origin."""

import hashlib
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl
import yaml

VERSION = "0.1.0"  # of the library; a checkout runs without being installed, and pip reads it here
_LIBRARY = Path(__file__).parents[1]


def citation(folder: Path, extraction: pl.DataFrame) -> str:
    """The study in one line: version and commit of the code, hash of its tables, folder, reviews, models, variants.

    Args:
        folder: folder of results.
        extraction: its table `extraction`, which says what the study read.
    """
    tables = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(folder.glob("tables/*.parquet"))))
    first = extraction.filter(pl.col("model") == extraction["model"][0], pl.col("variant") == extraction["variant"][0])
    counts = {"reviews": first["n_reviews"].sum() + first["n_left_out"].sum()}
    counts |= {f"{name}s": extraction[name].n_unique() for name in ("model", "variant")}
    said = [f"{count} {name if count != 1 else name[:-1]}" for name, count in counts.items()]
    return f"{_software()}; tables {tables.hexdigest()[:16]} in {folder}: {', '.join(said)}"


def provenance(extraction: pl.DataFrame, configuration: Mapping[str, Any]) -> dict[str, Any]:
    """What a report says of its origin, as texts.

    Args:
        extraction: the table `extraction`.
        configuration: the merged configuration, as JSON has it.

    Returns:
        `software`, its version and commit; `weights`, where each model's come from; `configuration`, as YAML, and its
        `digest`, 16 hexadecimal digits whatever the order of its keys.
    """
    weights = extraction.unique("model", maintain_order=True).select("model", "weights")
    canonical = json.dumps(configuration, sort_keys=True).encode()
    return {
        "software": _software(),
        "weights": dict(weights.iter_rows()),
        "configuration": yaml.safe_dump(json.loads(canonical), allow_unicode=True),
        "digest": hashlib.blake2b(canonical, digest_size=8).hexdigest(),
    }


def _software() -> str:
    commit = _commit()
    return f"token-homogenization {VERSION}" + (f", commit {commit}" if commit else "")


def _commit() -> str:
    """The commit of the checkout that this library is part of, and whether it was edited since; "" without one."""
    git = ["git", "-C", str(_LIBRARY)]
    try:
        # an installed library may stand in the checkout of something else
        subprocess.run([*git, "ls-files", "--error-unmatch", "__init__.py"], check=True, capture_output=True)
        described = [*git, "describe", "--always", "--dirty", "--exclude=*", "--abbrev=12"]
        return subprocess.run(described, check=True, capture_output=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
