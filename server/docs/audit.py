#!/usr/bin/env python3
"""audit.py: a second auditor of a Waybill data directory, made from journal.md and rules.md alone.

    python3 -I audit.py [-chain] [-json] DIR... [-against NOTE]... [-key PUB]
                        [-witness-key VKEY]... [-witnessed-within 5m]

DIR is a data directory (it has journal/); an archive of one is refused, as nothing in it was checked.
NOTE is a file of checkpoints kept elsewhere; PUB the file of the public key that signed them; VKEY the
verifier key of a witness that must have signed. Each DIR is told, and the exit code is that of the worst.

Part one checks that each line follows from the line before by number, time and hash; that a personal part has
its hash, or that a later line names it as erased; whether the end is torn or damaged; names and keys; all
notes, in the directory and given: each Ed25519 signature, the hash of the line, the root of the tree
(RFC 6962); and the files of tree/. -chain runs it alone, and so does the file cut off at PART TWO.
Part two checks the members of each line; each line against the lines before it, with the timetables; the
figures of the books, and their sums; and the files of reports.

What is NOT checked: snapshots, but that a whole one shows that its line was on the disk; what the texts in
personal parts say; keys/ and outbox/; and what rules.md lists under "What is not decided again". Where
service days start is checked only with zoneinfo (Python 3.9).

Exit code: 0 sound, 1 not, 3 only an end that was never on the disk, 2 the command line is wrong.
"""
import argparse
import base64
import functools
import gc
import hashlib
import itertools
import json
import os
import re
import signal
import sys
from datetime import datetime, timedelta

# PART ONE: the chain, the tree, the notes, and a verdict of these

MINUTE = 60 * 1000  # the times of lines are whole milliseconds here

class Newer(Exception):
    """What only a newer version of Waybill can have written."""

class Broken(Exception):
    """Bytes that are not as they were written."""

class NoJSON(Broken):
    """The same of bytes whose hash follows: they were on the disk."""

def sha256(data):
    return hashlib.sha256(data).digest()

def read_given(file):
    """The bytes of a file that somebody names on the command line, be it through a link or a pipe."""
    try:
        with open(file, "rb") as opened:
            return opened.read()
    except OSError as error:
        raise Broken("%s: %s" % (file, error.strerror))

def read_file(*path):
    """The bytes of a file, or None where there is none. Through a link, or of a pipe, nothing is read."""
    path = os.path.join(*path)
    if not os.path.lexists(path):
        return None
    if os.path.islink(path) or not os.path.isfile(path):
        raise OSError("%s is not a file" % path)
    with open(path, "rb") as file:
        return file.read()

def unbase64(text):
    try:
        data = base64.b64decode(text, validate=True)
    except ValueError:
        data = None
    if data is None or base64.b64encode(data).decode() != text:
        raise Broken("%s is not base64" % json.dumps(text[:60]))
    return data

@functools.lru_cache(1000)
def day_number(text):
    """The days from 1970-01-01 to a date; years begin with 0000, which datetime does not have."""
    early = 400 if text < "0001" else 0  # years after which the calendar repeats itself
    date = datetime(int(text[:4]) + early, int(text[5:7]), int(text[8:10]))
    return date.toordinal() - 719163 - (146097 if early else 0)

def nanoseconds(text):
    """An instant as in 2026-11-20T19:35:47.572Z, in nanoseconds since 1970."""
    whole, _, part = text.rstrip("Z").partition(".")
    clock = datetime.fromisoformat("2000-01-01" + whole[10:])
    seconds = 86400 * day_number(whole[:10]) + 3600 * clock.hour + 60 * clock.minute + clock.second
    return seconds * 10**9 + int(part.ljust(9, "0"))

def words(value):
    """A value in a sentence, without the signs of a programming language."""
    if isinstance(value, dict):
        value = ["%s: %s" % (name, value[name]) for name in sorted(value)]
    return (", ".join(map(str, value)) if isinstance(value, list) else str(value)) or "none"

def hundredths(number, unit):
    """As in 36.00 UAH, which is 3600, or 50.00 %."""
    return "%s%d.%02d %s" % ("-" if number < 0 else "", *divmod(abs(number), 100), unit)

def problem(kind, text, file="", line=0, byte=0, seq=0):
    return {"kind": kind, "file": file, "line": line, "byte": byte, "seq": seq, "text": text}

# ==== Ed25519 (RFC 8032): points are (x, y, z, t) ===================================================

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE = -121665 * pow(121666, P - 2, P) % P

def add(p, q):
    a, b = (p[1] - p[0]) * (q[1] - q[0]), (p[1] + p[0]) * (q[1] + q[0])
    c, d = 2 * p[3] * q[3] * CURVE, 2 * p[2] * q[2]
    return (b - a) * (d - c) % P, (d + c) * (b + a) % P, (d - c) * (d + c) % P, (b - a) * (b + a) % P

def times(number, point):
    result = (0, 1, 1, 0)
    while number:
        if number & 1:
            result = add(result, point)
        point, number = add(point, point), number >> 1
    return result

def point_of(data):
    """The point that 32 bytes stand for, or None."""
    y = int.from_bytes(data, "little") & (2**255 - 1)
    square = (y * y - 1) * pow(CURVE * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    if (x * x - square) % P or y >= P:
        return None
    x = x if x & 1 == data[31] >> 7 else P - x
    return x, y, 1, x * y % P

def bytes_of(point):
    inverse = pow(point[2], P - 2, P)
    return (point[1] * inverse % P | (point[0] * inverse % P & 1) << 255).to_bytes(32, "little")

BASE = point_of(bytes_of((0, 4, 5, 0)))

@functools.lru_cache(1000)  # a note stands in several files
def is_signed(key, signature, message):
    point, s = point_of(key), int.from_bytes(signature[32:], "little")
    if point is None or len(signature) != 64 or s >= ORDER:
        return False
    k = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % ORDER
    minus = (P - point[0], point[1], point[2], P - point[3])
    return bytes_of(add(times(s, BASE), times(k, minus))) == signature[:32]

def public_key(seed):
    number = int.from_bytes(hashlib.sha512(seed).digest()[:32], "little")
    return bytes_of(times(number & (2**254 - 8) | 2**254, BASE))

PUBLIC, PRIVATE = bytes.fromhex("302a300506032b6570032100"), bytes.fromhex("302e020100300506032b657004220420")

def pem_key(data, file, before=PUBLIC):
    """The 32 bytes of a PEM file: in PKIX the public key, in PKCS #8 (PRIVATE) the seed."""
    text = "\n".join(row.decode("latin1") for row in unwrapped(data or b""))
    name = "PUBLIC KEY" if before is PUBLIC else "PRIVATE KEY"
    found = re.search(r"^-----BEGIN %s-----\n([^-]*)\n-----END %s-----$" % (name, name), text, re.MULTILINE)
    der = unbase64(found.group(1).replace("\n", "")) if found else b""
    key = der[len(before):] if before is PUBLIC else der[len(before):len(before) + 32]  # more may follow
    if der[:len(before)] != before or len(key) != 32:
        raise Broken("%s does not hold an Ed25519 key" % file)
    return key

def pem_text(key):
    text = base64.b64encode(PUBLIC + key)
    return b"-----BEGIN PUBLIC KEY-----\n%s\n-----END PUBLIC KEY-----\n" % text

# ==== A line: journal.md, A line ====================================================================

TIME = rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)"
HEAD = re.compile(rb'\{"hash":"([0-9a-f]{64})","seq":(\d+),"synced":(\d+),"time":"' + TIME +
                  rb'","type":"([^"\\]*)","data":\{')
STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"')
BLANKS = re.compile(rb"\s")
PERSONAL = b',"personal":'  # ends the chained bytes
HASHED = len(b'{"hash":"') + 64 + len(b'",')  # where they begin

class Line:
    """seq, synced, time, now (in ms), type, data; hash, text (the chained bytes), leaf (of the tree);
    personal (bytes), part (its value), erased (when it was erased); place (file, line, byte)."""

def no_double(pairs):
    members = dict(pairs)
    if len(members) < len(pairs):
        raise Newer("a member is given twice")
    return members

def no_constant(text):
    raise ValueError("%s is not a JSON number" % text)

def whole_number(text):
    number = int(text) if len(text) < 21 else 2**64
    if not -2**63 <= number < 2**64 or text == "-0":
        raise Newer("the number %s is out of range" % text[:20])
    return number

DECODER = json.JSONDecoder(object_pairs_hook=no_double, parse_constant=no_constant, parse_int=whole_number)
LENIENT = json.JSONDecoder(parse_constant=no_constant, parse_int=whole_number)
OWN = ("opened", "forked", "repaired")  # lines of the journal's own, in which a reader takes what it knows

def decode(text, strict=True):
    """The value of a text in JSON. Where it is not strict, as of lines of the journal's own, a member that is
    given twice and what is not in UTF-8 are passed over."""
    try:
        decoder, errors = (DECODER, "strict") if strict else (LENIENT, "replace")
        value = decoder.decode(text.decode("utf-8", errors))
        if strict and b"\\ud" in text.lower():
            json.dumps(value, ensure_ascii=False).encode("utf-8")  # fails where half a character stands
    except (UnicodeDecodeError, UnicodeEncodeError):
        raise Newer("it is not in UTF-8, or breaks off within a character")
    except RecursionError:
        depths = itertools.accumulate((c in b"[{") - (c in b"]}") for c in STRINGS.sub(b"", text))
        raise (NoJSON if max(depths) > 10000 else Newer)("it is nested too deeply")
    except ValueError:
        raise NoJSON("it is not one JSON object")
    return value

def has_blanks(text):
    """Whether there is a blank outside of strings."""
    return BLANKS.search(text) and BLANKS.search(STRINGS.sub(b"", text))

def read_line(raw, before, last):
    """The line that the bytes are (without newline), after the line last, which is None before the first."""
    line, end = Line(), raw.find(PERSONAL + b"{")
    line.text = raw[HASHED:] if end < 0 else raw[HASHED:end]
    line.hash, line.leaf = hashlib.sha256(before + line.text).hexdigest().encode(), sha256(b"\0" + line.text)
    if raw[:HASHED] != b'{"hash":"' + line.hash + b'",':
        raise Broken("its hash does not follow from the line before and its bytes")
    head = HEAD.match(raw)
    if not head:
        raise Newer("it does not have the form of a line")
    line.personal = raw[HASHED + len(line.text) + len(PERSONAL):-1]
    line.erased = check_personal(line.personal, NAMED_PART.search(line.text))
    is_own = head.group(5).decode() in OWN
    whole = decode(raw, not is_own)
    if is_own:
        decode(line.text[head.end() - HASHED - 1:-1], False)  # its data, once
    if list(whole)[6:] not in ([], ["personal"]) or not is_own and has_blanks(line.text):
        raise Newer("it does not have the form of a line")
    line.seq, line.synced, line.time, line.type, line.data = (whole[name] for name in list(whole)[1:6])
    line.part = whole.get("personal")
    try:
        line.now = nanoseconds(line.time) // 10**6
    except ValueError:
        raise Newer("%s is not a time" % line.time)
    due = last.seq + 1 if last else 1
    if line.seq != due or line.synced >= line.seq:
        raise Broken("its seq is %d and its synced %d where line %d is expected" % (
            line.seq, line.synced, due))
    if last and line.now < last.now and line.type != "clock.set":
        raise Broken("its time, %s, is earlier than that of the line before, %s" % (line.time, last.time))
    return line

NAMED_PART = re.compile(rb'"personal":"([0-9a-f]{64})"\}\}?$')

def check_personal(part, named):
    """The time at which the personal part was erased, or None. named matches its hash in the data."""
    if bool(part) != bool(named):
        raise Broken("it has a personal part that its data does not name, or names one that is not there")
    erased = re.fullmatch(rb'\{"erased":"' + TIME + rb'"\}', part)
    if part and not erased and sha256(part).hex() != named.group(1).decode():
        raise Broken("its personal part does not have the hash that its data gives")
    return erased.group(1).decode() if erased else None

# ==== The tree: journal.md, The tree (RFC 6962) =====================================================

class Tree:
    def __init__(self, leaves):
        self.levels = [leaves]  # level k has the roots of each whole 2**k leaves
        while len(self.levels[-1]) > 1:
            below = self.levels[-1]
            self.levels.append([sha256(b"\1" + below[i] + below[i + 1]) for i in range(0, len(below) - 1, 2)])

    def root(self, size):
        result = b""
        for level in self.levels:  # a tree of size leaves ends in one of 2**k where size has that bit
            if size & 1:
                result = sha256(b"\1" + level[size - 1] + result) if result else level[size - 1]
            size >>= 1
        return result or sha256(b"")

