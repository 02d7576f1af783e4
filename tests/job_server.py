"""Jobs in processes that find their libraries imported: torch and transformers take five seconds, most jobs less.

A server forks for each job and runs its script there, with the folder, environment and output of what asked for it.
That process is this file too (`client`), started by Snakemake in place of Python; if it ends first, its job is killed.
That a job lacks an import of its own is found where a test runs its rule in a real process.
"""

import os
import socket
import sys

ADDRESS = "TEST_JOB_SERVER"


def client(script: str) -> int:
    """Have the server run `script`; its exit status."""
    import json

    with socket.socket(socket.AF_UNIX) as server:
        server.connect(os.environ[ADDRESS])
        call = json.dumps([script, os.getcwd(), dict(os.environ)]).encode()
        socket.send_fds(server, [len(call).to_bytes(8, "big")], [0, 1, 2])
        server.sendall(call)
        status = server.recv(1)
    return status[0] if status else 1


def serve(address: str) -> None:
    """Serve until standard input is closed."""
    import gc
    import select
    import signal
    from importlib import import_module

    for library in PRELOADED:
        import_module(library)
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(address)
        listening.listen(64)
        print("ready", flush=True)
        while sys.stdin not in select.select([listening, sys.stdin], [], [])[0]:
            connection, _ = listening.accept()
            if os.fork() == 0:
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                listening.close()
                _supervise(connection)
            connection.close()


def _supervise(connection: socket.socket) -> None:
    import json
    import select
    import signal

    header, descriptors, *_ = socket.recv_fds(connection, 8, 3)
    size, received = int.from_bytes(header, "big"), b""
    while len(received) < size:
        received += connection.recv(size - len(received))
    job = os.fork()
    if job == 0:
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
        connection.close()
        _run(*json.loads(received))
    ended = os.pidfd_open(job)
    if ended not in select.select([ended, connection], [], [])[0]:
        os.kill(job, signal.SIGKILL)
    _, status = os.waitpid(job, 0)
    code = os.waitstatus_to_exitcode(status)
    connection.sendall(bytes([code if code >= 0 else 128 - code]))
    os._exit(0)


def _run(script: str, folder: str, environment: dict[str, str]) -> None:
    """Run `script` as Python would; never returns."""
    import runpy
    import traceback

    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [script]
    # where Python looks first: beside the script, and in PYTHONPATH
    sys.path[0:0] = [os.path.dirname(script), *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    status = 0
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else ended.code is not None
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(int(status))


# what takes long to import; never this repository's library
PRELOADED = (
    "numpy",
    "polars",
    "scipy.stats",
    "sklearn.linear_model",
    "torch",
    "transformers.modeling_utils",
    "transformers.models.auto.modeling_auto",
    "transformers.models.llama.modeling_llama",
    "transformers.models.bert.modeling_bert",
    "accelerate",
    "zarr",
    "matplotlib.backends.backend_svg",
    "matplotlib.backends.backend_agg",
    "pydantic",
    "snakemake.script",
)

if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        sys.exit(client(sys.argv[1]))
