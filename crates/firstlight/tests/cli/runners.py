"""A runner of its own: it knows the protocol, and nothing of firstlight's package.

The first argument names a defect, or is `none`.
"""

import json
import os
import socket
import sys
import time

defect = sys.argv[1]
channel = socket.socket(fileno=int(os.environ["FIRSTLIGHT_FD"]))
requests = channel.makefile("r")
now = time.monotonic_ns


def say(kind, **fields):
    channel.sendall(json.dumps({"type": kind, **fields}).encode() + b"\n")


def phase(name, edge):
    say("phase", edge=edge, name=name, label=None, at=now(), thread=0)


def calls(part, asked):
    spans, deadline = [], now() + asked.get("within-ns", 10**12)
    for made in range(1, asked["count"] + 1):
        spans.append([now(), now()])
        if defect == "ignores-the-limit" and "within-ns" in asked:
            time.sleep(0.001)
            if made == 10:
                break
        elif spans[-1][1] > deadline and made >= asked.get("at-least", 1):
            break
    last = defect != "no-last-block"
    say("iterations", part="first" if defect == "one-part" else part, last=last, spans=spans)


def answer(request):
    kind = request["type"]
    if kind == "prepare":
        say("ready", at=now())
    elif kind in ("first", "warm-up", "iterate"):
        name, part = {
            "first": ("first-run", "first"),
            "warm-up": ("warm-up", "warm-up"),
            "iterate": ("window", "window"),
        }[kind]
        phase(name, "begin")
        calls(part, {"count": 1, **request})
        phase(name, "end")
        if kind == "first" and defect != "no-mark":
            say("event", at=now(), event={"kind": "mark", "name": "first-result"})
        if kind != "warm-up" and defect != "no-output":
            say("output", check="not-given", digest=None)
    elif kind == "settle":
        at = now()
        say("settled", spans=[[at, at, at, at]])


hello = {"protocol": {"major": 1, "minor": 0}, "role": "runner", "pid": os.getpid()}
say("hello", language="python", runtime="x", executable=None, started=None, at=now(), **hello)
prepared = False
for line in requests:
    request = json.loads(line)
    if request["type"] == "finish":
        break
    prepared = prepared or request["type"] == "prepare"
    if not prepared and defect != "never-fails":
        say("failed", at=now(), error="not prepared", traceback="")
        break
    answer(request)
if defect == "hangs":
    time.sleep(600)
if defect != "no-bye":
    say("bye", at=now())
if defect == "speaks-after-bye":
    phase("run", "begin")
sys.exit(3 if defect == "exits-badly" else 0)