# ==== Notes: journal.md, Notes (C2SP signed notes, cosignature/v1) ==================================

DIRECTORY, WITNESS = 1, 4  # the types of keys
NOTE = re.compile(rb"\n*(\S+\n[1-9]\d*\n\S+\nhash [0-9a-f]{64} time \S+\n)\n"
                  rb"((?:\xe2\x80\x94 [^\n]+\n){1,17})(?:\n|\Z)")
SIGNED = re.compile(rb"\n\n\xe2\x80\x94 [^\n]+\n")  # in something that is more than part of a note

def key_id(name, kind, key):
    return sha256(name.encode() + b"\n" + bytes([kind]) + key)[:4]

def verifier_key(text, kind):
    """(name, key) of NAME+ID+BASE64."""
    parts = text.strip().split("+", 2)
    data = unbase64(parts[2]) if len(parts) == 3 else b""
    if data and data[0] not in (DIRECTORY, WITNESS):
        raise Broken("%s is of type %d, which this program cannot check: it checks Ed25519, types 1 and 4" % (
            text.strip()[:60], data[0]))
    if len(data) != 33 or data[0] != kind or key_id(parts[0], kind, data[1:]).hex() != parts[1]:
        raise Broken("%s is not a verifier key of type %d" % (text.strip()[:120], kind))
    return parts[0], data[1:]

def verifier_text(name, key):
    return "%s+%s+%s" % (name, key_id(name, 1, key).hex(), base64.b64encode(b"\1" + key).decode())

class Note:
    def __init__(self, match, file):
        self.file, self.text = file, match.group(1)
        try:
            self.origin, lines, root, last = self.text.decode("utf-8").split("\n")[:4]
            signatures = match.group(2).decode("utf-8").split("\n")[:-1]
        except UnicodeDecodeError:
            raise Broken("a note is not in UTF-8")
        self.lines, self.root, self.hash, self.signatures = int(lines), unbase64(root), last[5:69], []
        for row in signatures:
            parts = row.split(" ")
            value = unbase64(parts[2]) if len(parts) == 3 else b""
            if len(value) < 5 or len(self.text + match.group(2)) > 8191:
                raise Broken("a note does not have the form of a note")
            self.signatures.append((parts[1], value[:4], value[4:]))

    def signed_by(self, name, key, kind=DIRECTORY):
        """Whether the key has signed (of a witness: when). Raises Broken for a bad signature."""
        signed = 0
        for signer, identity, value in self.signatures:
            if (signer, identity) == (name, key_id(name, kind, key)):
                message, second = self.text, 1
                if kind == WITNESS:
                    second, value = int.from_bytes(value[:8], "big"), value[8:]
                    message = b"cosignature/v1\ntime %d\n" % second + message
                if not is_signed(key, value, message):
                    raise Broken("the signature of %s on the note of line %d is wrong" % (name, self.lines))
                signed = max(signed, second)
        return signed

def notes_of(data, file):
    """(the notes of a file, an empty line between two; the bytes from where none follows)."""
    notes, end, match = [], 0, NOTE.match(data)
    while match:
        notes.append(Note(match, file))
        end = match.end()
        match = NOTE.match(data, end)
    return notes, data[end:].lstrip(b"\n")

# -- notes that people hand back, without what editors and mail programs put around them

BLANK = rb"\s|\xc2\xa0|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xaf]|\xe2\x81\x9f|\xe3\x80\x80"  # in UTF-8

def unwrapped(data):
    return [re.sub(rb"^(\xef\xbb\xbf|> ?)+|(" + BLANK + rb")+$", b"", row) for row in data.split(b"\n")]

SHAPES = [(re.compile(form), what) for form, what in (
    (rb"waybill/[A-Za-z0-9]+", "the name of a journal alone, as in waybill/ID"),
    (rb"[1-9]\d{0,18}", "a number of lines"),
    (rb"[A-Za-z0-9+/]{43}=", "a hash in base64"),
    (rb"hash [0-9a-f]{64} time \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z",
     "hash, 64 hex digits, time, and a time as in 2026-11-20T16:39:00.123Z"),
    (rb"", "an empty line"),
    (rb"\xe2\x80\x94 \S+ [A-Za-z0-9+/]{90,}=*", "a signature: \u2014 (U+2014), a name, and base64"))]
INNER = re.compile(rb"hash [0-9a-f]{64} time|^\W* \S+ [A-Za-z0-9+/]{90}")

def misshapen(rows, number, at, file):
    """What is wrong with a line, which should be the shape at a place."""
    if not at and b"hash " in rows[number - 1]:
        number = max(1, number - 3)  # where the note should begin
    row = rows[number - 1].decode("utf-8", "replace")
    said = "line %d of %s is not %s, but %.200a" % (number, file, SHAPES[at][1], row)
    for end in range(number + 1, number + 4):
        whole = [between.join(rows[number - 1:end]) for between in (b"", b" ")]
        if row and any(map(SHAPES[at][0].fullmatch, whole)):
            return "%s: lines %d to %d are one line that was cut" % (said, number, end)
    return said

def encoded(data):
    """What is to be said where a text is not in the form in which it was written."""
    if b"\0" in data:
        return "; it has NUL characters, as UTF-16: save it as UTF-8"
    if re.search(rb"(?im)^Content-Transfer-Encoding: *(base64|quoted-printable)", data):
        return "; it is a mail in the form that it is sent in: save its text"
    return ""

def kept_notes(data, file):
    """(the notes in a text that somebody has kept, be it a letter; what was passed over around them)."""
    rows, clean, notes, at, other = data.split(b"\n"), unwrapped(data + b"\n\n"), b"", 0, 0
    wrapped = sum(row != line for row, line in zip(rows, clean)) + (rows[-1] != b"")
    for number, row in enumerate(clean, 1):
        if at == len(SHAPES):
            at = at - 1 if row.startswith(b"\xe2\x80\x94") else 0
        fits = SHAPES[at][0].fullmatch(row)
        if at and not fits or not at and INNER.search(row):
            raise Broken(misshapen(clean, number, at, file) + encoded(data))
        if at or fits:
            notes, at = notes + (b"" if at else b"\n") + row + b"\n", at + 1
        else:
            other += row != b""
    if not notes:
        why = SHAPES[0][1] + encoded(data)
        raise Broken("%s has no note: no line, from the first on, is %s" % (file, why))
    notes, rest = notes_of(notes[1:], None)
    if rest:
        raise Broken("%s has a note that is too long" % file)
    passed = "%s: around the notes, this was passed over: a byte order mark, blanks, CR, > or a missing " \
        "newline (lines: %d); other text (lines: %d)" % (file, wrapped, other)
    return notes, passed if wrapped or other else ""

# ==== A directory: journal.md, Files; rules.md, The verdict; Remarks ================================

VERDICTS = ("failed", "newer", "damaged", "forked", "books", "torn", "unsigned", "unwitnessed", "sound")
NO_BOOKS = {"bookings": 0, "tickets": 0, "status": {}, "runs": 0, "seats": 0, "sold": 0, "held": 0, "free": 0,
            "money": {}, "cancelled": 0, "moved": 0, "left": 0, "over": 0, "shared": 0}

