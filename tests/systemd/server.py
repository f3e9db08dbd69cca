"""What stands for a server in tests of systemd: it prints a few lines of SGLang's, serves its pool, or does not.

server.py [--pool TOKENS] [--load SECONDS] [--dies CODE] [--hangs] [--dump FILE] [anything else]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path


def main() -> None:
    """Load, then serve."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pool", type=int, default=0)
    parser.add_argument("--load", type=float, default=0.0)
    parser.add_argument("--dies", type=int)
    parser.add_argument("--hangs", action="store_true")
    parser.add_argument("--dump", type=Path)
    given, _ = parser.parse_known_args()
    if given.dump is not None:
        environment = {name: os.environb[name.encode()].decode() for name in os.environ}
        told = json.dumps([sys.argv, environment])
        scratch = given.dump.with_suffix(".part")
        scratch.write_text(told, "utf-8")
        scratch.rename(given.dump)
    say("Load weight begin. avail mem=94.00 GB")
    for shard in (1, 2):
        say(f"Loading safetensors checkpoint shards: {50 * shard}% Completed | {shard}/2 [00:01]")
    time.sleep(given.load)
    if given.hangs:
        time.sleep(3600)
    if given.dies is not None:
        say("api_key='sk-abcdefghijklmnop'")
        say("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.")
        sys.exit(given.dies)
    say(f"KV Cache is allocated. #tokens: {given.pool}, KV size: 1.00 GB")
    say("The server is fired up and ready to roll!")
    server = HTTPServer(("127.0.0.1", 30000), answers(given.pool))
    server.serve_forever()


def answers(pool: int) -> type[BaseHTTPRequestHandler]:
    """What answers each request."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"max_total_num_tokens": pool}).encode()
            self.send_response(200)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing of requests."""

    return Answers


def say(text: str) -> None:
    """One line of the log."""
    print(text, flush=True)  # noqa: T201 - its log


if __name__ == "__main__":
    main()
