# As lines.mjs: `python3 lines.py text server LOG` reads as Python's text streams do, `splitlines` as str.splitlines.
import io
import json
import sys

style, role = sys.argv[1:3]
log = open(sys.argv[3], "a", buffering=1) if role == "server" else sys.stdout
results = {
    "initialize": {
        "protocolVersion": "2025-11-25",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "lines", "version": "1"},
    },
    "tools/list": {"tools": [{"name": "say", "inputSchema": {"type": "object"}}]},
}


def lines():
    if style == "text":
        for line in io.TextIOWrapper(sys.stdin.buffer, "utf-8"):
            yield line.rstrip("\n")
    else:
        for chunk in iter(sys.stdin.buffer.readline, b""):
            yield from chunk.decode().splitlines()


def answer(line):
    try:
        message = json.loads(line)
    except ValueError:
        return
    if not isinstance(message, dict) or "id" not in message or "method" not in message:
        return
    raw = message.get("params", {}).get("arguments", {}).get("say")
    if raw is None:
        raw = '{"jsonrpc":"2.0","id":#,"result":%s}' % json.dumps(results.get(message["method"], {}))
    sys.stdout.buffer.write(raw.replace("#", str(message["id"])).encode() + b"\n")
    sys.stdout.buffer.flush()


for line in lines():
    log.write(line.encode().hex() + "\n")
    if role == "server":
        answer(line)
