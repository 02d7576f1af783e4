"""A real Slurm on this machine alone, with a fake GPU: what the tests run on, and a place to try a profile by hand.

    python tests/slurm/single_node.py start
    python tests/slurm/single_node.py stop

It needs root and the Debian packages slurm-wlm and munge, but neither systemd nor an accounting database. The fake GPU
is a device file that Slurm hands out to one job at a time; nothing can be computed on it.
"""

import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

FOLDER = Path("/run/homogenization-slurm")
# Snakemake's plugin drops SLURM_CONF in its jobs, so the files have to be where Slurm looks by itself. They must not
# outlive slurmctld: each start of Snakemake would wait seconds for it.
CONFIGURATION = Path("/etc/slurm")
MARK = "# Written by token-homogenization, tests/slurm/single_node.py; `single_node.py stop` takes it away."
DAEMONS = ("slurmd", "slurmctld", "munged")

SLURM = """\
{mark}
ClusterName=homogenization
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
# a requeued job waits for this many seconds and one more
AuthInfo=socket={folder}/munge.socket,cred_expire=5
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdPidFile={folder}/slurmd.pid
SlurmdLogFile={folder}/slurmd.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
MailProg=/bin/true
# the node has what is written here, whatever the machine has
SlurmdParameters=config_overrides
ProctrackType=proctrack/pgid
ReturnToService=2
SchedulerParameters=batch_sched_delay=0,sched_interval=1
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
# a job that takes more memory than it asked for is killed
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
# finished jobs stay on record, where squeue and scontrol find them
MinJobAge=86400
GresTypes=gpu
KillWait=1
NodeName={host} NodeAddr=127.0.0.1 CPUs=16 RealMemory=64000 Gres=gpu:1
# the higher tier: jobs that wait for the GPU hold up none of those that need no GPU
PartitionName=cpu Nodes={host} Default=YES PriorityTier=2
PartitionName=gpu Nodes={host}
"""


def why_not() -> str | None:
    """What this machine lacks for a Slurm of its own; None where nothing is missing."""
    missing = [name for name in (*DAEMONS, "sbatch") if shutil.which(name) is None]
    if missing:
        return f"{', '.join(missing)} not found; apt-get install --no-install-recommends slurm-wlm munge"
    if os.geteuid() != 0:
        return "starting Slurm's daemons needs root"
    theirs = CONFIGURATION / "slurm.conf"
    if theirs.exists() and not _is_ours(theirs):
        return f"this machine has a Slurm already: {theirs}"
    return None


def start() -> None:
    """Start munged, slurmctld and slurmd, on one node with the partitions of `SLURM`; end what runs of them."""
    stop()
    try:
        _write_configuration()
        munge = {name: FOLDER / f"munge.{name}" for name in ("key-file", "socket", "log-file", "seed-file")}
        munge["key-file"].write_bytes(os.urandom(128))
        munge["key-file"].chmod(0o600)
        munge["pid-file"] = FOLDER / "munged.pid"
        _call("munged", *(f"--{option}={file}" for option, file in munge.items()))
        # -c: no memory of earlier jobs
        _call("slurmctld", "-c")
        _call("slurmd")
        if not _wait(lambda: "idle" in _output("sinfo", "--noheader", "--format=%t")):
            logs = (f"{log}:\n{log.read_text()[-2000:]}" for log in sorted(FOLDER.glob("*.log")))
            raise TimeoutError("\n".join(["Slurm's node did not become idle", *logs]))
    except BaseException:
        stop()
        raise


def stop() -> None:
    """Cancel all jobs, end the daemons and take their files away; does nothing where none was started."""
    if _pid("slurmctld") is not None:
        _call("scancel", "--user=root")
        _wait(lambda: not _output("squeue", "--noheader"))
    for file in (CONFIGURATION / "slurm.conf", CONFIGURATION / "gres.conf"):
        if file.exists() and _is_ours(file):
            file.unlink()
    for name in DAEMONS:
        for sent in (signal.SIGTERM, signal.SIGKILL):
            if (pid := _pid(name)) is not None:
                os.kill(pid, sent)
                _wait(lambda name=name: _pid(name) is None)
    shutil.rmtree(FOLDER, ignore_errors=True)


def jobs() -> list[dict[str, str]]:
    """The fields of `scontrol show job` of every job since the start, in the order of submission."""
    lines = _output("scontrol", "--oneliner", "show", "job").splitlines()
    found = (dict(re.findall(r"(\S+?)=(\S*)", line)) for line in lines)
    return sorted((job for job in found if "JobId" in job), key=lambda job: int(job["JobId"]))


def _is_ours(file: Path) -> bool:
    return file.read_text().startswith(MARK)


def _pid(name: str) -> int | None:
    """The process id of a daemon that `start` started and that still runs."""
    try:
        pid = int((FOLDER / f"{name}.pid").read_text())
        _, program, state, *_ = Path(f"/proc/{pid}/stat").read_text().split()
    except (OSError, ValueError):
        return None
    return pid if program == f"({name})" and state != "Z" else None


def _write_configuration() -> None:
    for folder in (FOLDER, FOLDER / "state", FOLDER / "spool", CONFIGURATION):
        folder.mkdir(mode=0o755, parents=True, exist_ok=True)
    host = socket.gethostname().partition(".")[0]
    # Slurm takes nothing but a character device for a GPU; this is /dev/null by another name
    os.mknod(FOLDER / "gpu", 0o666 | stat.S_IFCHR, os.makedev(1, 3))
    (CONFIGURATION / "slurm.conf").write_text(SLURM.format(mark=MARK, host=host, folder=FOLDER))
    (CONFIGURATION / "gres.conf").write_text(f"{MARK}\nNodeName={host} Name=gpu File={FOLDER}/gpu\n")


def _call(*command: str) -> None:
    subprocess.run(command, check=True, timeout=60)


def _output(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False).stdout.strip()


def _wait(done: Callable[[], bool], seconds: float = 30) -> bool:
    """Whether it is done before `seconds` have passed."""
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


if __name__ == "__main__":
    {"start": start, "stop": stop}[sys.argv[1]]()
