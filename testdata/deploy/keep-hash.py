#!/usr/bin/env python3
"""Gives a keeper that is not the operator's the hashes of a journal's lines, and nothing else:

    waybill serve -keep 'keep-hash.py COMMAND'

COMMAND is run by a shell. It gets a line `SEQ HASH` for each line of the journal, and prints what each
keeper prints: first `SEQ HASH` of the last line that it has (`0 -`: none), then the seq of the last line
that it has for good. That goes back to the server as it is. No answer leaves before COMMAND has its hash, so
no line can be taken back once it was answered. A keeper of hashes cannot take over: it has no lines.

Each hash is computed here from the line and the hash before it, as the page on the journal says. A line
whose hash does not follow is not passed on. Exit codes: that of COMMAND, 1 for such a line, 2 for usage.
"""
import base64
import hashlib
import json
import os
import subprocess
import sys
import threading


def chained(line):
    """Returns the bytes of a line that its hash covers: all after the hash, but for the personal part."""
    personal = line.find(b',"personal":{')
    return line[75:personal if personal >= 0 else -1]


def hand_back(command, began, first, all_given):
    """Prints what COMMAND prints. Its first line says after which hash the lines go on. Where COMMAND ends
    too early, this keeper ends at once, and not only when the next line comes."""
    for line in command.stdout:
        if not began.is_set():
            first.append(line.split()[-1] if line.split() else b"")
            began.set()
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()
    began.set()
    if not all_given.is_set():
        os._exit(command.wait())


def main(arguments):
    if len(arguments) != 1 or arguments[0].startswith("-"):
        print("usage: keep-hash.py COMMAND", file=sys.stderr)
        return 2
    command = subprocess.Popen(["sh", "-c", arguments[0]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    began, first, all_given = threading.Event(), [], threading.Event()
    back = threading.Thread(target=hand_back, args=(command, began, first, all_given), daemon=True)
    back.start()
    began.wait()
    before = first[0] if first else b""
    code = 0
    try:
        for line in sys.stdin.buffer:
            if not line.endswith(b"\n"):
                break  # the server was killed while it wrote this line
            if line.startswith(b'{"file":'):
                file = json.loads(line)
                if file["file"] == "FORMAT":  # what the first line is chained to
                    before = hashlib.sha256(base64.b64decode(file["data"])).hexdigest().encode()
                continue
            given, seq = line[9:73], line[81:line.index(b",", 81)]
            if hashlib.sha256(before + chained(line)).hexdigest().encode() != given:
                print("line %s does not follow from the one before it" % seq.decode(), file=sys.stderr)
                code = 1
                break
            before = given
            command.stdin.write(seq + b" " + given + b"\n")
            command.stdin.flush()
        all_given.set()
        command.stdin.close()
    except BrokenPipeError:  # COMMAND has ended: its exit code says why
        pass
    back.join()
    return code or command.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
