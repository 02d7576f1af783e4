"""llama.cpp's server in a process of its own, which ends when its standard input does: with its job, however that ends.

Its argument is JSON: file, threads, context (tokens of a slot), slots. Its address is the one line on standard output.
It imports nothing of the library, which need not be on the path.
"""

import json
import os
import sys
import threading


def main(file: str, threads: int, context: int, slots: int) -> None:
    """Serve the model until standard input ends."""
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what llama.cpp prints belongs to the log
    threading.Thread(target=_end_with_input, daemon=True).start()
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = file
    params.n_ctx = context * slots
    params.n_parallel = slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.n_gpu_layers = 0
    params.fit_params = False  # a context that memory does not hold is an error, and not another context
    params.warmup = False
    params.ui = False
    params.verbosity = 1  # errors
    params.force_pure_content_parser = True  # answers as they are
    # What earlier requests leave in memory changes how the next is computed, and with its rounding the text. Requests
    # say themselves what they begin from, which is found whole in every layer, and nowhere but in their slot.
    params.cache_prompt = False
    params.cache_ram_mib = 0
    params.swa_full = True
    # only temperature and top_p, which each request names, shape what is drawn
    params.sampling.top_k = 0
    params.sampling.min_p = 0.0
    server = xllamacpp.Server(params)
    print(server.listening_address, file=told, flush=True)
    threading.Event().wait()


def _end_with_input() -> None:
    while os.read(0, 1):
        pass
    os._exit(0)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