class Chain:
    """A directory by part one. result is what -json prints."""

    not_checked = "; the members of lines, the books and the files of reports: that is part two"

    def __init__(self, folder, given):
        self.folder, self.given, self.problems, self.remarks, self.damage = folder, given, [], [], []
        self.spoilt = []  # what a start makes anew
        self.result = {"verdict": "", "origin": "", "key": "", "lines": 0, "files": 0, "snapshots": 0,
                       "checkpoints": 0, "witnesses": [], "problems": self.problems, "remarks": self.remarks,
                       "books": NO_BOOKS}
        try:
            self.run()
        except (Broken, OSError) as error:
            self.found("failed", str(error))
            self.result["books"] = NO_BOOKS
            del self.remarks[len(given.passed):]
        self.problems += self.damage[:1]  # of damage the first is told
        self.problems.sort(key=lambda item: VERDICTS.index(item["kind"]))
        self.remarks.sort(key=lambda item: (item["seq"], item["kind"]))
        self.result["verdict"] = self.problems[0]["kind"] if self.problems else "sound"

    def file(self, *name):
        return read_file(self.folder, *name)

    def names_in(self, folder):
        path = os.path.join(self.folder, folder)
        if os.path.lexists(path) and (os.path.islink(path) and folder != "." or not os.path.isdir(path)):
            raise OSError("%s is not a folder" % path)
        return sorted(os.listdir(path)) if os.path.lexists(path) else []

    def found(self, *what, **members):
        one = problem(*what, **members)
        (self.damage if one["kind"] == "damaged" else self.problems).append(one)

    def remark(self, kind, seq, text):
        self.remarks.append({"kind": kind, "seq": seq, "text": text})

    def run(self):
        for passed in self.given.passed:
            self.remark("wrapped", 0, passed)
        if self.given.error or not os.path.isdir(self.folder):
            raise Broken(self.given.error or "%s is not a directory; unpack an archive first" % self.folder)
        for name in self.names_in("journal"):
            if not re.fullmatch(r"[0-9]{12}\.jsonl(\.tmp)?", name):
                self.found("damaged", "journal/%s is no file of a journal" % name, "journal/" + name)
        text = self.file("FORMAT")
        if text is None and not self.names_in("journal") and not self.names_in("keys"):
            raise Broken("no journal is here")
        form = re.fullmatch(rb"waybill-journal v([1-9][0-9]{0,17}) ([A-Za-z0-9]+)\n", text or b"")
        version = int(form.group(1)) if form else 0
        said = "FORMAT says version %d, and this program reads version 3" % version
        if not form:
            self.found("damaged", "FORMAT is missing, or is not in its form", "FORMAT")
        elif version > 3:
            self.found("newer", "written by a newer version: " + said, "FORMAT")
        elif version < 3:
            self.found("failed", "made before the first release: " + said, "FORMAT")
        if self.damage or self.problems:
            return
        # What a server writes while this reads is of lines that come later: the journal is read last.
        self.beside = {"%s/%s" % (folder, name): None for folder in (
            "outbox", "reports", "timetables", "snapshots") for name in self.names_in(folder)}
        self.look_at_reports()
        self.origin = self.result["origin"] = "waybill/" + form.group(2).decode()
        self.read_notes()
        if self.damage or self.problems:
            return
        self.names, self.ended = {self.origin: None}, {}  # each name's key; the line that took a name away
        self.read_journal(hashlib.sha256(text).hexdigest().encode())
        self.result["origin"] = self.origin
        key = self.key_of(self.origin)
        self.result["key"] = verifier_text(self.origin, key) if key else ""
        if not self.lines and not self.bad and self.names_in("keys"):
            self.found("damaged", "there are keys, and no line of the journal", "journal")
            return
        self.tree = Tree([line.leaf for line in self.lines])
        self.result.update(lines=len(self.lines), files=len(self.files), checkpoints=len(self.notes),
                           snapshots=sum(name.endswith(".jsonl") for name in self.names_in("snapshots")))
        self.judge_end()
        self.whole = not self.bad or self.bad["kind"] == "torn"
        self.judge_notes()
        if not self.lines and not self.bad and not self.damage:
            raise Broken("no journal is here")
        self.check_later_damage()
        self.check_books()
        self.tell_remarks()
        if self.whole and not self.damage:
            self.check_signers()

    def check_line(self, line):
        """Part two checks its members."""

    def look_at_reports(self):
        """Part two keeps their hashes of before the journal is read."""

    def check_books(self):
        """Part two checks them."""

    # -- journal.md, The journal's end: the good lines, and what ended them, a problem or None

    def read_journal(self, before):
        self.lines, self.bad, self.files, self.before = [], None, [], before
        while not self.bad:
            # A server that erases begins a file before it changes earlier ones: so these are listed again.
            found = [name for name in self.names_in("journal") if not name.endswith(".tmp")]
            later = found[len(self.files):]
            if not later:
                return
            self.files, seq = found[:len(self.files) + 1], len(self.lines) + 1
            if later[0] != "%012d.jsonl" % seq:
                self.bad = problem("damaged", "the file does not begin with line %d, as expected" % seq,
                                   "journal/" + later[0], 1, 0, seq)
            else:
                self.read_lines(self.file("journal", later[0]) or b"", "journal/" + later[0], later[1:])

    def read_lines(self, data, file, later_files):
        offset, number = 0, 1
        while offset < len(data) and not self.bad:
            end, place, seq = data.find(b"\n", offset), (file, number, offset), len(self.lines) + 1
            line = None
            try:
                if end < 0:
                    raise Broken("it has no newline at its end")
                line = read_line(data[offset:end], self.before, self.lines[-1] if self.lines else None)
                self.check_own(line)
                self.check_line(line)
            except Newer as error:
                self.bad = problem("newer", "line %d was written by a newer version: %s" % (seq, error), file)
            except Broken as error:
                self.bad = problem("torn", "line %d is not good: %s" % (seq, error), *place, seq)
                shown = "its hash shows" if line or isinstance(error, NoJSON) else \
                    "a later file shows" if later_files else ""
                self.shown_by(shown or line_behind(data[offset:], seq))
            else:
                line.place = place
                self.lines.append(line)
                self.before, offset, number = line.hash, end + 1, number + 1

    def shown_by(self, shown):
        """What shows that the end was on the disk makes damage of it."""
        if shown and self.bad["kind"] == "torn":
            self.bad.update(kind="damaged", text="%s; %s that it was on the disk" % (self.bad["text"], shown))

    def judge_end(self):
        seq, shown, at_end = len(self.lines) + 1, "", self.bad
        if any(note.lines >= seq for note in self.notes if note.origin == self.origin):
            shown = "a note shows"
        for name in self.names_in("snapshots"):
            data = self.file("snapshots", name) or b""
            last = data.rfind(b"\n", 0, -1) + 1
            if not re.fullmatch(r"[0-9]{12,}\.jsonl", name) or int(name[:-6]) >= 2**64:
                continue
            if int(name[:-6]) >= seq and self.file("checkpoint.key") is not None:
                shown = "snapshots/%s shows" % name
            elif data[last:] != b'{"sha256":"%s"}\n' % sha256(data[:last]).hex().encode() or \
                    b'"seq":%d,' % int(name[:-6]) not in data[:200]:
                self.spoilt.append("snapshots/%s fails its own check" % name)
        if at_end:
            self.shown_by(shown)
        elif shown:
            self.bad = problem("damaged", "lines from %d on are missing: %s that they were there" % (
                seq, shown), self.lines[-1].place[0] if self.lines else "", 0, 0, seq)
        if self.bad:
            self.found(**self.bad)

    # -- journal.md, Notes: names and keys

    def check_own(self, line):
        """What a line says of the journal itself: names and keys, and what was erased."""
        try:
            erased_by(line)
        except (TypeError, ValueError, AttributeError):
            raise Broken("its members are not those of its type")
        if line.seq == 1 and line.type != "opened":
            raise Broken("it is of the type %s, and line 1 is of the type opened" % line.type)
        if line.type == "opened" and ("key" in line.data) != (line.seq == 1):
            raise Broken("of the lines of its type, line 1 has a key, and no other")
        if line.type == "forked":
            origin = line.data.get("origin")
            if not re.fullmatch("waybill/[A-Za-z0-9]+", str(origin)):
                raise Broken("it gives the directory no name")
            if origin in self.names:
                raise Broken("the directory had the name %s before" % origin)
            self.ended[self.origin], self.origin = line, origin
        if line.type == "forked" or line.seq == 1:
            signer, key = verifier_key(str(line.data.get("key")), DIRECTORY)
            if signer != self.origin:
                raise Broken("it names no key, or another, for %s" % self.origin)
            self.names[signer] = key

    def key_of(self, name):
        return self.names.get(name) or (self.pub if name == self.origin else self.pubs.get(name))

    def read_notes(self):
        """All notes of the directory, into notes, and the keys beside them: into pubs by the names of before,
        into pub that of the name which the journal says. What is wrong here ends the reading."""
        self.notes, self.pubs, self.pub = [], {}, None
        newest, log = self.file("checkpoint"), self.file("checkpoints.log")  # which has what checkpoint has
        others = [name for name in self.names_in(".") if re.fullmatch(r"checkpoints-[A-Za-z0-9]+\.log", name)]
        try:
            for file in others + ["checkpoints.log"]:
                data, id = self.file(file), file[12:-4]
                pub = file.replace("checkpoints", "checkpoint").replace(".log", ".pub")
                key = self.file(pub)
                if key is None and (data is not None or not id and newest is not None):
                    raise Broken("%s is missing" % pub)
                key = None if key is None else pem_key(key, pub)
                if id:
                    self.pubs["waybill/" + id] = key
                else:
                    self.pub = key
                    private = self.file("checkpoint.key")
                    if key and private is not None and self.file(pub) != \
                            pem_text(public_key(pem_key(private, "checkpoint.key", PRIVATE))):
                        raise Broken("checkpoint.pub is not that of checkpoint.key")
                notes, rest = notes_of(data or b"", file)
                for note in notes:
                    note.key = key
                    if not self.is_of_its_key(note):
                        return
                if rest:
                    needed = not notes if id else newest is not None and newest not in log
                    if needed or SIGNED.search(rest):
                        raise Broken("%s has something that is not a note, at byte %d" % (
                            file, len(data) - len(rest)))
                    self.spoilt.append("%s ends in part of a note, which is not needed" % file)
                self.notes += notes
            if newest is not None and (log is None or not notes_of(newest, "")[0] or newest not in log):
                raise Broken("checkpoint is not in checkpoints.log")
        except Broken as error:
            self.found("damaged", str(error), "checkpoints.log")

    def is_of_its_key(self, note):
        """Whether the key beside a note has signed it; if not, it is forked."""
        for name, key in self.given.witnesses:
            note.signed_by(name, key, WITNESS)
        signed = note.signed_by(note.origin, note.key)
        if not signed:
            text = "another journal: a note in %s is not signed by the key beside it" % note.file
            self.found("forked", text)
        return signed

    def judge_notes(self):
        self.fork, self.fitting = False, []
        for notes in (self.notes, self.given.notes):
            wrong = [self.why_not(note) for note in notes]
            self.fitting += [note for note, why in zip(notes, wrong)
                             if not why and note.lines <= len(self.lines)]
            wrong = sorted((why for why in wrong if why), key=lambda why: why[0].startswith("another"))
            if wrong:
                self.fork, text = True, "%s; other notes that do not fit: %d" % (wrong[0][0], len(wrong) - 1)
                self.found("forked", text, "", 0, 0, wrong[0][1])
        self.newest = max([note.lines for note in self.fitting], default=0)

    def why_not(self, note):
        """rules.md, forked: why a note does not fit, as (text, seq), or None."""
        key, other = self.key_of(note.origin), note.key if note.file else self.given.key
        text = ""
        if note.origin not in self.names:
            text = "another journal: the note belongs to %s" % note.origin
        elif key and not note.signed_by(note.origin, key) or other and not note.signed_by(note.origin, other):
            text = "another journal: the note of line %d is signed by another key" % note.lines
        if text:
            return (text, 0) if self.whole else None
        text = "two histories: this journal and the note of line %d are both signed by %s" % (
            note.lines, verifier_text(note.origin, key) if key else note.origin)
        if note.origin in self.ended and note.lines >= self.ended[note.origin].seq:
            return text + "; its name was taken away before that line", 0
        if note.lines > len(self.lines):
            return None if note.file or not self.whole else (text + "; it is beyond the last",
                                                             len(self.lines) + 1)
        same = self.lines[note.lines - 1].hash.decode() == note.hash
        return None if same and note.root == self.tree.root(note.lines) else (text, note.lines)

    # -- rules.md, damaged

    def check_later_damage(self):
        begun = self.file("checkpoint.key") is not None or any(
            note.origin == self.origin for note in self.notes + self.given.notes)
        if self.whole and begun and self.pub and self.names[self.origin] not in (None, self.pub):
            self.found("damaged", "checkpoint.pub is not the key that the journal names", "checkpoint.pub")
        named = set().union(*map(erased_by, self.lines))
        for line in self.lines:
            if self.whole and line.erased and (line.seq, line.erased) not in named:
                text = "the personal part of line %d is gone, and no line names it as erased" % line.seq
                self.found("damaged", text, *line.place, line.seq)
        for name in self.names_in("tree") if self.whole and not self.fork else []:
            level, data = int(name) if re.fullmatch(r"[0-9]{2}", name) else 1, self.file("tree", name) or b""
            if level % 8:
                continue  # it is none of the format's
            right = self.tree.levels[level] if level < len(self.tree.levels) else []
            count = min(len(data) // 32, self.newest >> level)
            if data[:32 * count] != b"".join(right[:count]):
                self.spoilt.append("tree/%s has a wrong hash" % name)

    # -- rules.md, Remarks; unsigned; unwitnessed

    def tell_remarks(self):
        witnesses, clocks, unsigned = [], [], []
        for line in self.lines:
            if line.type == "repaired":
                text = "line %d: the journal was cut here: %s" % (line.seq, line.data.get("reason"))
                self.remark("repaired", line.seq, text)
            elif line.type == "forked":
                self.remark("forked", line.seq, "line %d: the directory is a copy; from here on it is %s" % (
                    line.seq, line.data.get("origin")))
            elif line.type == "clock.set":
                clocks.append(line)
            elif line.type == "opened":
                unsigned += [line] if "unsigned" in line.data else []
                if line.data.get("witnesses") not in (None, witnesses):
                    witnesses = line.data["witnesses"]
                    text = "line %d changes the witnesses to %s" % (line.seq, words(witnesses))
                    self.remark("witness", line.seq, text)
        for kind, some, what in (("unsigned", unsigned, "a start took over lines that no note covered"),
                                 ("clock", clocks, "a test clock was set")):
            if some:
                self.remark(kind, some[0].seq, "%s: first by line %d, last by line %d, %d times in all" % (
                    what, some[0].seq, some[-1].seq, len(some)))
        if self.damage or not self.whole:
            return
        if self.spoilt and not self.fork:
            self.remark("cache", 0, "a start makes this anew, or passes over it: %s" % "; ".join(self.spoilt))
        for name, line in self.ended.items():
            if not any(note.origin == name for note in self.notes + self.given.notes):
                self.remark("forked", line.seq,
                            "line %d: the notes under the earlier name %s are missing" % (line.seq, name))
        if self.fitting and self.newest < len(self.lines) and not self.fork:
            self.remark("unsigned", self.newest + 1, "no note covers the lines from %d on" % (
                self.newest + 1))
        newest = notes_of(self.file("checkpoint") or b"", "checkpoint")[0]
        if newest and self.file("checkpoint.key") is None:
            self.remark("copy", 0, "no key is here: this is a copy; its newest note is of %s" % (
                newest[0].text.decode().split()[-1]))
        published = newest[0].lines if newest else 0
        if any(note.lines > published for note in self.notes if note.file == "checkpoints.log"):
            self.remark("unsigned", published,
                        "the file checkpoint is older than the newest note in checkpoints.log, or missing")

    def check_signers(self):
        if self.lines and not self.notes and not self.given.notes:
            self.found("unsigned", "there are %d lines, but no note" % len(self.lines))
        for name, key in self.given.witnesses:
            seconds = [(note.lines, note.signed_by(name, key, WITNESS)) for note in self.fitting]
            lines, second = max([pair for pair in seconds if pair[1]], default=(0, 0))
            time = (datetime(1970, 1, 1) + timedelta(seconds=second)).isoformat() + "Z" if second else ""
            self.result["witnesses"].append({"name": name, "lines": lines, "time": time})
            left = self.lines[lines:]
            if left and (not second or self.lines[-1].now - left[0].now > self.given.within):
                text = "no note that fits has a signature of the witness %s over line %d, of %s" % (
                    name, lines + 1, left[0].time)
                self.found("unwitnessed", text)

    def tell(self):
        result = self.result
        name = result["origin"] or "it has no name"
        print("%s: %s\n  %s, %s lines" % (self.folder, result["verdict"], name, result["lines"]))
        for item in self.problems:
            place = "line %(line)s of %(file)s (seq %(seq)s, byte %(byte)s): " % item if item["line"] else \
                item["file"] and "%(file)s: " % item or item["seq"] and "line %(seq)s: " % item or ""
            print("  %s: %s%s" % (item["kind"], place, item["text"]))
        for item in self.remarks:
            print("  remark, %s: %s" % (item["kind"], item["text"]))
        for one in filter(lambda one: one["lines"], result["witnesses"]):
            print("  the witness %(name)s has signed the first %(lines)d lines, last at %(time)s" % one)
        for name, figure in result["books"].items() if result["books"] is not NO_BOOKS else ():
            if name == "money":
                figure = ["%s paid, %s refunded" % (hundredths(sums["paid"], currency), hundredths(
                    sums["refunded"], currency)) for currency, sums in sorted(figure.items())]
            print("  %-10s %s" % (name, words(figure)))
        print("  not checked: %d snapshots%s" % (result["snapshots"], self.not_checked))

def line_behind(rest, seq):
    """A line behind, in its form, that was written when line seq was on the disk; in words, or ""."""
    for raw in rest.split(b"\n")[1:-1]:
        head = HEAD.match(raw)
        try:
            if head and int(head.group(3)) >= seq and len(json.loads(raw.decode("utf-8"))) in (6, 7):
                return "line %s behind it shows" % head.group(2).decode()
        except (ValueError, RecursionError):
            continue
    return ""

def erased_by(line):
    """{(seq, when)} of the earlier personal parts that a line says are erased."""
    named = []
    if line.type == "personal.erased":  # a null in it is what part two does not take
        named = [(seq, line.time) for seq in line.data.get("lines") or [] if seq is not None]
    if line.type == "repaired":
        named = [(int(seq) if re.fullmatch("[0-9]{1,20}", seq) else None, when)
                 for seq, when in (line.data.get("erased") or {}).items()]
    for seq, when in named:
        if type(seq) is not int or not 0 <= seq < 2**64 or not re.fullmatch(TIME, str(when).encode()):
            raise ValueError("it is not the number of a line, or not a time")
        nanoseconds(when)  # which says so of a day that there is not
    return {(seq, when) for seq, when in named if seq < line.seq}

# ==== The command line ==============================================================================

def milliseconds_of(text):
    found = re.fullmatch(r"(\d+)(ms|s|m|h)(?:0s|0m0s)?", text)
    if not found:
        raise Broken("%s is not a duration as in 90s or 5m" % text)
    number, unit = found.groups()
    return int(number) * {"ms": 1, "s": 1000, "m": MINUTE, "h": 60 * MINUTE}[unit]

def command_line(words):
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip(), add_help=False)
    parser.add_argument("folders", nargs="+")
    parser.add_argument("-against", action="append", default=[])
    parser.add_argument("-key")
    parser.add_argument("-witness-key", action="append", default=[], dest="witnesses")
    parser.add_argument("-witnessed-within", dest="within")
    parser.add_argument("-json", action="store_true")
    parser.add_argument("-chain", action="store_true")
    given = parser.parse_intermixed_args(words)
    given.error, given.notes, given.passed = "", [], []
    if given.key and not given.against:
        parser.error("-key is of the notes that -against names: give both")
    if given.within and not given.witnesses:
        parser.error("-witnessed-within is of the witnesses that -witness-key names: give both")
    try:
        given.within = milliseconds_of(given.within or "5m")
        given.witnesses = [verifier_key(text, WITNESS) for text in given.witnesses]
    except Broken as error:
        parser.error("a duration or a witness's key is wrong: %s" % error)
    try:
        given.key = given.key and pem_key(read_given(given.key), given.key)
        for file in given.against:
            notes, passed = kept_notes(read_given(file), file)
            given.notes += notes
            given.passed += [passed] if passed else []
    except Broken as error:
        given.error = "what was given cannot be read: %s" % error
    return given

