"""Weights in a folder of one machine, copied for jobs on others, which share no files with it."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from homogenization.models.digests import DIGESTS_FILE, list_digests, verified_digests
from homogenization.models.weights import resolve_weights
from homogenization.names.files import ORIGIN_FILE
from homogenization.run.files import written_together
from homogenization.run.job import job_record
from homogenization.run.made_by import marked


def carry_weights(weights: Mapping[str, Any], files: Sequence[str], folder: str | Path) -> None:
    """Copy `files` of a local model to `folder`, with a line on their origin and their digests, all or none.

    Args:
        weights: entry of the configuration, which names the folder.
        files: its files.
        folder: where the copies go.

    Raises:
        HomogenizationError: a file differs from a digest that lies beside it, or the disk is full.
    """
    resolved = resolve_weights(weights)
    verified_digests(resolved)
    names = [*(Path(file).name for file in files), ORIGIN_FILE]
    with written_together(folder, [*names, DIGESTS_FILE]) as partial:
        for file in files:
            shutil.copyfile(file, partial / Path(file).name)
        (partial / ORIGIN_FILE).write_text(marked(resolved.description, job_record().get("key")), encoding="utf-8")
        list_digests(partial, names)
