"""Where a study comes from: a line to cite its numbers with, and what its report says of its origin."""

import hashlib
import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from homogenization.run.files import gone
from homogenization.run.made_by import METADATA_KEY
from homogenization.run.secrets import masked

VERSION = "0.1.0"  # of the library; a checkout runs without being installed, and pip reads it here
_LIBRARY = Path(__file__).parents[1]
_FILES = "files"  # a parameter with paths below the folder of results, whatever its name


def citation(folder: Path, extraction: pl.DataFrame) -> str:
    """The study in one line: version and commit of the code, hash, folder, reviews, models, variants, confidence.

    The hash is over what jobs did and with which parameters, in whatever order and how many shards each.

    Args:
        folder: folder of results.
        extraction: its table `extraction`, which says what the study read.
    """
    records = list(_job_records(folder, extraction))
    distinct = sorted({json.dumps(record, sort_keys=True) for record in records})
    study = hashlib.blake2b("\n".join(distinct).encode(), digest_size=8).hexdigest()
    first = extraction.filter(pl.col("model") == extraction["model"][0], pl.col("variant") == extraction["variant"][0])
    counts = {"reviews": first["n_reviews"].sum() + first["n_left_out"].sum()}
    counts |= {f"{name}s": extraction[name].n_unique() for name in ("model", "variant")}
    said = [f"{count} {name if count != 1 else name[:-1]}" for name, count in counts.items()]
    levels = {record["params"].get("resampling", {}).get("confidence") for record in records} - {None}
    said += [f"{100 * level:g} % intervals" for level in sorted(levels)]
    return f"{_software()}; study {study} in {folder}: {', '.join(said)}"


def provenance(extraction: pl.DataFrame, configuration: Mapping[str, Any]) -> dict[str, Any]:
    """What a report says of its origin, as texts.

    Args:
        extraction: the table `extraction`.
        configuration: the merged configuration, as JSON has it.

    Returns:
        `software`, its version and commit; `weights`, the digest of each model's; `configuration`, as YAML, and its
        `digest`, 16 hexadecimal digits whatever the order of its keys.
    """
    digests = extraction.unique("model", maintain_order=True).select("model", "weights_digest")
    canonical = json.dumps(configuration, sort_keys=True).encode()
    return {
        "software": _software(),
        "weights": dict(digests.iter_rows()),
        "configuration": yaml.safe_dump(masked(json.loads(canonical)), allow_unicode=True),
        "digest": hashlib.blake2b(canonical, digest_size=8).hexdigest(),
    }


def _software() -> str:
    commit = _commit()
    return f"token-homogenization {VERSION}" + (f", commit {commit}" if commit else "")


def _job_records(folder: Path, extraction: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Rule and parameters, which hold the hash of the rule's code, of the jobs that made a study; what they read.

    The jobs are those of its tables, of its corpus, key phrases, variants and similarities, and of the states that its
    spectra were computed from; what they read are reviews, by the hashes of their texts, and weights. Files that an
    earlier configuration left for other models, variants or shards are not read; a table that it left is.

    Raises:
        HomogenizationError: a file of these is gone.
    """
    shards = extraction["shard"].unique().sort()
    files = [*sorted(folder.glob("tables/*.parquet")), folder / "corpus/raw.parquet", folder / "corpus/clean.parquet"]
    files += [folder / f"{stage}/{shard}.parquet" for stage in ("corpus", "keyphrases") for shard in shards]
    for variant in extraction["variant"].unique().sort():
        files += [folder / f"variants/{variant}/{shard}.parquet" for shard in shards]
        files += filter(Path.exists, (folder / f"similarity/{variant}/{shard}.parquet" for shard in shards))
    for file in files:
        yield _record(_metadata(file)["made_by"])
    for job in extraction.select("model", "variant", "shard").rows():
        metadata = _metadata(folder.joinpath("spectra", *job).with_suffix(".parquet"))
        yield from (_record(metadata["made_by"]), _record(metadata["states"]["extracted_by"]))
    for shard in shards:
        read = pl.read_parquet(folder / f"corpus/{shard}.parquet", columns=["review_id"])
        yield {"rule": "", "params": read.to_dict(as_series=False)}
    yield from ({"rule": "", "params": digest} for digest in extraction.select("model", "weights_digest").to_dicts())


def _metadata(path: Path) -> dict[str, Any]:
    """The metadata of a table, from its last bytes alone: some of these tables are large."""
    if not path.exists():
        raise gone(path)
    return json.loads(pl.read_parquet_metadata(path)[METADATA_KEY])


def _record(job: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _without_paths(job[name]) for name in ("rule", "params")}


def _without_paths(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return {key: _without_paths(item) for key, item in value.items() if key != _FILES}


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