def main(words):
    gc.disable()  # what is read stays until the end: to look for garbage takes a tenth of the time
    sys.stdout.reconfigure(errors="backslashreplace")  # a terminal may have fewer letters than a name
    if hasattr(signal, "SIGPIPE"):  # who reads no further, as head, ends this too
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    given, codes = command_line(words), []
    auditor = Chain if given.chain else globals().get("Audit", Chain)
    for folder in given.folders:
        audit = auditor(folder, given)
        if given.json:
            print(json.dumps(audit.result, indent=2, ensure_ascii=False))
        else:
            audit.tell()
        kinds = {item["kind"] for item in audit.problems}
        codes.append(3 if kinds == {"torn"} else 1 if kinds else 0)
    return max(codes, key=(0, 3, 1).index)

if __name__ == "__main__" and "\nclass Audit" not in open(__file__, encoding="utf-8").read():
    sys.exit(main(sys.argv[1:]))  # the file was cut off here

# PART TWO: the members of lines, the books, and the files of reports

import collections
import math
import struct
import time
try:
    from zoneinfo import ZoneInfo
except ImportError:
    ZoneInfo = None

WINDOW = 20 * MINUTE
DAY = 24 * 60 * MINUTE
DAYS = 84006  # of the years 1970 to 2199

class NotThere(Exception):
    """The line cannot be applied: rules.md, What is there."""

def short_id(data):
    return base64.urlsafe_b64encode(sha256(data)[:12]).decode()

# ==== The members of a line, as the tables of journal.md have them ==================================
# A name, ? where it is optional, and its kind: a word of KINDS, a list of it, members, or another row.

TABLES = """
opened: after text, torn? {file text, bytes int, cutFrom text, offset int}, key? vkey, unsigned? {from seq,
  lines int}, witnesses? [text], program? {version text, revision text, modified bool, go text, os text,
  arch text}
forked: origin text, key vkey, parent {origin text, seq seq, hash text}
repaired: reason text, forced? int, erased? object, missing? [seq], by? object
booking.created: booking id, partner id, request text, currency currency, forms? [form], runs? [{form text,
  date date, start second, offsets [int32]}], legs [{run run_id, from int16, to int16, amount fare, discount
  int16}], tickets [{id id, seats [int16]}]
booking.created personal: salt id, passengers [{firstName text, lastName text, email text, phones [text]}],
  hash? text
ticket.asked: booking id, ticket id, seats? [int16], request text, action act, key id
ticket.refused: booking id, ticket id, action act, request text, reason? text, unknown? bool
ticket.paid: ticket id, booking id, seats? [int16], request text, reason? text, sends? [text]
ticket.booked: ticket id, booking id, seats? [int16], request text, reason? text, sends? [text]
tickets.canceled: booking id, request text, reason? text, tickets [{id id, refunded bool, refund money, grace
  bool, terms [{rule text, percent percent, refund money}], sends? [text]}]
tickets.uncompleted: booking id, at time, tickets [{id id}]
ticket.moved: ticket id, from id, booking id, new bool
ticket.carrier: booking id, ticket id, status carrier
request.answered: partner id, booking id
run.cancelled: run {trip text, date date}, reason text, tickets [{id id, booking id, partner id, refunded
  bool, refund money, sends? [text]}]
run.moved: run {trip text, date date}, minutes int, reason text, runs [{run run_id, start int, offsets
  [int32], aligned? bool}], tickets [{id id, booking id, partner id, sends? [text]}]
run.restored: run {trip text, date date}, reason text
manifest.read: run {trip text, date date}, passengers int, user? id, company? text
personal.read: page text, booking? id, run? {trip text, date date}, people int
partner.key_added: partner id, name text, companies [text], keyHash hash
partner.revoked: partner id, keyHashes [hash]
partner.legacy_used: partner id
user.added: user id, access {company {id text, name text, slug text, tier text}, role text}, link? {issuer
  text}
user.added personal: salt id, email text, firstName text, lastName text, password text, subject? hash
user.access_given: user id, access {company {id text, name text, slug text, tier text}, role text}, link?
  {issuer text}
user.access_given personal: salt? id, subject? hash
user.removed: user id
session.started: session id, user id, company text, link? {issuer text}, access hash, accessUntil time,
  refresh hash, until time
session.started personal: salt? id, subject? hash
session.refreshed: session id, access hash, accessUntil time, refresh hash, until time
session.ended: session id, reason text
report.ordered: report id, company text, user id, orderBy text, startDate time, endDate time, firstDay date,
  lastDay date
report.completed: report id, rows int
report.completed personal: salt id, sha256 text
report.downloaded: report id
geolocation.set: fmsObject text, isGeolocation bool, user id
timetable.imported: sha256 text, feed text, cities int, routes int, trips int, skipped int
keys.rotated:
world.forked: world text, from text, origin text, seq seq, hash text
clock.set: real bool, offsetMs int, still? time, began? time
outbox.sent: messages [text], as way
outbox.parked: message text, reason text
outbox.retried: messages [text]
personal.erased: lines [seq], reason text, passengers? [{partner id, booking id, ticket id}], reports [id]
passengers.forgotten: reason text, passengers [{partner id, booking id, ticket id}]
several: retry? {key text, hash? text, status? int}, before? before, by? {uid int, user? text, login? text},
  personal? hash
several personal: salt id, reply text
form: trip text, name? text, phones? [text], company Companies, route Routes, bus Buses, stops [{stop Stops,
  city Cities, arr int32, dep int32}], rules? [RefundRules], discounts? [Discounts]
Companies: id text, name text, slug text, ceo? text, partnerCompany? text, logoUrl? text, email? text,
  website? text, rules? text, socials? [text], tier? text, source text, registration? text, address? text,
  vat? text, insurer? text, policy? text, zone text
Cities: id text, name text, slug text, country text, zone text, names? names, area? bool
Stops: id text, place text, platform? text, lat number, lon number, city row, station? bool, parent? text,
  fareZone? text, names? names
Routes: id text, company row, name? text, names? names, slug text, description? text, services? [{id text,
  name text}]
Buses: id text, company row, seats int32, registration? text, brand? text, model? text, images? [text],
  fmsObject? text, geolocation? bool
Services: id text, first day, bits [bits]
Patterns: route row, stops [row], noPickup? [int16], noDropOff? [int16]
Times: [int32]
Trips: id text, pattern row, service row, times row, shift? int32, bus row, name? text, phones? [text]
Fares: company row, route row, from? text, to? text, currency text, amount fare
RefundRules: id text, company row, route row, hours int32, percent percent
Discounts: id text, route row, name? text, description? text, percent percent, first day, last day
Transfers: from text, to text, seconds int32, forbidden? bool
FarePerKm: currency text, micros int
Former: kind text, id text, slug text, name? text, zone? text, lat? number, lon? number
Withheld: company row, route row, from? text, to? text, currency? text
"""
LATE = {"ticket.asked": "action", "ticket.paid": "sends?", "ticket.booked": "sends?"}  # they follow retry
FREQUENT = ("booking.created", "ticket.asked", "ticket.paid", "ticket.booked")

def whole(bits, least=None):
    least = -2**(bits - 1) if least is None else least
    end = 2**(bits - 1) if least < 0 else 2**bits
    return lambda value: type(value) is int and least <= value < end

def form_of(pattern):
    return lambda value: type(value) is str and re.fullmatch(pattern, value)

def is_date(value):
    try:
        return bool(form_of(r"\d{4}-\d\d-\d\d")(value)) and day_number(value) is not None
    except ValueError:
        return False

def is_time(value):
    return form_of(r".{10}T([01]\d|2[0-3])(:[0-5]\d){2}(\.\d{0,8}[1-9])?Z")(value) and is_date(value[:10])

def is_before(value):
    seq = whole(64, 0)
    return seq(value) or isinstance(value, dict) and list(value) == sorted(value) and \
        all(KINDS["id"](name) and seq(line) for name, line in value.items())

KINDS = {
    "text": lambda value: type(value) is str, "vkey": lambda value: type(value) is str,
    "bool": lambda value: type(value) is bool, "object": lambda value: type(value) is dict,
    "second": lambda value: whole(64)(value) and -DAY <= value * 1000 <= (DAYS + 2) * DAY,
    "fare": lambda value: whole(64)(value) and 0 <= value <= 10**12,
    "int": whole(64), "money": whole(64), "percent": whole(64), "seq": whole(64, 0), "bits": whole(64, 0),
    "int32": whole(32), "row": whole(32), "day": whole(32), "int16": whole(16),
    "number": lambda value: type(value) in (int, float) and math.isfinite(value),
    "names": lambda value: type(value) is list and [type(name) for name in value] == 5 * [str],
    "id": form_of(r"[\w-]{21}[AQgw]"), "run_id": form_of(r"[\w-]{16}"), "hash": form_of("[0-9a-f]{64}"),
    "currency": form_of("[A-Z]{3}"), "date": is_date, "time": is_time, "before": is_before,
    "act": form_of("pay|book"), "carrier": form_of("Confirmed|NotConfirmed|Prepaid"),
    "way": form_of("mail|text|file|none")}

def schema_of(text):
    """The kind of each row of the tables, by its name. With quotes around names and kinds they are JSON, in
    which the name of an optional member ends in ?. A line's members end in those of several types."""
    schema = {}
    for row in re.split(r"\n(?! )", text.strip()):
        name, _, kind = row.partition(":")
        kind = re.sub(r"(\w+\??)\s+(?=[\w{\[])", r'"\1": ', kind.strip())
        kind = re.sub(r"(?<!\")\b(\w+)(?=[,\]}]|$)", r'"\1"', kind)
        schema[name] = json.loads(kind if kind.startswith("[") else "{%s}" % kind)
    several = schema["several"]
    for name in [name for name in schema if re.fullmatch(r"[a-z]+[._][a-z_.]+", name)]:
        members = list(schema[name].items())
        at = list(schema[name]).index(LATE[name]) if name in LATE else len(members)
        schema[name] = {**dict(members[:at]), "retry?": several["retry?"], **dict(members[at:]), **several}
    return schema

