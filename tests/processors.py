"""The numeric tests with the kernels of other processors, one pair after the other: a part of `make test-long`.

OpenBLAS, torch and its oneDNN choose their kernels by the processor, and rounding follows. Three variables choose them
here, as a laptop, an older server and a machine with AVX-512 have them.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

# OPENBLAS_CORETYPE, ATEN_CPU_CAPABILITY -> ONEDNN_MAX_CPU_ISA, and the instructions that all need. OpenBLAS stops a
# process that lacks them. On a processor with AMX, torch multiplies bfloat16 by oneDNN whatever its own capability is,
# and fails where that is below AVX-512 and oneDNN's is not.
PAIRS = {
    ("Haswell", "avx2"): ("AVX2", {"avx2", "fma"}),
    ("Zen", "default"): ("AVX2", {"avx2", "fma"}),
    ("SkylakeX", "avx512"): ("AVX512_CORE", {"avx512f", "avx512bw", "avx512dq", "avx512vl"}),
}
CPUINFO = Path("/proc/cpuinfo")
FOLDERS = "claims consequences inference interventions measures metrics models states statistics tables training"
_SHARED = {"Zen": "Haswell"}  # kernels that the wheels of numpy and scipy have for a processor of another name
_IN_FORCE = """
import numpy, scipy.linalg, torch
from threadpoolctl import threadpool_info
print(*{pool["architecture"] for pool in threadpool_info() if pool["internal_api"] == "openblas"},
      torch.backends.cpu.get_cpu_capability())
"""


def lacking(needed: set[str], cpuinfo: str) -> list[str]:
    """The instructions that the processor lacks, by the text of /proc/cpuinfo."""
    flags = re.search(r"^flags\s*:(.*)$", cpuinfo, re.MULTILINE)
    return sorted(needed - set(flags[1].split() if flags else ()))


def main(pytest: list[str]) -> int:
    """Run the tests by the command `pytest` under each pair; 1 if any of them fails."""
    text, failed = CPUINFO.read_text() if CPUINFO.exists() else "", 0
    for (openblas, torch), (onednn, needed) in PAIRS.items():
        name = f"kernels of {openblas} and {torch}"
        if missing := lacking(needed, text):
            print(f"{name}: NOT TESTED, this processor lacks {', '.join(missing)}", flush=True)
            continue
        chosen = {"OPENBLAS_CORETYPE": openblas, "ATEN_CPU_CAPABILITY": torch, "ONEDNN_MAX_CPU_ISA": onednn}
        environment = {**os.environ, **chosen}
        loaded = subprocess.run([sys.executable, "-c", _IN_FORCE], env=environment, capture_output=True, text=True)
        print(f"{name}; in force: {loaded.stdout.strip()}", flush=True)
        if loaded.stdout.lower().split() != [_SHARED.get(openblas, openblas).lower(), torch]:
            print(f"{name}: the libraries took others\n{loaded.stderr}", flush=True)
            failed = 1
            continue
        folders = [f"tests/library/{folder}" for folder in FOLDERS.split()]
        failed |= subprocess.run([*pytest, "--quiet", *folders], env=environment).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
