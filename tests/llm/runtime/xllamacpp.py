"""Stands for the runtime of the local model: the same parameters, the same kind of server on a real socket.

`FAKE_START` makes a start `hang` or `fail`. A request that says `die` ends the process in the middle of its answer.
"""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

WORDS = ("Tiny ", "but ", "real.")
USAGE = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}


class CommonParams:
    def __init__(self) -> None:
        self.model = SimpleNamespace(path="")
        self.cpuparams = SimpleNamespace(n_threads=-1)
        self.cpuparams_batch = SimpleNamespace(n_threads=-1)
        self.sampling = SimpleNamespace(penalty_repeat=1.0, dry_multiplier=0.0)
        self.model_alias: set[str] = set()
        self.hostnames = ["0.0.0.0"]  # noqa: S104 what has to be changed
        self.port = 8080
        self.api_keys: list[str] = []
        self.offline = False
        self.n_parallel = 1
        self.kv_unified = False
        self.cache_ram_mib = 8192


class Server:
    def __init__(self, params: CommonParams) -> None:
        if os.environ["FAKE_START"] == "hang":
            threading.Event().wait()
        threads = (params.cpuparams.n_threads, params.cpuparams_batch.n_threads)
        if (
            os.environ["FAKE_START"] == "fail"
            or not params.offline
            or params.cache_ram_mib
            or params.sampling.penalty_repeat == 1.0
            or params.sampling.dry_multiplier == 0.0
            or threads != (1, 1)
            or (params.n_parallel > 1 and not params.kv_unified)
        ):
            raise RuntimeError("no start")
        Path(params.model.path).read_text()
        os.write(1, b"what people wrote\n")
        server = ThreadingHTTPServer((params.hostnames[0], params.port), Answering)
        server.params = params  # type: ignore[attr-defined]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.listening_address = f"http://{params.hostnames[0]}:{server.server_address[1]}"


class Answering(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        params: CommonParams = self.server.params  # type: ignore[attr-defined]
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.headers["authorization"] != f"Bearer {params.api_keys[0]}":
            self.send_error(401)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        (model,) = params.model_alias
        for number, word in enumerate(WORDS):
            if number == 2 and body["messages"][-1]["content"] == "die":
                os._exit(9)
            self._event(model, choices=[{"index": 0, "delta": {"content": word}, "finish_reason": None}])
        self._event(model, choices=[{"index": 0, "delta": {}, "finish_reason": "stop"}])
        self._event(model, choices=[], usage=USAGE)
        self.wfile.write(b"data: [DONE]\n\n")

    def _event(self, model: str, **fields: object) -> None:
        event = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": model, **fields}
        self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())

    def log_message(self, *_: object) -> None:
        """Keep quiet."""