SCHEMA = schema_of(TABLES)
TABLE_NAMES = {name for name in SCHEMA if name[0].isupper()}  # of a timetable
UNUSUAL = re.compile(rb"[\\<>&]|\xe2\x80[\xa8\xa9]")
RARE = str.maketrans({letter: "\\u%04x" % ord(letter) for letter in "<>&\u2028\u2029"})

def check_strings(text):
    """Raises Newer where a string is not written as those of rare lines are: journal.md, The types."""
    for string in STRINGS.findall(text) if UNUSUAL.search(text) else ():
        if UNUSUAL.search(string):
            right = json.dumps(json.loads(string), ensure_ascii=False).translate(RARE)
            if string.decode() != right:
                raise Newer("the text %.80s is written otherwise than %.80s" % (string.decode(), right))

EMPTY = (0, "", False, [], {}, None, "0001-01-01T00:00:00Z")  # which an optional member is not

class Members:
    """Those of an object. The kind of each is its test, or Members, or a list of one of these."""

    def __init__(self, row):
        self.kinds = {name.rstrip("?"): test_of(kind) for name, kind in row.items()}
        self.required = [name for name in row if name[-1] != "?"]
        self.optional = set(self.kinds).difference(self.required)
        self.good = set()  # lists of members that were found to be in order

def test_of(kind):
    if isinstance(kind, dict):
        return Members(kind)
    if isinstance(kind, list):
        return [test_of(kind[0])]
    return test_of(SCHEMA[kind]) if kind in SCHEMA else KINDS[kind]

TESTS = {name: test_of(row) for name, row in SCHEMA.items()}

def check_kind(value, kind, name, null=False):
    """The value, if it is of its kind; else raises Newer. A list without elements may be null, if null says
    so: it is [] then."""
    if isinstance(kind, Members):
        return check_members(value, kind, name, null)
    if isinstance(kind, list) and (isinstance(value, list) or value is None and null):
        if callable(kind[0]) and value and all(map(kind[0], value)):
            return value
        return [check_kind(one, kind[0], name, null) for one in value or []]
    if isinstance(kind, list) or not kind(value):
        raise Newer("%s is %s" % (name, json.dumps(value)[:40]))
    return value

def check_members(value, members, name, null):
    if not isinstance(value, dict) or tuple(value) not in members.good:
        check_names(value, members, name)
    for member in members.optional.intersection(value):
        if value[member] in EMPTY and member != "before":
            raise Newer("%s stands there without a value" % member)
    kinds = members.kinds
    for member, one in value.items():
        kind = kinds[member]
        if not callable(kind) or not kind(one):
            value[member] = check_kind(one, kind, member, null)
    return value

def check_names(value, members, name):
    if not isinstance(value, dict) or list(value) != [member for member in members.kinds if member in value]:
        raise Newer("%s is not an object with its members in their order: %s" % (
            name, json.dumps(value)[:80]))
    for member in members.required:
        if member not in value:
            raise Newer("%s has no member %s" % (name, member))
    members.good.add(tuple(value))

def is_like(value, kind):
    """Whether what is known of a value is of its kind, or null."""
    if isinstance(kind, Members):
        return value is None or isinstance(value, dict) and all(
            is_like(value.get(member), inner) for member, inner in kind.kinds.items())
    if isinstance(kind, list):
        return value is None or isinstance(value, list) and all(is_like(one, kind[0]) for one in value)
    return value is None or kind(value)

def check_data(line):
    """Raises Newer for other members than those of the type; the first that is missing is in line.lacks."""
    members, line.lacks = TESTS.get(line.type), ""
    if members is None or line.type == "several":
        raise Newer("its type, %s, is unknown" % line.type)
    if line.type in OWN:
        if not is_like(dict(line.data, program=None, by=None, erased=None), members):
            raise Broken("its members are not those of its type")
        return
    if all(name in members.kinds for name in line.data):
        line.lacks = next((name for name in members.required if name not in line.data), "")
    if line.lacks:
        return
    line.data = check_members(line.data, members, "data", line.type not in FREQUENT)
    rare = re.findall(rb'"forms":\[.*\],"runs":|"retry":\{[^{}]*\}', line.text)  # in frequent lines, too
    check_strings(line.text if line.type not in FREQUENT else b" ".join(rare))
    for form in line.data.get("forms", []):
        if not 0 <= form["bus"]["seats"] <= 1000 or len(form["stops"]) < 2:
            raise Newer("a form has %d seats and %d stops" % (form["bus"]["seats"], len(form["stops"])))
    retry, part = line.data.get("retry", {}), line.part
    misplaced = "hash" in retry or part is not None and "hash" in part and not retry
    if line.type == "booking.created" and misplaced:
        raise Newer("the hash of a request is not where it should be")
    if part is not None and not line.erased:
        own = line.type + " personal"
        members = TESTS.get(own) or (TESTS["several personal"] if "status" in retry else Members({}))
        if "subject" in members.optional:  # a link has it, and else only who was added has a part
            members = Members({name.rstrip("?"): kind for name, kind in SCHEMA[own].items()
                               if "link" in line.data or name[-1] != "?"})
        check_members(part, members, "personal", line.type != "booking.created")
        check_strings(b"" if line.type == "booking.created" else line.personal)
        if has_blanks(line.personal):
            raise Newer("its personal part has blanks")

# ==== Timetables: journal.md, Timetables; rules.md, Prices, Changes =================================

def percent(amount, share):
    return (amount * share + 5000) // 10000

def kept(row, **others):
    """What a form keeps of a row, with other numbers: no names in other languages, and no areas."""
    return {name: value for name, value in {**row, **others}.items() if name not in ("names", "area")}

class Form:
    """What a ticket on a trip shows and refunds by. A call is (stop, how many calls there came before)."""

    def __init__(self, row):
        self.row, self.trip, self.stops, self.company = row, row["trip"], row["stops"], row["company"]
        self.seats, self.rules = row["bus"]["seats"], row.get("rules", [])
        self.discounts, self.calls, names = row.get("discounts", []), [], []
        for stop in self.stops:
            self.calls.append((stop["stop"]["id"], names.count(stop["stop"]["id"])))
            names.append(stop["stop"]["id"])
        self.position = {call: position for position, call in enumerate(self.calls)}

REFERENCES = [row.split() for row in (
    "Stops city Cities", "Routes company Companies", "Patterns route Routes", "Patterns stops Stops",
    "Trips pattern Patterns", "Trips service Services", "Trips times Times", "Trips bus Buses or-none",
    "Fares company Companies or-none", "Fares route Routes or-none", "Withheld company Companies or-none",
    "Withheld route Routes or-none", "RefundRules company Companies or-none",
    "RefundRules route Routes or-none", "Discounts route Routes")]
MAX_STOPS = 512
RANGES = {"Buses": ("seats", 1000), "Services": ("first", DAYS - 1), "RefundRules": ("percent", 10000),
          "Discounts": ("percent", 10000), "FarePerKm": ("micros", 10**12)}

class Timetable:
    def __init__(self, data):
        """Of other data than a timetable it raises Broken or Newer."""
        self.tables, self.forms, names = collections.defaultdict(list), {}, []
        for text in data.split(b"\n")[:-1]:
            value = decode(text)
            if not isinstance(value, dict) or len(value) != 1 or not TABLE_NAMES.issuperset(value):
                raise Broken("one of its lines is not a row of a table")
            (name, row), = value.items()
            check_strings(text)
            if has_blanks(text):
                raise Broken("one of its lines has blanks")
            self.tables[name].append(check_kind(row, TESTS[name], name, True))
            names.append(name)
        if names != sorted(names, key=list(SCHEMA).index):
            raise Broken("its tables are in another order")
        self.check_rows()
        self.trips = {trip["id"]: trip for trip in self.tables["Trips"]}
        self.fares, self.withheld = self.by_names("Fares"), self.by_names("Withheld")
        self.transfers = {(row["from"], row["to"]): row for row in self.tables["Transfers"]}

    def check_rows(self):
        """Each number of a row names one; each trip has times for its stops."""
        for table, member, target, *none in REFERENCES:
            for row in self.tables[table]:
                numbers = row[member] if isinstance(row[member], list) else [row[member]]
                if not all(0 <= one < len(self.tables[target]) or none and one == -1 for one in numbers):
                    raise Broken("a row of %s names a row of %s that is not there" % (table, target))
        for table, (member, most) in RANGES.items():
            if not all(0 <= row[member] <= most for row in self.tables[table]):
                raise Broken("a row of %s has no %s from 0 to %d" % (table, member, most))
        for service in self.tables["Services"]:
            ends = [64 * word + days.bit_length() for word, days in enumerate(service["bits"]) if days]
            if service["first"] + max(ends, default=0) > DAYS or len(service["bits"]) > DAYS // 64 + 1:
                raise Broken("a row of Services has days after the year 2199")
        for pattern in self.tables["Patterns"]:
            stops = len(pattern["stops"])
            skipped = pattern.get("noPickup", []) + pattern.get("noDropOff", [])
            if not 2 <= stops <= MAX_STOPS or not all(0 <= position < stops for position in skipped):
                raise Broken("a row of Patterns does not have stops as it should")
        for trip in self.tables["Trips"]:
            stops = self.tables["Patterns"][trip["pattern"]]["stops"]
            if len(self.tables["Times"][trip["times"]]) != 2 * len(stops):
                raise Broken("trip %s does not have two times for each stop" % trip["id"])

    def by_names(self, table):
        index = collections.defaultdict(list)
        for row in self.tables[table]:
            index[row["company"], row["route"], row.get("from", ""), row.get("to", "")].append(row)
        return index

    def runs_on(self, trip, day):
        if trip not in self.trips:
            return False
        service = self.tables["Services"][self.trips[trip]["service"]]
        bits, bit = service["bits"], day - service["first"]
        return 0 <= bit < 64 * len(bits) and bits[bit // 64] >> bit % 64 & 1 == 1

    def route_of(self, trip):
        """(number of the route, the route, the stops) of a trip."""
        pattern = self.tables["Patterns"][self.trips[trip]["pattern"]]
        stops = [self.tables["Stops"][number] for number in pattern["stops"]]
        return pattern["route"], self.tables["Routes"][pattern["route"]], stops

    def company_of(self, trip):
        return self.tables["Companies"][self.route_of(trip)[1]["company"]]

    def form(self, trip):
        """The form that the timetable gives a trip, or None."""
        if trip in self.trips and trip not in self.forms:
            self.forms[trip] = Form(self.make_form(self.trips[trip]))
        return self.forms.get(trip)

    def make_form(self, trip):
        number, route, stops = self.route_of(trip["id"])
        company, times, calls = route["company"], self.tables["Times"][trip["times"]], []
        for i, stop in enumerate(stops):
            arr, dep = (seconds + trip.get("shift", 0) for seconds in times[2 * i:2 * i + 2])
            city = kept(self.tables["Cities"][stop["city"]])
            calls.append({"stop": kept(stop, city=0), "city": city, "arr": arr, "dep": dep})
        ends = "%s \u2013 %s" % (calls[0]["city"]["name"], calls[-1]["city"]["name"])
        bus = {"id": "", "company": 0, "seats": 49}
        if trip["bus"] >= 0:
            bus = kept(self.tables["Buses"][trip["bus"]], company=0)
        rules = [row for row in self.tables["RefundRules"] if row["route"] == number] or \
            [row for row in self.tables["RefundRules"] if (row["company"], row["route"]) == (company, -1)]
        rules.sort(key=lambda row: -row["hours"])
        discounts = [kept(row, route=0) for row in self.tables["Discounts"] if row["route"] == number]
        form = {"trip": trip["id"], "name": trip.get("name"), "phones": trip.get("phones"),
                "company": self.tables["Companies"][company], "bus": bus, "stops": calls,
                "route": kept(route, company=0, name=route.get("name", ends)),
                "rules": [kept(row, company=0, route=0) for row in rules], "discounts": discounts}
        return {name: value for name, value in form.items() if value}

    def day_starts(self, trip, day):
        """Noon of the day in the zone of the trip's company, less 12 hours; None without a list of zones."""
        try:
            zone = ZoneInfo(self.company_of(trip)["zone"])
        except Exception:
            return None
        noon = datetime(1970, 1, 1, 12, tzinfo=zone) + timedelta(days=day)
        return int(noon.timestamp()) - 43200

    def can_change(self, first, second):
        """rules.md, Changes."""
        if first.run.name == second.run.name:
            return False
        out = self.route_of(first.run.form.trip)[2][first.end]
        into = self.route_of(second.run.form.trip)[2][second.start]
        pairs = itertools.product((out["id"], out.get("parent")), (into["id"], into.get("parent")))
        row = next((self.transfers[pair] for pair in pairs if pair in self.transfers), {"seconds": 1800})
        return not row.get("forbidden") and second.departure() - first.arrival() >= 1000 * row["seconds"]

    def prices(self, trip, start, end):
        """What a ride costs one passenger, by currency, without a discount."""
        number, route, stops = self.route_of(trip)
        stops = stops[start:end + 1]
        ride = (route["company"], number, stops[0].get("fareZone", ""), stops[-1].get("fareZone", ""))
        fares, withheld = [], []  # (how much it names, the row)
        for names in set(itertools.product(*zip(ride, (-1, -1, "", "")))):
            count = sum(name not in (-1, "") for name in names)
            fares += [(count, row) for row in self.fares.get(names, [])]
            withheld += [(count, row.get("currency", "")) for row in self.withheld.get(names, [])]
        best = {}
        for count, row in fares:
            if all(count >= least for least, currency in withheld if currency in ("", row["currency"])):
                offer = (-count, row["amount"])
                best[row["currency"]] = min(best.get(row["currency"], offer), offer)
        prices = {currency: amount for currency, (_, amount) in best.items()}
        if not prices and not withheld and self.tables["FarePerKm"]:
            row = self.tables["FarePerKm"][0]
            price = math.floor(kilometres(stops) * row["micros"] / 10000 + 0.5)
            prices = {row["currency"]: price} if price else {}
        return prices

    def discount(self, trip, day):
        """(its position among those of the trip's form, or -1; its percent) of the discount in force."""
        rows = enumerate(self.form(trip).discounts)
        valid = [(row["percent"], -position) for position, row in rows if row["first"] <= day <= row["last"]]
        return (-max(valid)[1], max(valid)[0]) if valid else (-1, 0)

def kilometres(stops):
    total = 0.0
    for one, two in zip(stops, stops[1:]):
        lat1, lat2 = math.radians(one["lat"]), math.radians(two["lat"])
        lon = math.radians(two["lon"] - one["lon"])
        h = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin(lon / 2) ** 2
        total += 2 * 6371 * math.asin(math.sqrt(min(1, h)))
    return total

# ==== Rides and runs: rules.md, Seats; journal.md, Forms and runs ===================================

def overlap_in(form, one, two):
    """Whether the rides of two legs overlap in a form."""
    a, b = one.ride_in(form), two.ride_in(form)
    return a[0] < b[1] and b[0] < a[1]

class Run:
    def __init__(self, form_id, form, day, start, offsets):
        self.form_id, self.form, self.day, self.start, self.offsets = form_id, form, day, start, offsets
        if len(offsets) != len(form.stops):
            raise NotThere("a run does not have one offset for each stop")
        self.name = (form.trip, day)
        packed = form_id.encode() + b"\0" + struct.pack(">iq", day, start)
        self.id = short_id(packed + b"".join(struct.pack(">i", offset) for offset in offsets))

class Leg:
    def __init__(self, run, start, end, amount, seat=0):
        self.run, self.start, self.end, self.amount, self.seat = run, start, end, amount, seat

    def departure(self):
        return 1000 * (self.run.start + self.run.form.stops[self.start]["dep"])

    def arrival(self):
        return 1000 * (self.run.start + self.run.form.stops[self.end]["arr"])

    def local_day(self):
        return (self.departure() // 1000 + self.run.offsets[self.start]) // 86400

    def ride_in(self, form):
        """(from, to) of its ride, in another form of the run: of nothing if they are equal there."""
        calls, known = self.run.form.calls, form.position
        if calls == form.calls:
            return self.start, self.end
        start = next((known[call] for call in reversed(calls[:self.start + 1]) if call in known), 0)
        end = next((known[call] for call in calls[self.end:] if call in known), len(form.calls) - 1)
        return min(start, end), max(start, end)

# ==== What is remembered, and each line against it: rules.md ========================================

LIVING = ("Unpaid", "Booked", "Paid")
ALLOWED = {"pay": ("Unpaid", "Uncompleted", "Booked"), "book": ("Unpaid", "Uncompleted"),
           "cancel": ("Unpaid", "Uncompleted", "Booked", "Paid")}
SHOWN = {"Unpaid": "Processing", "Booked": "Confirmed", "Paid": "Confirmed", "Refunded": "Refund"}
CHANGES_BOOKINGS = set(
    "booking.created tickets.canceled tickets.uncompleted ticket.asked ticket.refused ticket.paid "
    "ticket.booked ticket.carrier ticket.moved run.cancelled run.moved".split())

class Booking:
    def __init__(self, id, partner, seq):
        self.id, self.partner, self.seq, self.tickets = id, partner, seq, []  # made by line seq

class Ticket:
    def __init__(self, id, booking, created, legs, currency):
        self.id, self.booking, self.created, self.legs, self.currency = id, booking, created, legs, currency
        self.phase, self.before, self.pending, self.carrier = "Unpaid", None, None, None
        self.noted, self.late, self.refund = False, 0, 0

    def at(self, now):
        """Its phase at an instant: time alone makes Uncompleted of Unpaid."""
        lapsed = self.phase == "Unpaid" and not self.pending and now >= self.created + WINDOW
        return "Uncompleted" if lapsed else self.phase

    def lives(self, now):
        return self.at(now) in LIVING

    def price(self):
        return sum(leg.amount for leg in self.legs)

    def paid(self):
        """What was paid for it: also where it was paid before it was cancelled or refunded."""
        phase = self.before if self.phase in ("Canceled", "Refunded") else self.phase
        return self.price() if phase == "Paid" else 0

class Books:
    """A line of type A.B is read by on_A_B, or on_A: they raise NotThere where it cannot be applied."""

    def __init__(self, timetable_of):
        self.timetable_of = timetable_of  # gives the timetable of a line timetable.imported, or None
        self.partners, self.bookings, self.tickets, self.forms, self.runs, self.last = {}, {}, {}, {}, {}, {}
        self.users, self.sessions, self.messages, self.imports = {}, {}, {}, []  # messages: their tickets
        self.reports, self.clock = {}, {"offsetMs": 0}  # reports: the line of its file, and the file's hash
        self.answered, self.zone = {}, None  # by partner and key: the last line's time; the remark
        # By the name of a run: all its tickets; the run that came last; how many tickets were cancelled with
        # it; its shift in seconds.
        self.on, self.latest, self.cancelled, self.shift = {}, {}, {}, {}
        self.problems, self.faults, self.now, self.all_applied = [], [], 0, True

    def read(self, line):
        self.line, self.seq, self.faults = line, line.seq, []
        self.now, self.last_now = line.now, self.now
        name = "on_" + line.type.replace(".", "_")
        method = getattr(self, name, None) or getattr(self, "on_" + line.type.split(".")[0], self.on_other)
        try:
            if line.lacks:
                raise NotThere("it has no member %s" % line.lacks)
            several = method(line.data)
            if line.type in CHANGES_BOOKINGS:
                self.check_before(several)
                self.remember_messages(line.data)
            elif line.type not in OWN:
                self.expect("before" not in line.data, "it has 'before' but changes no booking")
            if "retry" in line.data and line.type not in OWN:
                booking = self.bookings.get(line.data.get("booking"))
                partner = line.data.get("partner") or booking and booking.partner
                self.answered[partner, line.data["retry"]["key"]] = self.now
        except NotThere as error:
            self.all_applied = False
            self.faults = ["%s: this line changes nothing, and is not judged further" % error]
        self.tell()

    def tell(self):
        if self.faults:
            text = "%s: %s" % (self.line.type, "; ".join(self.faults))
            self.problems.append(problem("books", text, *self.line.place, self.seq))

    def expect(self, holds, text, *values):
        if not holds:
            self.faults.append(text % values)

    # -- rules.md, What is there

    def there(self, known, id, what):
        if id not in known:
            raise NotThere("there is no %s %s" % (what, id))
        return known[id] if isinstance(known, dict) else id

    def ticket(self, booking, id):
        ticket = self.there(self.tickets, id, "ticket")
        if ticket.booking is not self.there(self.bookings, booking, "booking"):
            raise NotThere("ticket %s is not in booking %s" % (id, booking))
        return ticket

    def check_before(self, several):
        """journal.md, Members of several types: before. several are the bookings where it is an object."""
        bookings = [self.line.data["booking"]] if several is None else several
        right = {booking: self.last.get(booking, 0) for booking in bookings}
        if several is None:
            right = right[bookings[0]]
        stands = self.line.data.get("before", "missing")
        self.expect(stands == right, "before is %s; by the rules it is %s", words(stands), words(right))
        self.last.update({booking: self.seq for booking in bookings})
        self.last = {booking: seq for booking, seq in self.last.items() if booking in self.bookings} \
            if self.line.type == "ticket.moved" else self.last

    def remember_messages(self, data):
        rows = [data] + data.get("tickets", [])
        tickets = [row.get("id", row.get("ticket")) for row in rows for _ in row.get("sends", [])]
        for number, ticket in enumerate(tickets, 1):
            self.messages["%d-%d" % (self.seq, number)] = ticket

    # -- rules.md, Sales

    def on_booking_created(self, data):
        forms, runs = self.new_forms(data), {}
        self.forms.update(forms)  # which stay known, as its runs do, where the rest cannot be applied
        for row in data.get("runs", []):
            form = forms.get(row["form"]) or self.there(self.forms, row["form"], "form")
            run = Run(row["form"], form, day_number(row["date"]), row["start"], row["offsets"])
            if run.id in self.runs or run.id in runs:
                raise NotThere("run %s already exists" % run.id)
            runs[run.id] = run
        self.there(self.partners, data["partner"], "partner")
        rows, ids = data["tickets"], [row["id"] for row in data["tickets"]]
        known = data["booking"] in self.bookings or any(id in self.tickets for id in ids)
        if known or len(set(ids)) < len(ids):
            raise NotThere("booking %s, or one of its tickets, already exists" % data["booking"])
        count = len(data["legs"])
        if count not in (1, 2) or not rows or any(len(row["seats"]) != count for row in rows):
            raise NotThere("it has %d legs and %d tickets, but not a seat for each ticket and leg" % (
                count, len(rows)))
        rides = []
        for row in data["legs"]:
            run = runs.get(row["run"]) or self.there(self.runs, row["run"], "run")
            rides.append(Leg(run, row["from"], row["to"], row["amount"]))
            if not 0 <= row["from"] < row["to"] < len(run.form.stops) or \
                    not -1 <= row["discount"] < len(run.form.discounts):
                raise NotThere("no ride from %(from)d to %(to)d, or no discount %(discount)d, there" % row)
        self.runs.update(runs)
        self.latest.update({run.name: run for run in runs.values()})
        self.check_sale(data, rides)
        booking = self.bookings[data["booking"]] = Booking(data["booking"], data["partner"], self.seq)
        for row in rows:
            legs = [Leg(leg.run, leg.start, leg.end, leg.amount, seat)
                    for leg, seat in zip(rides, row["seats"])]
            ticket = self.tickets[row["id"]] = Ticket(row["id"], booking, self.now, legs, data["currency"])
            booking.tickets.append(ticket)
            for name in {leg.run.name for leg in legs}:
                self.on.setdefault(name, []).append(ticket)

    def new_forms(self, data):
        """The forms of a sale by their ids, which are made of their bytes in the line."""
        forms, text, end = {}, self.line.text.decode("utf-8"), 0
        for row in data.get("forms", []):
            start = end + 1 if end else text.index(',"forms":[') + len(',"forms":[')
            end = json.JSONDecoder().raw_decode(text, start)[1]
            id = short_id(text[start:end].encode())
            if id in self.forms or id in forms:
                raise NotThere("form %s already exists" % id)
            forms[id] = Form(row)
        return forms

    def check_sale(self, data, legs):
        sells, keys = self.partners[data["partner"]]
        self.expect(keys, "the partner's keys are all revoked")
        if "retry" in data:
            answered = self.answered.get((data["partner"], data["retry"]["key"]), -math.inf)
            self.expect(self.now - answered >= DAY,
                        "the partner had a line with that key in the last 24 hours")
        self.expect(legs[0].departure() > self.now, "the first leg had already left")
        for number, leg in enumerate(legs, 1):
            slug = leg.run.form.company["slug"]
            self.expect(not sells or slug in sells, "the partner may not sell the company %s", slug)
            self.expect(leg.run.name not in self.cancelled, "the run of leg %d is cancelled", number)
            self.check_seats([row["seats"][number - 1] for row in data["tickets"]], number, leg)
        self.expect(self.imports, "there is no timetable in force")
        timetable = self.in_force()
        if not timetable:
            return
        for leg, row in zip(legs, data["legs"]):
            trip, form = leg.run.form.trip, timetable.form(leg.run.form.trip)
            if not timetable.runs_on(*leg.run.name) or leg.end >= len(form.stops):
                self.expect(False, "trip %s has no such ride on that day, by the timetable in force", trip)
                return
            self.expect(leg.run.form.row == form.row,
                        "the form of the run is not the one that the timetable in force gives trip %s", trip)
            right = timetable.discount(trip, leg.local_day())[0]
            self.expect(row["discount"] == right, "the discount is number %d of the form; in force is "
                        "number %d (-1 is none)", row["discount"], right)
        for leg in legs if not self.faults else ():
            self.look_at_zone(timetable, leg)
        self.check_price(data["currency"], legs)

    def check_seats(self, seats, number, leg):
        """Those that the tickets of a sale have on a leg."""
        most, (free, loads) = leg.run.form.seats, self.room(leg, leg.run.form)
        for seat in seats:
            if seat not in free:
                self.expect(False, "seat %d of leg %d is not free: %s", seat, number, self.holder(leg, seat))
        self.expect(len(set(seats)) == len(seats), "two tickets have one seat on leg %d", number)
        self.expect(max(loads) + len(seats) <= most and len(free) >= len(seats),
                    "the bus of leg %d has fewer seats left", number)

    def holder(self, leg, seat):
        """Why a seat of a leg's run is not free, in words."""
        for ticket, other in self.living_legs(leg.run.name):
            if other.seat == seat:
                return "ticket %s has that seat" % ticket.id
        return "the seats of the bus are 1 to %d" % leg.run.form.seats

    def in_force(self):
        """The last timetable; None where there is none, or its file is not good."""
        return self.timetable_of(self.imports[-1]) if self.imports else None

    def look_at_zone(self, timetable, leg):
        """rules.md, Remarks: zone."""
        run, starts = leg.run, timetable.day_starts(leg.run.form.trip, leg.run.day)
        ahead = 0 if starts is None else starts + self.shift.get(run.name, 0) - run.start
        if ahead and not self.zone:
            zone = timetable.company_of(run.form.trip)["zone"]
            self.zone = self.seq, "the service day of a run of trip %s starts %d s later by the clock of " \
                "%s here than it was sold" % (run.form.trip, ahead, zone)

    def check_price(self, currency, legs):
        """By the timetable in force, or one that was replaced less than 20 minutes before."""
        stands, first, replaced = [leg.amount for leg in legs], None, math.inf
        for line in reversed(self.imports):
            if self.now - replaced >= WINDOW:
                break
            timetable, replaced = self.timetable_of(line), line.now
            if not timetable:
                return
            right = [self.amount(timetable, currency, leg) for leg in legs]
            if right == stands and (len(legs) == 1 or timetable.can_change(*legs)):
                return
            first = first or right
        costs = ["no price" if amount is None else hundredths(amount, currency) for amount in first]
        self.expect(first == stands, "the legs were sold for %s, but cost %s by the timetable in force",
                    " and ".join(hundredths(amount, currency) for amount in stands), " and ".join(costs))
        self.expect(first != stands, "nobody can change from leg 1 to leg 2, by the timetable in force")

    def amount(self, timetable, currency, leg):
        """What a leg costs by a timetable, or None."""
        form = timetable.form(leg.run.form.trip)
        if not form or leg.end >= len(form.stops):
            return None
        price = timetable.prices(form.trip, leg.start, leg.end).get(currency)
        return price and price - percent(price, timetable.discount(form.trip, leg.local_day())[1])

    # -- rules.md, Seats

    def room(self, ride, present, without=None):
        """The seats that are free for a ride on its run, and how many living tickets are on each of its
        parts, in the present form of the run."""
        start, end = ride.ride_in(present)
        free, loads = set(range(1, present.seats + 1)), [0] * (end - start)
        for ticket, leg in self.living_legs(ride.run.name):
            if ticket is without:
                continue
            other = leg.ride_in(present)
            common = range(max(start, other[0]), min(end, other[1]))
            others = {leg.run.form, ride.run.form} - {present}
            if common or any(overlap_in(form, ride, leg) for form in others):
                free.discard(leg.seat)
            for part in common:
                loads[part - start] += 1
        return free, loads

    def living_legs(self, name):
        """(ticket, leg) of each living ticket on a run."""
        return [(ticket, leg) for ticket in self.on.get(name, []) if ticket.lives(self.now)
                for leg in ticket.legs if leg.run.name == name]

    def is_free_again(self, ticket, leg, seat):
        """None where nobody can say."""
        name, timetable = leg.run.name, self.in_force()
        if name in self.cancelled or timetable and not timetable.runs_on(*name):
            return False
        if not timetable:
            return None
        present = timetable.form(name[0])
        free, loads = self.room(leg, present, without=ticket)
        return seat in free and max(loads, default=0) < present.seats

    # -- rules.md, Acts

    def on_ticket_asked(self, data):
        ticket = self.ticket(data["booking"], data["ticket"])
        self.expect(not ticket.pending, "the provider was already asked to %s", ticket.pending)
        self.check_act(ticket, data["action"], data)
        ticket.pending = data["action"]

    def on_ticket_refused(self, data):
        ticket = self.ticket(data["booking"], data["ticket"])
        self.expect(ticket.pending == data["action"], "the provider was not asked to %s", data["action"])
        ticket.pending = None

    def on_ticket_paid(self, data, act="pay", phase="Paid"):
        ticket = self.ticket(data["booking"], data["ticket"])
        self.expect(ticket.pending in (None, act), "the provider was asked to %s", ticket.pending)
        allowed = self.check_act(ticket, act, data)
        ticket.phase, ticket.pending, ticket.carrier = phase if allowed else "Unpaid", None, None

    def on_ticket_booked(self, data):
        self.on_ticket_paid(data, "book", "Booked")

    def check_act(self, ticket, act, data):
        """What asked, paid and booked have in common; gives the ticket its seats. Whether it is allowed."""
        phase, legs, seats = ticket.at(self.now), ticket.legs, data.get("seats", [])
        if seats and len(seats) != len(legs):
            raise NotThere("it has %d seats, but the ticket has %d legs" % (len(seats), len(legs)))
        allowed = phase in ALLOWED[act]
        self.expect(allowed, "%s is not allowed: ticket %s is %s", act, ticket.id, phase)
        self.expect((phase == "Uncompleted") == bool(seats),
                    "it gives ticket %s, which is %s, seats: %s", ticket.id, phase, words(seats))
        if not ticket.pending and len(legs) == 2:
            self.expect(legs[1].departure() >= legs[0].arrival(),
                        "the second leg leaves before the first arrives")
        for leg, seat in zip(legs, seats if self.imports else ()):
            self.expect(self.is_free_again(ticket, leg, seat) is not False,
                        "seat %d is not free for ticket %s", seat, ticket.id)
            self.expect(seat == leg.seat or not self.is_free_again(ticket, leg, leg.seat),
                        "ticket %s gets seat %d, and its own seat %d is free", ticket.id, seat, leg.seat)
        for leg, seat in zip(legs, seats):
            leg.seat = seat
        return allowed

    def on_tickets_canceled(self, data):
        self.there(self.bookings, data["booking"], "booking")
        tickets = [self.ticket(data["booking"], row["id"]) for row in data["tickets"]]
        self.expect(len(set(tickets)) == len(tickets), "a ticket is named twice")
        for ticket, row in zip(tickets, data["tickets"]):
            self.expect(not ticket.pending, "the provider was asked about ticket %s", ticket.id)
            self.expect(ticket.at(self.now) in ALLOWED["cancel"], "ticket %s is %s", ticket.id,
                        ticket.at(self.now))
            stands, right = (row["refunded"], row["refund"], row["grace"], row["terms"]), self.refund(ticket)
            self.expect(stands == right, "ticket %s is %s; by the rules it is %s", ticket.id,
                        refund_words(ticket, *stands), refund_words(ticket, *right))
        for ticket, row in zip(tickets, data["tickets"]):
            self.cancel(ticket, row["refunded"], row["refund"])

    def refund(self, ticket):
        """rules.md, Refunds: (refunded, refund, grace, terms)."""
        if ticket.phase != "Paid" or ticket.legs[0].run.form.company["source"] != "Service":
            return False, 0, False, []
        if self.now - ticket.created < WINDOW:
            return True, ticket.price(), True, []
        ahead, terms = ticket.legs[0].departure() + ticket.late - self.now, []
        for leg in ticket.legs:
            rule = next((rule for rule in leg.run.form.rules if ahead >= rule["hours"] * 60 * MINUTE),
                        {"id": "", "percent": 0})
            terms.append({"rule": rule["id"], "percent": rule["percent"],
                          "refund": percent(leg.amount, rule["percent"])})
        return True, sum(term["refund"] for term in terms), False, terms

    def cancel(self, ticket, refunded, refund):
        if ticket.phase not in ("Canceled", "Refunded"):
            ticket.before = ticket.phase
        ticket.phase, ticket.refund = "Refunded" if refunded else "Canceled", refund

    def on_tickets_uncompleted(self, data):
        self.there(self.bookings, data["booking"], "booking")
        tickets = [self.ticket(data["booking"], row["id"]) for row in data["tickets"]]
        over = nanoseconds(data["at"])
        for ticket in tickets:
            self.expect(ticket.phase == "Unpaid" and not ticket.noted,
                        "ticket %s is %s, or an earlier line named it", ticket.id, ticket.phase)
            self.expect(over == (ticket.created + WINDOW) * 10**6,
                        "the time to pay for ticket %s ended at another time", ticket.id)
        for ticket in tickets:
            ticket.noted = True
        self.expect(over <= self.now * 10**6, "%s is after the line", data["at"])

    def on_ticket_carrier(self, data):
        ticket = self.ticket(data["booking"], data["ticket"])
        self.expect(ticket.lives(self.now), "ticket %s is %s", ticket.id, ticket.at(self.now))
        ticket.carrier = data["status"]

    def on_ticket_moved(self, data):
        ticket, id = self.ticket(data["from"], data["ticket"]), data["booking"]
        source = ticket.booking
        if data["new"] and id in self.bookings:
            raise NotThere("booking %s already exists" % id)
        target = None if data["new"] else self.there(self.bookings, id, "booking")
        if target is source:
            raise NotThere("ticket %s is in booking %s already" % (ticket.id, id))
        self.expect(not ticket.pending, "the provider was asked about ticket %s", ticket.id)
        self.expect(data["new"] or target.partner == source.partner, "booking %s is another partner's", id)
        if data["new"]:
            target = self.bookings[id] = Booking(id, source.partner, self.seq)
        source.tickets.remove(ticket)
        target.tickets.append(ticket)
        ticket.booking = target
        if not source.tickets:
            del self.bookings[source.id]
        return [source.id, id]

    # -- rules.md, Runs

    def run_of(self, data):
        """(its name, its tickets in their order) of the run that a line names."""
        name = data["run"]["trip"], day_number(data["run"]["date"])
        return name, sorted(self.on.get(name, []), key=lambda ticket: (
            ticket.booking.seq, ticket.booking.tickets.index(ticket)))

    def check_run(self, name):
        timetable = self.in_force()
        self.expect(name in self.on or self.imports and (not timetable or timetable.runs_on(*name)),
                    "nobody has sold trip %s on that day, and the timetable in force has no such run",
                    name[0])

    def expect_tickets(self, rows, said, right):
        """Tells of the first ticket of a line that is another than it should be. said are words about each of
        the rows, and right has the words about each ticket."""
        form = "%s of booking %s of partner %s, %s"
        stands = [form % (row["id"], row["booking"], row["partner"], word) for row, word in zip(rows, said)]
        right = [form % (one.id, one.booking.id, one.booking.partner, word) for one, word in right.items()]
        for number, (one, other) in enumerate(itertools.zip_longest(stands, right, fillvalue="not there"), 1):
            if one != other:
                self.expect(False, "its ticket %d is %s; by the rules it is %s", number, one, other)
                return

    def on_run_cancelled(self, data):
        (name, tickets), rows = self.run_of(data), data["tickets"]
        named = [self.ticket(row["booking"], row["id"]) for row in rows]
        self.check_run(name)
        refunds = [refund_words(one, row["refunded"], row["refund"]) for one, row in zip(named, rows)]
        self.expect_tickets(rows, refunds, {one: refund_words(one, one.phase == "Paid", one.paid())
                                            for one in tickets if one.lives(self.now) and not one.pending})
        for ticket, row in zip(named, rows):
            self.cancel(ticket, row["refunded"], ticket.price() if row["refunded"] else 0)
        self.cancelled[name] = self.cancelled.get(name, 0) + len(rows)
        return [row["booking"] for row in rows]

    def on_run_moved(self, data):
        (name, tickets), rows, moved = self.run_of(data), data["tickets"], {}
        for row in rows:
            self.ticket(row["booking"], row["id"])
        self.check_run(name)
        by = data["minutes"] * 60 - self.shift.get(name, 0)
        self.expect(abs(data["minutes"]) <= 720, "it is moved by %d minutes", data["minutes"])
        for row in data["runs"]:
            run = self.there(self.runs, row["run"], "run")
            moved[run.id] = Run(run.form_id, run.form, run.day, row["start"], row["offsets"])
            away = row["start"] - run.start
            self.expect(run.name == name, "run %s has another name", run.id)
            self.expect(0 < abs(away - by) <= 2 * 86400 if row.get("aligned") else away == by,
                        "run %s starts %d s later, and is moved by %d s", run.id, away, by)
            self.expect(all(abs(offset) <= 14 * 3600 for offset in row["offsets"]),
                        "an offset is above 14 hours")
        on = {leg.run.id for ticket in tickets for leg in ticket.legs if leg.run.name == name}
        left = sorted(on - set(moved))
        self.expect(not left, "it leaves out runs that have tickets: %s", words(left))
        living = [one for one in tickets if one.lives(self.now)]
        self.expect_tickets(rows, ["moved"] * len(rows), dict.fromkeys(living, "moved"))
        self.shift[name] = data["minutes"] * 60
        for run in moved.values():
            self.runs[run.id] = self.latest[run.name] = run
        for ticket in tickets:
            latest = ticket.legs[0].departure() + ticket.late
            for leg in ticket.legs:
                leg.run = moved.get(leg.run.id, leg.run)
            ticket.late = max(0, latest - ticket.legs[0].departure())
        return [ticket.booking.id for ticket in tickets]

    def on_run_restored(self, data):
        name, tickets = self.run_of(data)
        self.check_run(name)
        if name in self.cancelled:
            self.expect(not self.cancelled.pop(name), "tickets were cancelled with the run")
        else:
            self.expect(self.shift.pop(name, 0) and not tickets, "it was not moved, or tickets are on it")

    def on_manifest_read(self, data):
        right = sum(ticket.phase in ("Paid", "Booked") for ticket in self.run_of(data)[1])
        self.expect(data["passengers"] == right, "%d passengers were read, and it has %d", data["passengers"],
                    right)

    # -- rules.md, What is not decided again: what these name must exist, and they make what others name

    def on_user(self, data):
        user, type = data["user"], self.line.type
        if type == "user.added":
            self.users[user] = set()
        companies = self.there(self.users, user, "user")
        if type == "user.removed":
            del self.users[user]
            self.sessions = {id: other for id, other in self.sessions.items() if other != user}
        else:
            companies.add(data["access"]["company"]["id"])

    def check_user(self, data):
        companies = self.there(self.users, data["user"], "user")
        if "company" in data:
            self.there(companies, data["company"], "access to company")

    on_geolocation = check_user

    def on_session(self, data):
        if self.line.type == "session.started":
            self.check_user(data)
            self.sessions[data["session"]] = data["user"]
        self.there(self.sessions, data["session"], "session")
        if self.line.type == "session.ended":
            del self.sessions[data["session"]]

    def on_report(self, data):
        report, line = data["report"], self.line
        if line.type == "report.ordered":
            self.check_user(data)
            self.reports[report] = None
        self.there(self.reports, report, "report")
        if line.type == "report.completed":
            self.reports[report] = (line, line.part["sha256"]) if line.part and not line.erased else None

    def on_partner(self, data):
        if self.line.type == "partner.key_added":
            self.partners.setdefault(data["partner"], (data["companies"], set()))[1].add(data["keyHash"])
        companies, keys = self.there(self.partners, data["partner"], "partner")
        keys.difference_update(data.get("keyHashes", []))

    def on_outbox(self, data):
        messages = data.get("messages", [data.get("message")])
        for message in messages:
            self.there(self.messages, message, "message that waits")
        if self.line.type == "outbox.sent":
            if not messages:
                raise NotThere("it names no message")
            for message in messages:
                if self.messages.pop(message, None) is None:
                    raise NotThere("message %s is named twice" % message)

    def on_world_forked(self, data):
        self.messages.clear()

    def on_personal_erased(self, data):
        rows, reports = data.get("passengers", []), data.get("reports", [])
        for row in rows:
            if self.ticket(row["booking"], row["ticket"]).booking.partner != row["partner"]:
                raise NotThere("ticket %s does not belong to partner %s" % (row["ticket"], row["partner"]))
        for id in reports:
            self.there(self.reports, id, "report")
        for id, made in self.reports.items():
            if id in reports or made and made[0].seq in data.get("lines", []):
                self.reports[id] = None
        gone = {row["ticket"] for row in rows}
        self.messages = {id: ticket for id, ticket in self.messages.items() if ticket not in gone}

    on_passengers_forgotten = on_personal_erased

    def on_timetable_imported(self, data):
        self.imports.append(self.line)

    def on_clock_set(self, data):
        back = self.last_now - self.now
        self.expect(back <= 1000 or not self.bookings, "the clock is set back by %d ms", back)
        self.clock = data

    def on_other(self, data):
        """It changes nothing that is remembered."""

    # -- rules.md, The books

    def figures(self, timetable):
        now, status, money, left = self.now, {}, {}, set()
        books = dict(NO_BOOKS, bookings=len(self.bookings), tickets=len(self.tickets), runs=len(self.on),
                     status=status, money=money, cancelled=len(self.cancelled))
        books["moved"] = sum(1 for name, shift in self.shift.items() if shift and name not in self.cancelled)
        for ticket in self.tickets.values():
            phase = ticket.at(now)
            word = ticket.carrier if ticket.carrier and phase in LIVING else SHOWN.get(phase, phase)
            status[word] = status.get(word, 0) + 1
            sums = money.setdefault(ticket.currency, {"paid": 0, "refunded": 0})
            sums["paid"] += ticket.paid()
            sums["refunded"] += ticket.refund if phase == "Refunded" else 0
        for name in self.on:
            in_timetable = timetable and timetable.runs_on(*name)
            form = timetable.form(name[0]) if in_timetable else self.latest[name].form
            legs = self.living_legs(name)
            held = {leg.seat for _, leg in legs}
            sold = {leg.seat for ticket, leg in legs if ticket.phase != "Unpaid"}
            books["seats"] += form.seats
            books["sold"] += len(sold)
            books["held"] += len(held) - len(sold)
            books["free"] += max(0, form.seats - len(held))
            left.update(ticket for ticket, _ in legs if name in self.cancelled and not ticket.pending)
            legs = [leg for _, leg in legs if 1000 * (leg.run.start + leg.run.form.stops[-1]["arr"]) > now]
            rides = [leg.ride_in(form) for leg in legs]
            books["over"] += any(sum(start <= part < end for start, end in rides) > form.seats
                                 for part in range(len(form.stops) - 1))
            books["shared"] += sum(one.seat == two.seat and overlap_in(form, one, two)
                                   for one, two in itertools.combinations(legs, 2))
        return dict(books, left=len(left))

    def check_sums(self):
        """What follows from the rules: where it does not hold though each line did, the last is named."""
        self.faults = []
        for ticket in self.tickets.values():
            if not 0 <= ticket.refund <= ticket.paid() or ticket not in ticket.booking.tickets:
                back, paid = (hundredths(sum, ticket.currency) for sum in (ticket.refund, ticket.paid()))
                self.expect(False, "ticket %s: %s is given back of %s that was paid", ticket.id, back, paid)
        for name in self.on:
            seats = collections.defaultdict(list)
            for ticket, one in self.living_legs(name):
                for other, two in seats[one.seat]:
                    shared = any(overlap_in(leg.run.form, one, two) for leg in (one, two))
                    self.expect(ticket is other or not shared, "tickets %s and %s have seat %d at the same "
                                "time", other.id, ticket.id, one.seat)
                seats[one.seat].append((ticket, one))
        self.tell()

def refund_words(ticket, refunded, refund, grace=False, terms=()):
    text = "%s (%s)" % ("refunded" if refunded else "not refunded", hundredths(refund, ticket.currency))
    text += " within 20 minutes" if grace else ""
    for term in terms:
        refund, share = hundredths(term["refund"], ticket.currency), hundredths(term["percent"], "%")
        text += ", %s by %s (%s)" % (refund, "rule " + term["rule"] if term["rule"] else "no rule", share)
    return text

class Audit(Chain):
    """A directory by both parts."""

    not_checked = ""

    def check_line(self, line):
        check_data(line)

    def look_at_reports(self):
        for name in self.beside:
            path = os.path.join(self.folder, name)
            if name.startswith("reports/") and os.path.isfile(path) and not os.path.islink(path):
                self.beside[name] = sha256(self.file(name) or b"").hex()

    # -- rules.md, Whose timetable is missing

    def timetable_of(self, line):
        """The timetable of an import, or None."""
        name = "timetables/%s.jsonl" % line.data["sha256"]
        if name not in self.timetables:
            self.timetables[name] = None
            try:
                data = self.file(name) if KINDS["hash"](line.data["sha256"]) else None
            except OSError:
                data = None
            if data is None or sha256(data).hex() != line.data["sha256"]:
                self.found("damaged", "%s, which line %d names, is missing or was changed; put it back" % (
                    name, line.seq), name)
                return None
            try:
                self.timetables[name] = Timetable(data)
            except (Broken, Newer) as error:
                self.found("damaged", "%s is not a timetable: %s" % (name, error), name)
        return self.timetables[name]

    def check_books(self):
        self.timetables, books = {}, Books(self.timetable_of)
        for line in self.lines:
            books.read(line)
        last = books.in_force()  # which is read in any case
        if self.lines and not books.problems and not self.damage:
            books.check_sums()
        self.problems += books.problems[:100]
        if len(books.problems) > 100:
            text = "and %d other lines break a rule" % (len(books.problems) - 100)
            self.found("books", text)
        if self.lines and books.all_applied and not self.damage and self.whole:
            self.result["books"] = books.figures(last)
            self.check_beside(books)
        if not books.all_applied:
            self.not_checked = "; no figures: some lines could not be applied; correct the first one, and " \
                "run this again"

    def check_beside(self, books):
        """rules.md, Reports; Remarks: zone, beyond, missing."""
        if books.zone:
            self.remark("zone", *books.zone)
        named = {"reports/%s.csv" % id for id in books.reports}
        named.update("timetables/%s.jsonl" % line.data["sha256"] for line in books.imports)
        beyond = [name for name in self.beside if name not in named and self.is_beyond(name)]
        if beyond:
            self.remark("beyond", len(self.lines), "no line names %s; files like that: %d" % (
                beyond[0], len(beyond)))
        still, missing = books.clock.get("still"), []
        now = nanoseconds(still) // 10**6 if still else time.time() * 1000 + books.clock["offsetMs"]
        for id, made in books.reports.items():
            if not made or now >= made[0].now + 7 * DAY:
                continue
            name = "reports/%s.csv" % id
            data = self.file(name)
            if data is None:
                missing.append(made[0].seq)
            elif made[1] != sha256(data).hex() == self.beside.get(name):  # else it was written anew meanwhile
                text = "the file is not the report that was written"
                self.found("books", text, name, seq=made[0].seq)
        if missing:
            self.remark("missing", min(missing), "files of %d reports are not here" % len(missing))

    def is_beyond(self, name):
        """Whether only a line beyond the end can have made a letter or a snapshot; other files have names. A
        file .tmp is nobody's."""
        if name.endswith(".tmp"):
            return False
        made = re.match(r"outbox/[^.]*\.([0-9]+)-|snapshots/([0-9]{12,})\.jsonl$", name)
        if name.startswith(("outbox/", "snapshots/")):
            return bool(made) and int(made.group(1) or made.group(2)) in range(len(self.lines) + 1, 2**64)
        return True

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
