#!/usr/bin/env python3
"""audit.py: a second auditor of a Waybill data directory, made from journal.md and rules.md alone.

Usage: python3 -I audit.py DIR... [-against NOTE]... [-key PUB] [-witness-key VKEY]...
                           [-witnessed-within 5m] [-json]

DIR is a data directory (the one that has journal/), or what "waybill audit" wrote: the .zip, or its folder.
NOTE is a file of checkpoints that were kept elsewhere. PUB is a file with the directory's public key, VKEY a
witness's verifier key. With several DIRs each is told, and the exit code is that of the worst.

What it checks, in this order:
  1. the form of each line: its members, their order and types; its number and time; the hash that chains it
     to the line before; the hash of its personal part, or the line that says that this part was erased;
  2. whether an end that is not good was ever on the disk: torn, or damaged;
  3. the names and keys that the lines say, and each note in the directory and each that is given: Ed25519
     signatures of the directory and of witnesses (all of them), the hash of its line, the root of its tree;
  4. the files in tree/, as far as notes cover them, and the timetables on which sales rest;
  5. each line of the journal against the lines before it: sales, prices, discounts, seats, acts, windows,
     refunds, runs, "before"; then the figures of the books.
Of an audit pack it checks the two notes, their signatures, and consistency.txt (RFC 6962) between them.

What it does not check: the hashes in "answer" of "retry", which only "waybill verify" can make again (they
are counted); snapshots, but for what they prove of the end (they are a cache); what stands in personal parts;
and what rules.md lists under "What is not decided again". The zones of companies need zoneinfo (Python 3.9).

Exit code: 0 sound; 1 not; 3 nothing but an end that was never on the disk; 2 the command line is wrong.
"""
import base64
import calendar
import hashlib
import json
import math
import os
import re
import struct
import sys
import zipfile

try:
    from zoneinfo import ZoneInfo
    from datetime import datetime
except ImportError:
    ZoneInfo = None

MINUTE = 60 * 1000
WINDOW = 20 * MINUTE  # journal times are whole milliseconds here


class Newer(Exception):
    """What only a newer version of Waybill can have written."""


class Broken(Exception):
    """Bytes that are not as they were written."""


class NotThere(Exception):
    """A line that cannot be applied: rules.md, What is there."""


class Failed(Exception):
    """What could not be read."""


def sha256(data):
    return hashlib.sha256(data).digest()


def unbase64(text):
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise Broken("%r is not base64" % text[:80])


def read_file(path):
    """The bytes of a file, or None where there is none. Nothing is read through a symbolic link."""
    if os.path.islink(path) or not os.path.isfile(path):
        return None
    with open(path, "rb") as file:
        return file.read()


def nanoseconds(text):
    """An instant as nanoseconds since 1970."""
    whole, _, part = text.rstrip("Z").partition(".")
    year, month, day = (int(n) for n in whole[:10].split("-"))
    hour, minute, second = (int(n) for n in whole[11:].split(":"))
    seconds = calendar.timegm((year, month, day, hour, minute, second))
    return seconds * 10**9 + int(part.ljust(9, "0"))


def milliseconds(text):
    return nanoseconds(text) // 10**6


def day_number(text):
    return calendar.timegm(tuple(int(n) for n in text.split("-")) + (0, 0, 0)) // 86400


# ---------------------------------------------------------------------------------------------------------
# Ed25519 (RFC 8032), only as much as checks a signature, and makes a public key of a seed
# ---------------------------------------------------------------------------------------------------------

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
CURVE = -121665 * pow(121666, P - 2, P) % P
ROOT_OF_MINUS_1 = pow(2, (P - 1) // 4, P)
NOTHING = (0, 1, 1, 0)


def add(p, q):
    a = (p[1] - p[0]) * (q[1] - q[0]) % P
    b = (p[1] + p[0]) * (q[1] + q[0]) % P
    c = 2 * p[3] * q[3] * CURVE % P
    d = 2 * p[2] * q[2] % P
    return (b - a) * (d - c) % P, (d + c) * (b + a) % P, (d - c) * (d + c) % P, (b - a) * (b + a) % P


def times(number, point):
    result = NOTHING
    while number:
        if number & 1:
            result = add(result, point)
        point = add(point, point)
        number >>= 1
    return result


def point_of(data):
    """The point that 32 bytes stand for, or None."""
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (2**255 - 1)
    square = (y * y - 1) * pow(CURVE * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT_OF_MINUS_1 % P
    if y >= P or (x * x - square) % P or (x == 0 and sign):
        return None
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


def bytes_of(point):
    inverse = pow(point[2], P - 2, P)
    return (point[1] * inverse % P | (point[0] * inverse % P & 1) << 255).to_bytes(32, "little")


BASE = point_of((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


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


def pem_key(data, what):
    """The last 32 bytes of a PEM file: of PKIX the public key, of PKCS #8 the seed."""
    lines = data.decode("ascii", "replace").split()
    der = unbase64("".join(line for line in lines if re.fullmatch(r"[A-Za-z0-9+/=]{8,}", line)))
    if len(der) < 44:
        raise Broken("%s is no key" % what)
    return der[-32:]


# ---------------------------------------------------------------------------------------------------------
# The form of a line: journal.md, A line; The types; Members of several types; Forms and runs; A timetable
#
# A member is NAME:KIND, NAME?:KIND where it is optional. A KIND is a word, [KIND] for a list, or {MEMBERS}.
# RETRY, BEFORE, BEFORES and END stand for the members of several types.
# ---------------------------------------------------------------------------------------------------------

RETRY = "retry?:{key:text hash:text status?:int answer?:text} "
END = "by?:{uid:int user?:text login?:text} personal?:hash"
BEFORE, BEFORES = "before?:int ", "before?:befores "
RUN = "run:{trip:text date:date} "
SENDS = "sends?:[text] "
COMPANY = ("{id:text name:text slug:text ceo?:text partnerCompany?:text logoUrl?:text email?:text website?:text"
           " rules?:text socials?:[text] tier?:text source:text registration?:text address?:text vat?:text"
           " insurer?:text policy?:text zone:text}")
CITY = "{id:text name:text slug:text country:text zone:text names?:[text] area?:bool}"
STOP = ("{id:text place:text platform?:text lat:number lon:number city:int station?:bool parent?:text"
        " fareZone?:text names?:[text]}")
ROUTE = ("{id:text company:int name?:text names?:[text] slug:text description?:text"
         " services?:[{id:text name:text}]}")
BUS = ("{id:text company:int seats:int registration?:text brand?:text model?:text images?:[text]"
       " fmsObject?:text geolocation?:bool}")
FORM = ("{trip:text name?:text phones?:[text] company:" + COMPANY + " route:" + ROUTE + " bus:" + BUS +
        " stops:[{stop:" + STOP + " city:" + CITY + " arr:int dep:int}]"
        " rules?:[{id:text company:int route:int hours:int percent:int}]"
        " discounts?:[{id:text route:int name?:text description?:text percent:int first:int last:int}]}")
ACCESS = "access:{company:{id:text name:text slug:text tier:text} role:text} "
LINK = "link?:{issuer:text subject:hash} "
WHO = "[{partner:id booking:id ticket:id}] "

TYPES = {
    "opened": "after:text torn?:{file:text bytes:int cutFrom:text offset:int} key?:vkey"
              " unsigned?:{from:int lines:int} witnesses?:[text] program?:{version:text revision:text"
              " modified:bool go:text os:text arch:text}",
    "forked": "origin:text key:vkey parent:{origin:text seq:int hash:hash}",
    "repaired": "reason:text forced?:int erased?:object missing?:[int] by?:{uid:int user?:text login?:text}",
    "format.raised": "to:int",
    "booking.created": "booking:id partner:id request:text currency:text forms?:[" + FORM + "] runs?:[{form:text"
                       " date:date start:int offsets:[int]}] legs:[{run:run from:int to:int amount:int"
                       " discount:int}] tickets:[{id:id seats:[int]}] " + RETRY + BEFORE,
    "ticket.asked": "booking:id ticket:id seats?:[int] request:text reason?:text " + RETRY +
                    "action:text key:id " + BEFORE,
    "ticket.refused": "booking:id ticket:id action:text request:text reason?:text " + RETRY +
                      "unknown?:bool " + BEFORE,
    "ticket.paid": "ticket:id booking:id seats?:[int] request:text reason?:text " + RETRY + SENDS + BEFORE,
    "ticket.booked": "ticket:id booking:id seats?:[int] request:text reason?:text " + RETRY + SENDS + BEFORE,
    "tickets.canceled": "booking:id request:text tickets:[{id:id refunded:bool refund:int grace:bool"
                        " terms:[{rule:text percent:int refund:int}] " + SENDS + "}] " + RETRY + BEFORE,
    "tickets.uncompleted": "booking:id at:time tickets:[{id:id}] " + BEFORE,
    "ticket.moved": "ticket:id from:id booking:id new:bool " + BEFORES,
    "ticket.carrier": "booking:id ticket:id status:text event?:bool " + RETRY + BEFORE,
    "request.answered": "partner:id booking:text " + RETRY,
    "run.cancelled": RUN + "reason:text tickets:[{id:id booking:id partner:id refunded:bool refund:int " + SENDS +
                     "}] " + BEFORES,
    "run.moved": RUN + "minutes:int reason:text runs:[{run:run start:int offsets:[int] aligned?:bool}]"
                 " tickets:[{id:id booking:id partner:id " + SENDS + "}] " + BEFORES,
    "run.restored": RUN + "reason:text",
    "manifest.read": RUN + "passengers:int user?:id company?:text",
    "personal.read": "page:text booking?:id run?:{trip:text date:date} people:int",
    "partner.key_added": "partner:id name:text companies:[text] keyHash:hash",
    "partner.revoked": "partner:id keyHashes:[hash]",
    "partner.legacy_used": "partner:id",
    "user.added": "user:id " + ACCESS + LINK,
    "user.access_given": "user:id " + ACCESS + LINK,
    "user.removed": "user:id",
    "session.started": "session:id user:id company:text " + LINK +
                       "access:hash accessUntil:time refresh:hash until:time",
    "session.refreshed": "session:id access:hash accessUntil:time refresh:hash until:time",
    "session.ended": "session:id reason:text",
    "report.ordered": "report:id company:text user:id orderBy:text startDate:time endDate:time",
    "report.completed": "report:id rows:int sha256:hash",
    "report.downloaded": "report:id",
    "geolocation.set": "fmsObject:text isGeolocation:bool user:id",
    "timetable.imported": "sha256:hash feed:text cities:int routes:int trips:int skipped:int",
    "keys.rotated": "",
    "world.forked": "world:text from:text origin:text seq:int hash:hash",
    "clock.set": "real:bool offsetMs:int still?:time began?:time",
    "outbox.sent": "messages:[text] as?:text",
    "outbox.parked": "message:text reason:text",
    "outbox.retried": "messages:[text]",
    "personal.erased": "lines:[int] reason:text passengers?:" + WHO + "reports:[id] tickets?:[id]",
    "passengers.forgotten": "reason:text passengers:" + WHO,
}
PATTERNS = {
    "id": r"[A-Za-z0-9_-]{21}[AQgw]", "run": r"[A-Za-z0-9_-]{16}", "hash": r"[0-9a-f]{64}",
    "date": r"\d{4}-\d\d-\d\d", "time": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z",
    "vkey": r"[^ +]+\+[0-9a-f]{8}\+[A-Za-z0-9+/]+=*",
}
PATTERNS = {kind: re.compile(pattern) for kind, pattern in PATTERNS.items()}
CLASSES = {"text": (str,), "int": (int,), "bool": (bool,), "number": (int, float), "object": (dict,)}


def kind_of(tokens):
    token = tokens.pop(0)
    if token == "[":
        kind = [kind_of(tokens)]
        tokens.pop(0)
        return kind
    if token != "{":
        return token
    members = {}
    while tokens[0] != "}":
        name = tokens.pop(0)[:-1]
        members[name.rstrip("?")] = (name.endswith("?"), kind_of(tokens))
    tokens.pop(0)
    return members


def schema(text):
    return kind_of(re.findall(r"[\w.]+\??:|\w+|[\[\]{}]", text))


SCHEMA = {name: schema("{%s %s}" % (text, "" if name == "repaired" else END)) for name, text in TYPES.items()}


def check_form(value, kind, where, lacks, lenient=False):
    """Raises Newer where the value is not of the kind; adds the members that are missing to lacks."""
    if isinstance(kind, list):
        if value is not None and not isinstance(value, list):
            raise Newer("%s is no list" % where)
        for element in value or []:
            check_form(element, kind[0], where + "[]", lacks)
    elif isinstance(kind, dict):
        if not isinstance(value, dict):
            raise Newer("%s is no object" % where)
        names = [name for name in value if name in kind]
        if len(names) < len(value) and not lenient:
            raise Newer("%s has a member that is not known: %s" % (where, sorted(set(value) - set(kind))[0]))
        if names != [name for name in kind if name in value]:
            raise Newer("the members of %s stand in another order" % where)
        for name, (optional, inner) in kind.items():
            if name in value:
                check_form(value[name], inner, where + "." + name, lacks)
            elif not optional:
                lacks.append(where + "." + name)
    elif kind == "befores":
        if not isinstance(value, dict) or not all(type(number) is int for number in value.values()):
            raise Newer("%s is no object of numbers" % where)
    elif kind in PATTERNS:
        if not isinstance(value, str) or not PATTERNS[kind].fullmatch(value):
            raise Newer("%s is no %s" % (where, kind))
    elif type(value) not in CLASSES[kind]:
        raise Newer("%s is not of the kind %s" % (where, kind))


# ---------------------------------------------------------------------------------------------------------
# Reading the lines: journal.md, A line; Erasures; How it ends
# ---------------------------------------------------------------------------------------------------------

HEAD = re.compile(rb'\{"hash":"([0-9a-f]{64})","seq":(\d+),"synced":(\d+),'
                  rb'"time":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)","type":"([a-z_.]*)","data":')
ERASED = re.compile(rb'\{"erased":"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)"\}')
STRINGS = re.compile(rb'"(?:[^"\\]|\\.)*"')


class Line:
    """One line: seq, synced, time, now (milliseconds), type, data; lacks, its members that are missing."""


def no_constant(name):
    raise ValueError(name)


def no_double(pairs):
    value = dict(pairs)
    if len(value) < len(pairs):
        raise Newer("a member stands twice")
    return value


DECODER = json.JSONDecoder(parse_constant=no_constant, object_pairs_hook=no_double)


def chained_bytes(raw):
    """What the hash of a line is made of; raw has no newline."""
    end = raw.find(b',"personal":{')
    return raw[75:] if end < 0 else raw[75:end]


def hash_follows(raw, before):
    made = hashlib.sha256(before + chained_bytes(raw)).hexdigest().encode()
    return raw[:75] == b'{"hash":"' + made + b'",'


def read_line(raw, before, last):
    """The line that the bytes are, after the line last (or None), with the hash before. Raises Broken where
    it is not good, Newer where a newer version wrote it."""
    if not hash_follows(raw, before):
        raise Broken("its hash does not follow from the line before and from its bytes")
    line, chained = Line(), chained_bytes(raw)
    personal = raw[75 + len(chained):]
    head = HEAD.match(raw)
    try:
        whole = DECODER.decode(raw.decode("utf-8"))
    except UnicodeDecodeError:
        raise Newer("it is not in UTF-8")
    except ValueError:
        raise Broken("it is not one JSON object")
    if not head or not isinstance(whole.get("data"), dict) or list(whole)[6:] not in ([], ["personal"]):
        raise Newer("it does not have the form of a line")
    line.hash, line.leaf = head.group(1), sha256(b"\0" + chained)
    line.seq, line.synced = whole["seq"], whole["synced"]
    line.time, line.type, line.data = whole["time"], whole["type"], whole["data"]
    line.now, line.text, line.lacks, line.erased = milliseconds(line.time), chained, [], None
    if line.seq != (last.seq + 1 if last else 1):
        raise Broken("its seq is %d, and the line before has %d" % (line.seq, last.seq if last else 0))
    if line.synced >= line.seq:
        raise Broken("its synced, %d, is not below its seq" % line.synced)
    if last and line.now < last.now and line.type != "clock.set":
        raise Broken("its time, %s, is before that of the line before, %s" % (line.time, last.time))
    if re.search(rb"\s", STRINGS.sub(b"", raw)):
        raise Newer("it has blanks")
    if line.type not in SCHEMA:
        raise Newer("its type, %s, is not known" % line.type)
    lenient = line.type in ("opened", "forked", "repaired")
    check_form(line.data, SCHEMA[line.type], "data", line.lacks, lenient)
    if line.type == "format.raised" and line.data.get("to", 0) > 2:
        raise Newer("the format is raised to %d" % line.data["to"])
    check_personal(line, personal)
    return line


def check_personal(line, personal):
    named = line.data.get("personal")
    if not personal:
        if named is not None:
            raise Broken("its personal part is not there")
        return
    part = personal[len(b',"personal":'):-1]
    if named is None or list(line.data)[-1] != "personal":
        raise Broken("it has a personal part that its data does not name")
    erased = ERASED.fullmatch(part)
    if erased:
        line.erased = erased.group(1).decode()
    elif sha256(part).hex() != named:
        raise Broken("its personal part is not that whose hash its data has")


class Journal:
    """All good lines of a directory, and how they end."""

    def __init__(self, folder, format_bytes):
        self.lines, self.bad, self.torn, self.newer, self.gap = [], None, False, None, None
        self.files = sorted(os.listdir(os.path.join(folder, "journal")))
        before = hashlib.sha256(format_bytes).hexdigest().encode()
        for index, name in enumerate(self.files):
            expected = len(self.lines) + 1
            if int(name[:12]) != expected:
                self.gap = problem("damaged", "the file begins with line %d by its name, and line %d is missing"
                                   % (int(name[:12]), expected), "journal/" + name, 1, 0, expected)
                return
            data = read_file(os.path.join(folder, "journal", name))
            offset, number = 0, 1
            while offset < len(data):
                end = data.find(b"\n", offset)
                place = ("journal/" + name, number, offset)
                try:
                    if end < 0:
                        raise Broken("it has no end")
                    last = self.lines[-1] if self.lines else None
                    line = read_line(data[offset:end], before, last)
                except Newer as error:
                    self.newer = problem("newer", "line %d (%s) was written by a newer version: %s"
                                         % (len(self.lines) + 1, "journal/" + name, error), *place)
                    return
                except Broken as error:
                    seq = len(self.lines) + 1
                    proof = self.proof(data[offset:], seq, index)
                    self.torn = not proof
                    text = "line %d is not good: %s" % (seq, error)
                    text += "; %s" % proof if proof else "; nothing shows that it ever was on the disk"
                    self.bad = problem("damaged" if proof else "torn", text, *place, seq)
                    return
                line.place = place
                self.lines.append(line)
                before, offset, number = line.hash, end + 1, number + 1

    def proof(self, rest, seq, index):
        """What in the journal shows that the line seq was on the disk, or ''."""
        if index + 1 < len(self.files):
            return "the file %s comes after it" % self.files[index + 1]
        raws = rest.split(b"\n")[:-1]
        for first, second in zip(raws, raws[1:]):
            head = HEAD.match(second)
            if head and hash_follows(second, first[9:73]) and int(head.group(3)) >= seq:
                return "line %s behind it was written when it was on the disk" % head.group(2).decode()
        return ""


def problem(kind, text, file="", line=0, byte=0, seq=0):
    return {"kind": kind, "file": file, "line": line, "byte": byte, "seq": seq, "text": text}


def gone_parts(lines):
    """The lines whose personal part is gone and that no later line names: journal.md, Erasures."""
    named = {}
    for line in lines:
        if line.type == "personal.erased":
            for seq in line.data.get("lines") or []:
                named.setdefault(seq, set()).add((line.time, line.seq))
        if line.type == "repaired":
            for seq, time in (line.data.get("erased") or {}).items():
                named.setdefault(int(seq), set()).add((time, line.seq))
    return [line for line in lines if line.erased
            and not any(nanoseconds(time) == nanoseconds(line.erased) and by > line.seq
                        for time, by in named.get(line.seq, ()))]


# ---------------------------------------------------------------------------------------------------------
# The tree: journal.md, The tree (RFC 6962)
# ---------------------------------------------------------------------------------------------------------

class Tree:
    def __init__(self, leaves):
        self.levels = [leaves]  # level k has the roots of whole 2**k leaves
        while len(self.levels[-1]) > 1:
            below = self.levels[-1]
            self.levels.append([sha256(b"\1" + below[i] + below[i + 1]) for i in range(0, len(below) - 1, 2)])

    def root(self, size):
        parts, start = [], 0
        for level in reversed(range(len(self.levels))):
            if size - start >= 1 << level:
                parts.append(self.levels[level][start >> level])
                start += 1 << level
        result = parts.pop() if parts else sha256(b"")
        while parts:
            result = sha256(b"\1" + parts.pop() + result)
        return result


def check_tree_files(folder, tree, covered):
    """The first hash in tree/ that is not right, as (file, offset), of those that a note covers."""
    for name in sorted(os.listdir(os.path.join(folder, "tree"))) if os.path.isdir(folder + "/tree") else []:
        if not re.fullmatch(r"\d\d", name):
            continue
        level, data = int(name), read_file(os.path.join(folder, "tree", name)) or b""
        right = tree.levels[level] if level < len(tree.levels) else []
        for number in range(min(len(data) // 32, covered >> level)):
            if data[32 * number:32 * number + 32] != right[number]:
                return "tree/" + name, 32 * number, number << level
    return None


def consistent(old_size, old_root, new_size, new_root, proof):
    """Whether the tree of new_size leaves extends that of old_size: RFC 9162, 2.1.4.2."""
    if old_size == new_size:
        return old_root == new_root and not proof
    if not 0 < old_size < new_size:
        return False
    if old_size & (old_size - 1) == 0:
        proof = [old_root] + proof
    node, last = old_size - 1, new_size - 1
    while node & 1:
        node, last = node >> 1, last >> 1
    if not proof:
        return False
    old = new = proof[0]
    for part in proof[1:]:
        if last == 0:
            return False
        if node & 1 or node == last:
            old, new = sha256(b"\1" + part + old), sha256(b"\1" + part + new)
            while node and not node & 1:
                node, last = node >> 1, last >> 1
        else:
            new = sha256(b"\1" + new + part)
        node, last = node >> 1, last >> 1
    return last == 0 and old == old_root and new == new_root


# ---------------------------------------------------------------------------------------------------------
# Notes: journal.md, Notes
# ---------------------------------------------------------------------------------------------------------

def key_id(name, kind, key):
    return sha256(name.encode() + b"\n" + bytes([kind]) + key)[:4]


def verifier_key(text, kind):
    """(name, id, key) of NAME+ID+BASE64."""
    parts = text.strip().split("+", 2)
    data = unbase64(parts[2]) if len(parts) == 3 else b""
    if len(data) != 33 or data[0] != kind or key_id(parts[0], kind, data[1:]).hex() != parts[1]:
        raise Broken("%s is no verifier key of type %d" % (text.strip()[:120], kind))
    return parts[0], key_id(parts[0], kind, data[1:]), data[1:]


def verifier_text(name, key):
    return "%s+%s+%s" % (name, key_id(name, 1, key).hex(), base64.b64encode(b"\1" + key).decode())


class Note:
    def __init__(self, data, file):
        self.data, self.file = data, file
        body, empty, signed = data.partition(b"\n\n")
        self.text = body + b"\n"
        try:
            rows = body.decode("utf-8").split("\n")
            signers = signed.decode("utf-8").split("\n")
        except UnicodeDecodeError:
            raise Broken("it is not in UTF-8")
        if len(rows) != 4 or not empty or len(data) > 8192 or signers.pop() or not 1 <= len(signers) <= 17:
            raise Broken("it does not have the form of a note")
        if not re.fullmatch(r"[1-9]\d*", rows[1]) or not rows[0]:
            raise Broken("it names no journal or no line")
        self.origin, self.lines = rows[0], int(rows[1])
        last = re.fullmatch(r"hash ([0-9a-f]{64}) time (\S+)", rows[3])
        if last:
            self.root, self.hash, self.time = unbase64(rows[2]), last.group(1), last.group(2)
        else:  # of an earlier version
            self.root, self.hash, self.time = None, rows[2], rows[3]
        if not PATTERNS["hash"].fullmatch(self.hash) or not PATTERNS["time"].fullmatch(self.time):
            raise Broken("it has no hash or no time")
        self.signatures = []
        for signer in signers:
            parts = re.fullmatch("\u2014 ([^ +]+) ([A-Za-z0-9+/]+=*)", signer)
            value = unbase64(parts.group(2)) if parts else b""
            if len(value) < 5:
                raise Broken("it has a line that is no signature")
            self.signatures.append((parts.group(1), value[:4], value[4:]))

    def of(self, name, identity):
        return [value for signer, key, value in self.signatures if (signer, key) == (name, identity)]

    def signed_by(self, name, key):
        """None: not by this key. Else whether each signature that counts for it is good."""
        found = self.of(name, key_id(name, 1, key))
        return all(is_signed(key, value, self.text) for value in found) if found else None

    def cosigned_by(self, name, identity, key):
        """The Unix second at which the witness signed it, or None. Raises Broken if the signature is bad."""
        when = None
        for value in self.of(name, identity):
            second = int.from_bytes(value[:8], "big")
            message = b"cosignature/v1\ntime %d\n" % second + self.text
            if len(value) != 72 or not is_signed(key, value[8:], message):
                raise Broken("the signature of the witness %s is bad" % name)
            when = max(second, when or 0)
        return when


def notes_of(data, file, part_at_end=False):
    """All notes of a file. A note ends before an empty line that comes after its signatures."""
    notes, rows, start, position, empty = [], data.split(b"\n"), 0, 0, 0
    for row in rows[:-1]:
        position += len(row) + 1
        if row:
            continue
        empty += 1
        if empty == 2:
            notes.append(Note(data[start:position - 1], file))
            start, empty = position, 0
    rest = data[start:]
    if rest and not part_at_end:
        notes.append(Note(rest, file))
    return notes


# ---------------------------------------------------------------------------------------------------------
# THE RULES. Timetables, forms and prices: journal.md, A timetable, Forms and runs; rules.md, Prices
# ---------------------------------------------------------------------------------------------------------

def percent(amount, share):
    return (amount * share + 5000) // 10000


class Form:
    """Everything that a ticket on a trip shows and refunds by."""

    def __init__(self, row):
        self.row, self.trip, self.stops = row, row["trip"], row["stops"]
        self.seats, self.company = row["bus"]["seats"], row["company"]
        self.rules, self.discounts = row.get("rules") or [], row.get("discounts") or []
        self.calls, seen = [], {}  # each call as (stop, how often it was called at before)
        for stop in self.stops:
            name = stop["stop"]["id"]
            self.calls.append((name, seen.get(name, 0)))
            seen[name] = seen.get(name, 0) + 1
        self.place = {call: position for position, call in enumerate(self.calls)}


class Timetable:
    def __init__(self, data):
        self.rows, self.forms = {}, {}
        for text in data.decode("utf-8").split("\n")[:-1]:
            for name, row in json.loads(text).items():
                self.rows.setdefault(name, []).append(row)
        self.trips = {trip["id"]: trip for trip in self.table("Trips")}
        self.fares = self.by_what_they_name("Fares")
        self.withheld = self.by_what_they_name("Withheld")

    def table(self, name):
        return self.rows.get(name, [])

    def by_what_they_name(self, table):
        index = {}
        for row in self.table(table):
            names = (row["company"], row["route"], row.get("from", ""), row.get("to", ""))
            index.setdefault(names, []).append(row)
        return index

    def runs_on(self, trip, day):
        if trip not in self.trips:
            return False
        service = self.table("Services")[self.trips[trip]["service"]]
        bit, bits = day - service["first"], service["bits"] or []
        return 0 <= bit < 64 * len(bits) and bits[bit // 64] >> bit % 64 & 1 == 1

    def pattern(self, trip):
        return self.table("Patterns")[self.trips[trip]["pattern"]]

    def route(self, trip):
        return self.table("Routes")[self.pattern(trip)["route"]]

    def stops(self, trip):
        return [self.table("Stops")[number] for number in self.pattern(trip)["stops"]]

    def form(self, name):
        """The form that the timetable gives a trip, or None."""
        if name in self.trips and name not in self.forms:
            self.forms[name] = Form(self.make_form(self.trips[name]))
        return self.forms.get(name)

    def make_form(self, trip):
        pattern, route = self.pattern(trip["id"]), dict(self.route(trip["id"]))
        number, company = pattern["route"], route["company"]
        times, shift = self.table("Times")[trip["times"]], trip.get("shift", 0)
        stops = []
        for i, stop in enumerate(self.stops(trip["id"])):
            city = dict(self.table("Cities")[stop["city"]])
            stop = dict(stop, city=0)
            for row in (stop, city):
                row.pop("names", None)
            city.pop("area", None)
            stops.append({"stop": stop, "city": city, "arr": times[2 * i] + shift,
                          "dep": times[2 * i + 1] + shift})
        route.pop("names", None)
        route["company"] = 0
        if not route.get("name"):
            route["name"] = stops[0]["city"]["name"] + " \u2013 " + stops[-1]["city"]["name"]
        bus = {"id": "", "company": 0, "seats": 49}
        if trip["bus"] >= 0:
            bus = dict(self.table("Buses")[trip["bus"]], company=0)
        rules = [rule for rule in self.table("RefundRules") if rule["route"] == number]
        rules = rules or [rule for rule in self.table("RefundRules")
                          if rule["route"] == -1 and rule["company"] == company]
        rules = sorted(rules, key=lambda rule: -rule["hours"])
        form = {"trip": trip["id"], "company": self.table("Companies")[company], "route": route, "bus": bus,
                "stops": stops, "rules": [dict(rule, company=0, route=0) for rule in rules],
                "discounts": [dict(row, route=0) for row in self.table("Discounts") if row["route"] == number]}
        form.update({name: trip[name] for name in ("name", "phones") if trip.get(name)})
        return {name: value for name, value in form.items() if value != []}

    def day_starts(self, trip, day):
        """Noon in the zone of the trip's company, less 12 hours; None without a list of time zones."""
        zone = self.table("Companies")[self.route(trip)["company"]]["zone"]
        try:
            noon = datetime.utcfromtimestamp(day * 86400 + 43200).replace(tzinfo=ZoneInfo(zone))
            return int(noon.timestamp()) - 43200
        except Exception:
            return None

    def prices(self, trip, start, end):
        """By currency, what a ride costs one passenger without a discount."""
        stops = self.stops(trip)[start:end + 1]
        zones = (stops[0].get("fareZone", ""), stops[-1].get("fareZone", ""))
        number = self.pattern(trip)["route"]
        ride = (self.route(trip)["company"], number) + zones
        best, least, withheld = {}, {}, False
        for mask in range(15, -1, -1):
            names = tuple(ride[i] if mask >> i & 1 else (-1, -1, "", "")[i] for i in range(4))
            count = sum(1 for name in names if name not in (-1, ""))
            if count < bin(mask).count("1"):
                continue  # the stop has no zone: the same names come again with another mask
            for row in self.withheld.get(names, []):
                withheld = True
                currency = row.get("currency", "")
                least[currency] = max(least.get(currency, 0), count)
            for row in self.fares.get(names, []):
                offer = (-count, row["amount"])
                best[row["currency"]] = min(best.get(row["currency"], offer), offer)
        prices = {currency: amount for currency, (count, amount) in best.items()
                  if -count >= max(least.get(currency, 0), least.get("", 0))}
        if not prices and not withheld and self.table("FarePerKm"):
            row = self.table("FarePerKm")[0]
            price = math.floor(kilometres(stops) * row["micros"] / 10000 + 0.5)
            prices = {row["currency"]: price} if price else {}
        return prices

    def discount(self, trip, day):
        """The position of the discount in force among those of the trip's form, or -1; and its percent."""
        best, share = -1, 0
        for position, row in enumerate(self.form(trip).discounts):
            if row["first"] <= day <= row["last"] and (best < 0 or row["percent"] > share):
                best, share = position, row["percent"]
        return best, share


def kilometres(stops):
    total = 0.0
    for one, two in zip(stops, stops[1:]):
        lat1, lat2 = math.radians(one["lat"]), math.radians(two["lat"])
        across = math.radians(two["lon"]) - math.radians(one["lon"])
        h = math.sin((lat2 - lat1) / 2) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin(across / 2) ** 2
        total += 2 * 6371 * math.asin(math.sqrt(min(1, h)))
    return total


# ---------------------------------------------------------------------------------------------------------
# Rides: rules.md, Seats
# ---------------------------------------------------------------------------------------------------------

def ride_in(start, end, form, other):
    """The ride from start to end in a form, as a ride in another form."""
    if form.calls == other.calls:
        return start, end
    start = next((other.place[call] for call in reversed(form.calls[:start + 1]) if call in other.place), 0)
    end = next((other.place[call] for call in form.calls[end:] if call in other.place), len(other.calls) - 1)
    if start > end:
        start, end = end, start
    if start == end:
        start = min(start, len(other.calls) - 2)
        end = start + 1
    return start, end


def overlap_in(form, ride, other):
    """Whether two rides, each (form, start, end), overlap in a form."""
    a, b = ride_in(ride[1], ride[2], ride[0], form), ride_in(other[1], other[2], other[0], form)
    return a[0] < b[1] and b[0] < a[1]


# ---------------------------------------------------------------------------------------------------------
# What is remembered, and each line against it: rules.md
# ---------------------------------------------------------------------------------------------------------

PHASES = {"pay": ("Unpaid", "Uncompleted", "Booked"), "book": ("Unpaid", "Uncompleted"),
          "cancel": ("Unpaid", "Uncompleted", "Booked", "Paid")}
LIVING = ("Unpaid", "Booked", "Paid")


class Ticket:
    def __init__(self, id, booking, created, legs, currency):
        self.id, self.booking, self.created, self.legs, self.currency = id, booking, created, legs, currency
        self.phase, self.before, self.pending, self.carrier = "Unpaid", None, None, None
        self.noted, self.late, self.refund = False, 0, 0

    def at(self, now):
        """Its phase at an instant: time makes Uncompleted of Unpaid."""
        if self.phase == "Unpaid" and not self.pending and now >= self.created + WINDOW:
            return "Uncompleted"
        return self.phase

    def lives(self, now):
        return self.at(now) in LIVING

    def price(self):
        return sum(leg.amount for leg in self.legs)

    def source(self):
        return self.legs[0].run.form.company["source"]

    def departure(self):
        return self.legs[0].departure()


class Leg:
    def __init__(self, run, start, end, seat, amount):
        self.run, self.start, self.end, self.seat, self.amount = run, start, end, seat, amount

    def departure(self):
        return 1000 * (self.run.start + self.run.form.stops[self.start]["dep"])

    def arrival(self):
        return 1000 * (self.run.start + self.run.form.stops[self.end]["arr"])

    def ride(self):
        return self.run.form, self.start, self.end


class Booking:
    def __init__(self, id, partner, number):
        self.id, self.partner, self.number, self.tickets = id, partner, number, []


class Run:
    def __init__(self, form_id, form, day, start, offsets):
        self.form_id, self.form, self.day, self.start, self.offsets = form_id, form, day, start, offsets
        self.name = (form.trip, day)
        packed = form_id.encode() + b"\0" + struct.pack(">iq", day, start)
        packed += b"".join(struct.pack(">i", offset) for offset in offsets)
        self.id = base64.urlsafe_b64encode(sha256(packed)[:12]).decode()


class Books:
    def __init__(self, timetable_of):
        self.timetable_of = timetable_of  # the function that reads a timetable of an import
        self.partners, self.bookings, self.tickets, self.forms, self.runs = {}, {}, {}, {}, {}
        self.reports, self.last, self.imports = set(), {}, []
        self.on, self.sold, self.latest = {}, {}, {}  # by a run's name: tickets; whether sold; its last run
        self.cancelled, self.shift = {}, {}  # by a run's name: tickets cancelled with it; seconds
        self.format, self.made, self.answers, self.unjudged, self.not_applied = 1, 0, 0, 0, False
        self.problems, self.seq, self.now = [], 0, 0

    def read(self, line):
        self.faults, self.seq, self.now, self.line = [], line.seq, line.now, line
        method = getattr(self, "on_" + re.sub(r"\W", "_", line.type), None)
        try:
            if line.lacks:
                raise NotThere("it lacks the member %s" % line.lacks[0])
            if method:
                method(line.data)
        except NotThere as error:
            self.faults, self.not_applied = [str(error)], True
        if self.faults:
            text = "%s: %s" % (line.type, "; ".join(self.faults))
            self.problems.append(problem("books", text, *line.place, line.seq))

    def expect(self, holds, text, *values):
        if not holds:
            self.faults.append(text % values)

    # What is there

    def there(self, known, id, what):
        if id not in known:
            raise NotThere("there is no %s %s" % (what, id))
        return known[id]

    def ticket(self, booking, id):
        ticket = self.there(self.bookings, booking, "booking") and self.there(self.tickets, id, "ticket")
        if ticket.booking.id != booking:
            raise NotThere("the ticket %s is not in the booking %s" % (id, booking))
        return ticket

    def check_before(self, data, bookings, several=False):
        """journal.md, Members of several types."""
        expected = {booking: self.last.get(booking, 0) for booking in bookings}
        expected = expected if several else expected[bookings[0]]
        if "before" in data or self.format >= 2:
            stands = data.get("before")
            self.expect(stands == expected, "before is %s, and the line before is %s", stands, expected)
        for booking in bookings:
            self.last[booking] = self.seq

    # Sales: rules.md, Sales; Prices; Seats

    def on_booking_created(self, data):
        forms, runs = self.new_forms(data), {}
        for row in data.get("runs") or []:
            run = self.run_of(row, forms)
            if run.id in self.runs or run.id in runs:
                raise NotThere("the run %s is there already" % run.id)
            runs[run.id] = run
        partner = self.there(self.partners, data["partner"], "partner")
        legs, tickets = data["legs"] or [], data["tickets"] or []
        if data["booking"] in self.bookings:
            raise NotThere("the booking %s is there already" % data["booking"])
        if len(legs) not in (1, 2) or not tickets:
            raise NotThere("it has %d legs and %d tickets" % (len(legs), len(tickets)))
        ids = [ticket["id"] for ticket in tickets]
        if len(set(ids)) < len(ids) or any(id in self.tickets for id in ids):
            raise NotThere("a ticket is there already")
        for leg in legs:
            if leg["run"] not in runs:
                self.there(self.runs, leg["run"], "run")
        if any(len(ticket["seats"] or []) != len(legs) for ticket in tickets):
            raise NotThere("a ticket has not a seat for each leg")
        self.forms.update(forms)
        self.runs.update(runs)
        self.latest.update({run.name: run for run in runs.values()})
        whole = [Leg(self.runs[leg["run"]], leg["from"], leg["to"], 0, leg["amount"]) for leg in legs]
        self.check_before(data, [data["booking"]])
        if all(0 <= leg.start < leg.end < len(leg.run.form.stops) for leg in whole):
            self.check_sale(data, partner, whole)
        else:
            self.expect(False, "a leg is no ride from one stop of its form to a later one")
        booking = self.make_booking(data["booking"], data["partner"])
        for row in tickets:
            own = [Leg(leg.run, leg.start, leg.end, seat, leg.amount) for leg, seat in zip(whole, row["seats"])]
            ticket = Ticket(row["id"], booking, self.now, own, data["currency"])
            self.tickets[ticket.id] = ticket
            booking.tickets.append(ticket)
            for name in {leg.run.name for leg in own}:
                self.on.setdefault(name, []).append(ticket)
        for run in list(runs.values()) + [leg.run for leg in whole]:
            self.sold[run.name] = True
        self.answers += "answer" in data.get("retry", {})

    def new_forms(self, data):
        forms, text = {}, self.line.text.decode("utf-8")
        if data.get("forms"):
            position = text.index(',"forms":[') + len(',"forms":[')
        for row in data.get("forms") or []:
            end = json.JSONDecoder().raw_decode(text, position)[1]
            id = base64.urlsafe_b64encode(sha256(text[position:end].encode())[:12]).decode()
            if id in self.forms or id in forms:
                raise NotThere("the form %s is there already" % id)
            forms[id], position = Form(row), end + 1
        return forms

    def run_of(self, row, forms):
        form = forms.get(row["form"]) or self.there(self.forms, row["form"], "form")
        if len(row["offsets"] or []) != len(form.stops):
            raise NotThere("a run has another number of offsets than stops")
        return Run(row["form"], form, day_number(row["date"]), row["start"], row["offsets"])

    def make_booking(self, id, partner):
        self.made += 1
        self.bookings[id] = Booking(id, partner, self.made)
        return self.bookings[id]

    def check_sale(self, data, partner, legs):
        first = legs[0].departure()
        self.expect(first > self.now, "the first leg left before the line was written")
        for leg in legs:
            slug = leg.run.form.company["slug"]
            self.expect(not partner or slug in partner, "the partner does not sell the company %s", slug)
            self.expect(leg.run.name not in self.cancelled, "the run %s on day %d is cancelled", *leg.run.name)
        self.check_seats_sold(data["tickets"], legs)
        if not self.imports:
            self.expect(False, "there is no timetable in force")
            return
        timetable = self.timetable_of(self.imports[-1], self.seq)
        if timetable is None:
            self.unjudged += 1
            return
        if not all(timetable.runs_on(*leg.run.name) and leg.end < len(timetable.stops(leg.run.form.trip))
                   for leg in legs):
            self.expect(False, "a leg is no ride of the timetable in force")
            return
        for leg, row in zip(legs, data["legs"]):
            self.check_leg(timetable, leg, row["discount"])
        self.check_price(data["currency"], legs)

    def check_seats_sold(self, tickets, legs):
        for position, leg in enumerate(legs):
            free, loads = self.room(leg.ride(), leg.run.name, leg.run.form)
            seats = [ticket["seats"][position] for ticket in tickets]
            for seat in seats:
                self.expect(seat in free, "seat %d of leg %d is not free", seat, position + 1)
            self.expect(len(set(seats)) == len(seats), "two tickets have one seat on leg %d", position + 1)
            self.expect(max(loads) + len(seats) <= leg.run.form.seats and len(free) >= len(seats),
                        "the bus of leg %d has not so many seats left", position + 1)

    def room(self, ride, name, present, without=None):
        """The seats that are free for a ride on a run, and how many living tickets are on each of its parts,
        in the present form of the run."""
        start, end = ride_in(ride[1], ride[2], ride[0], present)
        free, loads = set(range(1, present.seats + 1)), [0] * (end - start)
        for ticket in self.on.get(name, []):
            if ticket is without or not ticket.lives(self.now):
                continue
            for leg in ticket.legs:
                if leg.run.name != name:
                    continue
                if any(overlap_in(form, ride, leg.ride()) for form in (present, leg.run.form, ride[0])):
                    free.discard(leg.seat)
                theirs = ride_in(leg.start, leg.end, leg.run.form, present)
                for part in range(max(start, theirs[0]), min(end, theirs[1])):
                    loads[part - start] += 1
        return free, loads

    def check_leg(self, timetable, leg, discount):
        run, trip = leg.run, leg.run.form.trip
        if self.format >= 2:
            self.expect(run.form.row == timetable.form(trip).row,
                        "the form of the run is not that which the timetable in force gives the trip %s", trip)
        starts = timetable.day_starts(trip, run.day)
        away = run.start - self.shift.get(run.name, 0) - starts if starts is not None else 0
        self.expect(abs(away) <= 3 * 3600, "the run starts %d s away from its service day", away)
        right = timetable.discount(trip, self.local_day(leg))[0]
        self.expect(discount == right, "the discount is %d, and %d is in force", discount, right)

    def local_day(self, leg):
        return (leg.departure() // 1000 + leg.run.offsets[leg.start]) // 86400

    def check_price(self, currency, legs):
        """The price is of the timetable in force, or of one that was replaced less than 20 minutes before."""
        amounts, replaced = [leg.amount for leg in legs], None
        for entry in reversed(self.imports):
            if replaced is not None and self.now - replaced >= WINDOW:
                break
            timetable, replaced = self.timetable_of(entry, self.seq), entry.now
            right = timetable and [self.amount(timetable, currency, leg) for leg in legs]
            if entry is self.imports[-1]:
                in_force = right
            if right == amounts:
                return
        self.expect(False, "the legs cost %s %s, and by the timetable in force %s", amounts, currency, in_force)

    def amount(self, timetable, currency, leg):
        trip = leg.run.form.trip
        if trip not in timetable.trips or leg.end >= len(timetable.stops(trip)):
            return None
        price = timetable.prices(trip, leg.start, leg.end).get(currency)
        share = timetable.discount(trip, self.local_day(leg))[1]
        return None if price is None else price - percent(price, share)

    # Acts: rules.md, Acts

    def on_ticket_asked(self, data):
        ticket = self.ticket(data["booking"], data["ticket"])
        self.check_seats_given(ticket, data)
        self.expect(not ticket.pending, "the provider is asked already: %s", ticket.pending)
        self.check_act(ticket, data["action"], data)
        self.check_before(data, [data["booking"]])
        ticket.pending = data["action"]
        self.give_seats(ticket, data)

    def on_ticket_refused(self, data):
        ticket = self.ticket(data["booking"], data["ticket"])
        self.expect(ticket.pending == data["action"], "%s is refused, and the provider was asked for %s",
                    data["action"], ticket.pending)
        self.check_before(data, [data["booking"]])
        ticket.pending = None

    def on_ticket_paid(self, data):
        self.settle(data, "pay", "Paid")

    def on_ticket_booked(self, data):
        self.settle(data, "book", "Booked")

    def settle(self, data, act, phase):
        ticket = self.ticket(data["booking"], data["ticket"])
        self.check_seats_given(ticket, data)
        self.expect(ticket.pending in (None, act), "the provider was asked for %s", ticket.pending)
        allowed = self.check_act(ticket, act, data)
        self.check_before(data, [data["booking"]])
        ticket.phase, ticket.pending, ticket.carrier = phase if allowed else "Unpaid", None, None
        self.give_seats(ticket, data)

    def check_seats_given(self, ticket, data):
        if data.get("seats") is not None and len(data["seats"]) != len(ticket.legs):
            raise NotThere("it has %d seats, and the ticket %d legs" % (len(data["seats"]), len(ticket.legs)))

    def check_act(self, ticket, act, data):
        phase, legs = ticket.at(self.now), ticket.legs
        allowed = phase in PHASES.get(act, ())
        self.expect(allowed, "%s is not allowed: ticket %s is %s", act, ticket.id, phase)
        lapsed = phase == "Uncompleted"
        self.expect(lapsed == bool(data.get("seats")), "ticket %s is %s, and the line gives it %s", ticket.id,
                    phase, "seats" if data.get("seats") else "no seats")
        if not ticket.pending and len(legs) == 2:
            self.expect(legs[1].departure() >= legs[0].arrival(), "the second leg leaves before the first arrives")
        if lapsed and data.get("seats"):
            for leg, seat in zip(legs, data["seats"]):
                self.expect(self.is_free_again(ticket, leg, seat), "seat %d is not free for ticket %s", seat,
                            ticket.id)
        return allowed

    def is_free_again(self, ticket, leg, seat):
        name = leg.run.name
        timetable = self.imports and self.timetable_of(self.imports[-1], self.seq)
        if not timetable or name in self.cancelled or not timetable.runs_on(*name):
            return False
        present = timetable.form(name[0])
        free, loads = self.room(leg.ride(), name, present, without=ticket)
        return seat in free and max(loads) < present.seats

    def give_seats(self, ticket, data):
        for leg, seat in zip(ticket.legs, data.get("seats") or []):
            leg.seat = seat

    def on_tickets_canceled(self, data):
        rows = data["tickets"] or []
        tickets = [self.ticket(data["booking"], row["id"]) for row in rows]
        self.expect(len(set(tickets)) == len(tickets), "a ticket is named twice")
        for ticket, row in zip(tickets, rows):
            self.expect(not ticket.pending, "the provider is asked about ticket %s", ticket.id)
            phase = ticket.at(self.now)
            self.expect(phase in PHASES["cancel"], "ticket %s is %s", ticket.id, phase)
            right = self.refund(ticket)
            stands = (row["refunded"], row["refund"], row["grace"], row["terms"] or [])
            self.expect(stands == right, "ticket %s: refunded, refund, grace, terms are %s, and follow as %s",
                        ticket.id, stands, right)
        self.there(self.bookings, data["booking"], "booking")
        self.check_before(data, [data["booking"]])
        for ticket, row in zip(tickets, rows):
            self.cancel(ticket, row)

    def refund(self, ticket):
        """rules.md, Refunds: (refunded, refund, grace, terms)."""
        if ticket.phase != "Paid" or ticket.source() != "Service":
            return False, 0, False, []
        if self.now - ticket.created < WINDOW:
            return True, ticket.price(), True, []
        ahead, terms = ticket.departure() + ticket.late - self.now, []
        for leg in ticket.legs:
            term = {"rule": "", "percent": 0, "refund": 0}
            for rule in leg.run.form.rules:
                if ahead >= rule["hours"] * 60 * MINUTE:
                    term = {"rule": rule["id"], "percent": rule["percent"],
                            "refund": percent(leg.amount, rule["percent"])}
                    break
            terms.append(term)
        return True, sum(term["refund"] for term in terms), False, terms

    def cancel(self, ticket, row):
        if ticket.phase not in ("Canceled", "Refunded"):
            ticket.before = ticket.phase
        ticket.phase, ticket.refund = "Refunded" if row["refunded"] else "Canceled", row["refund"]

    def on_tickets_uncompleted(self, data):
        self.there(self.bookings, data["booking"], "booking")
        tickets = [self.ticket(data["booking"], row["id"]) for row in data["tickets"] or []]
        over = nanoseconds(data["at"])
        for ticket in tickets:
            self.expect(ticket.phase == "Unpaid", "ticket %s is %s", ticket.id, ticket.phase)
            self.expect(not ticket.noted, "ticket %s was named before", ticket.id)
            self.expect(over == (ticket.created + WINDOW) * 10**6, "the window of ticket %s is not over at %s",
                        ticket.id, data["at"])
            ticket.noted = True
        self.expect(over <= self.now * 10**6, "%s is after the line", data["at"])
        self.check_before(data, [data["booking"]])

    def on_ticket_carrier(self, data):
        ticket = self.ticket(data["booking"], data["ticket"])
        self.expect(ticket.lives(self.now), "ticket %s is %s", ticket.id, ticket.at(self.now))
        self.check_before(data, [data["booking"]])
        ticket.carrier = data["status"]

    def on_ticket_moved(self, data):
        ticket = self.ticket(data["from"], data["ticket"])
        source = ticket.booking
        if data["new"] and data["booking"] in self.bookings:
            raise NotThere("the booking %s is there already" % data["booking"])
        if not data["new"]:
            self.there(self.bookings, data["booking"], "booking")
        self.expect(not ticket.pending, "the provider is asked about ticket %s", ticket.id)
        self.expect(data["from"] != data["booking"], "it is moved to its own booking")
        self.check_before(data, [data["from"], data["booking"]], several=True)
        target = self.bookings.get(data["booking"]) or self.make_booking(data["booking"], source.partner)
        self.expect(target.partner == source.partner, "the booking is of another partner")
        source.tickets.remove(ticket)
        if not source.tickets and source is not target:
            del self.bookings[source.id]
        target.tickets.append(ticket)
        ticket.booking = target

    # Runs: rules.md, Runs

    def run_name(self, data):
        return data["run"]["trip"], day_number(data["run"]["date"])

    def tickets_of(self, name):
        return sorted(self.on.get(name, []),
                      key=lambda ticket: (ticket.booking.number, ticket.booking.tickets.index(ticket)))

    def on_run_cancelled(self, data):
        name, rows = self.run_name(data), data["tickets"] or []
        named = [self.ticket(row["booking"], row["id"]) for row in rows]
        right = []
        for ticket in self.tickets_of(name):
            if ticket.lives(self.now) and not ticket.pending:
                paid = ticket.phase == "Paid"
                right.append((ticket.id, ticket.booking.id, ticket.booking.partner, paid,
                              ticket.price() if paid else 0))
        stands = [(row["id"], row["booking"], row["partner"], row["refunded"], row["refund"]) for row in rows]
        self.expect(stands == right, "its tickets (id, booking, partner, refunded, refund) are %s, and follow as %s",
                    stands, right)
        self.check_before(data, list(dict.fromkeys(row["booking"] for row in rows)), several=True)
        for ticket, row in zip(named, rows):
            self.cancel(ticket, row)
        self.cancelled[name] = self.cancelled.get(name, 0) + len(rows)

    def on_run_moved(self, data):
        name, rows = self.run_name(data), data["tickets"] or []
        for row in rows:
            self.ticket(row["booking"], row["id"])
        by, moved = data["minutes"] * 60 - self.shift.get(name, 0), {}
        self.expect(-720 <= data["minutes"] <= 720, "it is moved by %d minutes", data["minutes"])
        for row in data["runs"] or []:
            run = self.there(self.runs, row["run"], "run")
            if len(row["offsets"] or []) != len(run.form.stops):
                raise NotThere("the run %s has another number of offsets than stops" % run.id)
            moved[run.id] = Run(run.form_id, run.form, run.day, row["start"], row["offsets"])
            self.expect(run.name == name, "the run %s has another name", run.id)
            away = row["start"] - run.start
            self.expect(abs(away) <= 2 * 86400 if row.get("aligned") else away == by,
                        "the run %s starts %d s later, and is moved by %d", run.id, away, by)
            self.expect(all(abs(offset) <= 14 * 3600 for offset in row["offsets"]), "an offset is above 14 hours")
        tickets = self.tickets_of(name)
        on = {leg.run.id for ticket in tickets for leg in ticket.legs if leg.run.name == name}
        self.expect(on <= set(moved), "tickets are on the runs %s, which it does not replace", on - set(moved))
        stands = [(row["id"], row["booking"], row["partner"]) for row in rows]
        right = [(ticket.id, ticket.booking.id, ticket.booking.partner)
                 for ticket in tickets if ticket.lives(self.now)]
        self.expect(stands == right, "its tickets (id, booking, partner) are %s, and follow as %s", stands, right)
        self.check_before(data, list(dict.fromkeys(ticket.booking.id for ticket in tickets)), several=True)
        self.shift[name] = data["minutes"] * 60
        for run in moved.values():
            self.runs[run.id] = self.latest[run.name] = run
        for ticket in tickets:
            self.put_on(ticket, moved)

    def put_on(self, ticket, moved):
        latest = ticket.departure() + ticket.late
        for leg in ticket.legs:
            leg.run = moved.get(leg.run.id, leg.run)
        ticket.late = max(0, latest - ticket.departure())

    def on_run_restored(self, data):
        name = self.run_name(data)
        if name in self.cancelled:
            self.expect(not self.cancelled[name], "%d tickets were cancelled with it", self.cancelled[name])
            del self.cancelled[name]
            return
        self.expect(self.shift.get(name), "it was neither cancelled nor moved")
        self.expect(not self.on.get(name), "tickets are on it")
        self.shift.pop(name, None)

    def on_manifest_read(self, data):
        right = sum(ticket.phase in ("Paid", "Booked") for ticket in self.on.get(self.run_name(data), []))
        self.expect(data["passengers"] == right, "%d passengers are read, and it has %d", data["passengers"], right)

    # Lines that name what must be there

    def on_format_raised(self, data):
        if data["to"] <= self.format:
            raise NotThere("the format is raised to %d, and is %d" % (data["to"], self.format))
        self.format = data["to"]

    def on_timetable_imported(self, data):
        self.line.format = self.format
        self.imports.append(self.line)

    def on_partner_key_added(self, data):
        self.partners.setdefault(data["partner"], data["companies"] or [])

    def on_partner_revoked(self, data):
        self.there(self.partners, data["partner"], "partner")

    on_partner_legacy_used = on_partner_revoked

    def on_report_ordered(self, data):
        self.reports.add(data["report"])

    def on_report_completed(self, data):
        self.there(dict.fromkeys(self.reports, True), data["report"], "report")

    on_report_downloaded = on_report_completed

    def on_personal_erased(self, data):
        for row in data.get("passengers") or []:
            self.ticket(row["booking"], row["ticket"])

    on_passengers_forgotten = on_personal_erased

    # The books: rules.md, The books

    def present(self, name, timetable):
        if timetable and timetable.runs_on(*name):
            return timetable.form(name[0])
        return self.latest[name].form

    def figures(self, timetable):
        now, status, money = self.now, {}, {}
        names = {"Unpaid": "Processing", "Booked": "Confirmed", "Paid": "Confirmed", "Refunded": "Refund"}
        for ticket in self.tickets.values():
            phase = ticket.at(now)
            shown = ticket.carrier if phase in LIVING and ticket.carrier else names.get(phase, phase)
            status[shown] = status.get(shown, 0) + 1
            sums = money.setdefault(ticket.currency, {"paid": 0, "refunded": 0})
            if "Paid" in (ticket.phase, ticket.before if phase in ("Canceled", "Refunded") else None):
                sums["paid"] += ticket.price()
            if phase == "Refunded":
                sums["refunded"] += ticket.refund
        books = {"bookings": len(self.bookings), "tickets": len(self.tickets),
                 "status": dict(sorted(status.items())), "runs": len(self.sold),
                 "seats": 0, "sold": 0, "held": 0, "free": 0, "money": dict(sorted(money.items())),
                 "cancelled": len(self.cancelled),
                 "moved": sum(bool(shift) and name not in self.cancelled for name, shift in self.shift.items()),
                 "left": 0, "over": 0, "shared": 0, "unjudged": self.unjudged, "answers": self.answers}
        left = set()
        for name in self.sold:
            living = [ticket for ticket in self.on.get(name, []) if ticket.lives(now)]
            legs = [(ticket, leg) for ticket in living for leg in ticket.legs if leg.run.name == name]
            held = {leg.seat for ticket, leg in legs}
            sold = {leg.seat for ticket, leg in legs if ticket.phase != "Unpaid"}
            form = self.present(name, timetable)
            books["seats"] += form.seats
            books["sold"] += len(sold)
            books["held"] += len(held) - len(sold)
            books["free"] += max(0, form.seats - len(held))
            if name in self.cancelled:
                left.update(ticket.id for ticket in living if not ticket.pending)
            legs = [leg for ticket, leg in legs
                    if 1000 * (leg.run.start + leg.run.form.stops[-1]["arr"]) > now]
            rides = [ride_in(leg.start, leg.end, leg.run.form, form) for leg in legs]
            books["over"] += any(sum(start <= part < end for start, end in rides) > form.seats
                                 for part in range(len(form.stops) - 1))
            books["shared"] += sum(one.seat == two.seat and overlap_in(form, one.ride(), two.ride())
                                   for i, one in enumerate(legs) for two in legs[:i])
        books["left"] = len(left)
        return books

    def check_sums(self):
        """What follows from the rules, and where it does not is a problem of the last line."""
        for ticket in self.tickets.values():
            paid = ticket.price() if "Paid" in (ticket.phase, ticket.before) else 0
            self.expect(0 <= ticket.refund <= paid, "ticket %s was paid %d, and gets back %d", ticket.id, paid,
                        ticket.refund)
            self.expect(ticket in ticket.booking.tickets, "ticket %s is not in its booking", ticket.id)
        for name, tickets in self.on.items():
            seats = {}
            for ticket in tickets:
                if ticket.lives(self.now):
                    for leg in ticket.legs:
                        if leg.run.name == name:
                            seats.setdefault(leg.seat, []).append(leg)
            for seat, legs in seats.items():
                for i, one in enumerate(legs):
                    for two in legs[:i]:
                        self.expect(not any(overlap_in(leg.run.form, one.ride(), two.ride()) for leg in (one, two)),
                                    "two tickets have seat %d of %s on one stretch", seat, name)


# ---------------------------------------------------------------------------------------------------------
# A directory: journal.md, Files; rules.md, The verdict, Remarks
# ---------------------------------------------------------------------------------------------------------

VERDICTS = ("failed", "newer", "damaged", "forked", "books", "torn", "unsigned", "unwitnessed", "sound")
NO_BOOKS = {"bookings": 0, "tickets": 0, "status": {}, "runs": 0, "seats": 0, "sold": 0, "held": 0, "free": 0,
            "money": {}, "cancelled": 0, "moved": 0, "left": 0, "over": 0, "shared": 0, "unjudged": 0, "answers": 0}
# The order in which damage is looked for, of which the first is told.
ORDER_OF_DAMAGE = ("file", "format", "note", "checkpoint", "pub", "lost", "end", "gap", "key", "name", "gone",
                   "tree", "snapshot", "timetable")


class Audit:
    def __init__(self, folder, given):
        self.folder, self.given = folder, given
        self.problems, self.remarks, self.damage, self.timetables = [], [], [], {}
        self.result = {"verdict": "failed", "origin": "", "key": "", "lines": 0, "files": 0, "snapshots": 0,
                       "checkpoints": 0, "witnesses": [], "problems": self.problems, "remarks": self.remarks,
                       "books": dict(NO_BOOKS)}
        try:
            self.run()
        except Failed as error:
            self.problems.append(problem("failed", str(error)))
        if self.damage:
            first = min(self.damage, key=lambda item: ORDER_OF_DAMAGE.index(item[0]))
            self.problems.append(first[1])
        self.problems.sort(key=lambda item: VERDICTS.index(item["kind"]))
        self.remarks.sort(key=lambda item: item["seq"])
        self.result["verdict"] = self.problems[0]["kind"] if self.problems else "sound"

    def file(self, name):
        return read_file(os.path.join(self.folder, name))

    def list(self, name):
        path = os.path.join(self.folder, name)
        return sorted(os.listdir(path)) if os.path.isdir(path) else []

    def damaged(self, what, text, *place):
        self.damage.append((what, problem("damaged", text, *place)))

    def remark(self, kind, seq, text):
        self.remarks.append({"kind": kind, "seq": seq, "text": text})

    def run(self):
        if not os.path.isdir(self.folder):
            raise Failed("%s is no directory" % self.folder)
        files = self.list("journal")
        self.result["files"] = len(files)
        self.result["snapshots"] = len([name for name in self.list("snapshots") if name.endswith(".jsonl")])
        for name in files:
            if not re.fullmatch(r"\d{12}\.jsonl", name) or self.file("journal/" + name) is None:
                self.damaged("file", "journal/%s is no file of a journal" % name, "journal/" + name)
        text = self.file("FORMAT")
        form = re.fullmatch(rb"waybill-journal v(\d+) ([A-Za-z0-9]+)\n", text or b"")
        if form and form.group(1) != b"1":
            self.problems.append(problem("newer", "FORMAT says format %s" % form.group(1).decode(), "FORMAT"))
            return
        if not form:
            self.damaged("format", "FORMAT is missing" if text is None else "FORMAT has another form", "FORMAT")
        self.origin = "waybill/" + form.group(2).decode() if form else ""
        self.result["origin"] = self.origin
        if self.damage:
            return
        self.journal = Journal(self.folder, text)
        self.lines = self.journal.lines
        self.result["lines"] = len(self.lines)
        self.tree = Tree([line.leaf for line in self.lines])
        self.read_names()
        self.read_notes()
        self.judge_end()
        self.judge_notes()
        if not self.fork and self.is_whole():
            wrong = check_tree_files(self.folder, self.tree, self.newest)
            if wrong:
                self.damaged("tree", "%s: the hash at %d is not that of the lines" % wrong[:2], wrong[0], 0, wrong[1])
        if self.is_whole():
            self.check_books()
        self.tell_remarks()
        self.check_witnesses()

    def is_whole(self):
        return not (self.journal.newer or self.journal.gap or self.journal.bad and not self.journal.torn)

    # Names and keys

    def read_names(self):
        """The names that the directory had, with their keys; None where no line says the key."""
        self.names, self.taken, name = {self.origin: None}, {}, self.origin
        for line in self.lines:
            text = line.data.get("key") if line.type in ("opened", "forked") else None
            if line.type == "forked" and not line.lacks:
                if line.data["origin"] in self.names:
                    self.damaged("name", "line %d gives the name %s again" % (line.seq, line.data["origin"]),
                                 *line.place, line.seq)
                self.taken[name], name = line, line.data["origin"]
                self.names.setdefault(name, None)
            if text:
                try:
                    key = verifier_key(text, 1)[2]
                except Broken as error:
                    self.damaged("key", "line %d: %s" % (line.seq, error), *line.place, line.seq)
                    continue
                if self.names[name] not in (None, key):
                    self.damaged("key", "line %d says another key of %s than a line before" % (line.seq, name),
                                 *line.place, line.seq)
                self.names[name] = self.names[name] or key
        self.origin = self.result["origin"] = name

    def key_of(self, name):
        """The key of a name: what a line says, else that of -key or of the file."""
        return self.names[name] or (self.given.key if name == self.origin else None) or self.pub.get(name)

    # Notes

    def read_notes(self):
        self.notes, self.pub, self.witnesses = [], {}, {}
        try:
            for name in self.names:
                suffix = "" if name == self.origin else "-" + name.partition("/")[2]
                data = self.file("checkpoint%s.pub" % suffix)
                if data is not None:
                    self.pub[name] = pem_key(data, "checkpoint%s.pub" % suffix)
            for text in (self.file("checkpoint.witnesses") or b"").decode("utf-8").split("\n"):
                if text.strip():
                    self.add_witness(text)
        except Broken as error:
            self.damaged("pub", str(error))
        for text in self.given.witness_keys:
            self.add_witness(text)
        for name in self.list("."):
            if name in ("checkpoint", "checkpoints.log", "checkpoint.witnessed") or \
                    re.fullmatch(r"checkpoints-\w+\.log", name):
                self.read_note_file(name)
        self.check_checkpoint()
        self.result["key"] = verifier_text(self.origin, self.key_of(self.origin)) if self.key_of(self.origin) else ""

    def add_witness(self, text):
        name, identity, key = verifier_key(text, 4)
        self.witnesses[text.strip()] = (name, identity, key)

    def read_note_file(self, name):
        data = self.file(name) or b""
        cut = name == "checkpoints.log" and b"\n\n" in data
        if cut and not data.endswith(b"\n\n"):
            newest = self.file("checkpoint")
            if newest is None or newest in data:
                data = data[:data.rindex(b"\n\n") + 2]
        try:
            notes = notes_of(data, name)
            self.notes += notes
            if name.endswith(".log"):
                self.result["checkpoints"] += len(notes)
        except Broken as error:
            self.damaged("note", "%s has a note that is none: %s" % (name, error), name)

    def check_checkpoint(self):
        newest, log, pub = self.file("checkpoint"), self.file("checkpoints.log"), self.pub.get(self.origin)
        if newest is not None:
            if log is None:
                self.damaged("checkpoint", "checkpoints.log is missing", "checkpoints.log")
            elif newest not in log:
                self.damaged("checkpoint", "checkpoint is not in checkpoints.log", "checkpoint")
            if pub is None:
                self.damaged("checkpoint", "checkpoint.pub is missing", "checkpoint.pub")
        if pub and self.names[self.origin] not in (None, pub):
            self.damaged("pub", "checkpoint.pub is not the key that the journal says", "checkpoint.pub")
        secret = self.file("checkpoint.key")
        if pub and secret is not None:
            try:
                if public_key(pem_key(secret, "checkpoint.key")) != pub:
                    self.damaged("pub", "checkpoint.pub is not that of checkpoint.key", "checkpoint.pub")
            except Broken as error:
                self.damaged("pub", str(error), "checkpoint.key")

    def why_not(self, note):
        """Why a note does not fit, '' where it does, None where that cannot be seen. Raises Broken where a
        signature is bad."""
        if note.origin not in self.names:
            return "another journal: the note is of %s" % note.origin
        key = self.key_of(note.origin)
        if self.given.key and note.file is None and note.origin == self.origin:
            key = self.given.key
        signed = note.signed_by(note.origin, key) if key else True
        if signed is None:
            return "another journal: the note is signed by another key than that of %s" % note.origin
        if not signed:
            raise Broken("the signature of %s is bad" % note.origin)
        for witness in self.witnesses.values():
            note.cosigned_by(*witness)
        if note.lines > len(self.lines):
            beyond = note.file is None or note.origin != self.origin
            if not self.is_whole():
                return None
            return "two histories: the note is of line %d, beyond the last" % note.lines if beyond else None
        same = self.lines[note.lines - 1].hash.decode() == note.hash
        if same and note.root in (None, self.tree.root(note.lines)):
            return ""
        return "two histories: this journal and the note of line %d are both signed by %s" % (
            note.lines, verifier_text(note.origin, key) if key else note.origin)

    def judge_notes(self):
        self.fitting, self.fork = [], False
        for notes in (self.notes, self.given.notes):
            wrong = []
            for note in notes:
                try:
                    why = self.why_not(note)
                except Broken as error:
                    if note.file:
                        self.damaged("note", "%s: line %d: %s" % (note.file, note.lines, error), note.file)
                        continue
                    why = "another journal: %s" % error
                if why == "":
                    self.fitting.append(note)
                elif why:
                    wrong.append(why)
            if wrong:
                self.fork = True
                text = wrong[0] + ("; and %d more notes do not fit" % (len(wrong) - 1) if len(wrong) > 1 else "")
                self.problems.append(problem("forked", text))
        self.newest = max([note.lines for note in self.fitting], default=0)
        if self.lines and not self.notes and not self.given.notes:
            self.problems.append(problem("unsigned", "there are %d lines, and no note" % len(self.lines)))

    # The end

    def judge_end(self):
        """How the journal ends: journal.md, How it ends."""
        journal, seq = self.journal, len(self.lines) + 1
        beyond = max([note.lines for note in self.notes if note.origin == self.origin], default=0)
        shown = "a note of line %d shows that it was on the disk" % beyond if beyond >= seq else self.snapshot_of(seq)
        if not self.lines and self.list("keys") and not journal.bad and not journal.newer:
            self.damaged("lost", "there are keys, and no line of the journal", "journal")
        if journal.newer:
            self.problems.append(journal.newer)
        elif journal.gap:
            self.damage.append(("gap", journal.gap))
        elif journal.bad:
            if journal.torn and shown:
                journal.torn = False
                journal.bad.update(kind="damaged", text=journal.bad["text"].partition("; nothing shows")[0] + "; " + shown)
            if journal.torn:
                self.problems.append(journal.bad)
            else:
                self.damage.append(("end", journal.bad))
        elif shown:
            self.damaged("end", "lines from %d on are missing: %s" % (seq, shown), "journal", 0, 0, seq)
        for line in gone_parts(self.lines) if self.is_whole() else []:
            self.damaged("gone", "the personal part of line %d is gone, and no line says that it was erased" % line.seq,
                         *line.place, line.seq)

    def snapshot_of(self, seq):
        """A whole snapshot of a line from seq on, in words, or ''."""
        for name in self.list("snapshots"):
            data = self.file("snapshots/" + name) or b""
            if not re.fullmatch(r"\d{12}\.jsonl", name) or int(name[:12]) < seq or not data.endswith(b"\n"):
                continue
            last = data.rindex(b"\n", 0, len(data) - 1) + 1 if b"\n" in data[:-1] else 0
            if data[last:] == b'{"sha256":"%s"}\n' % sha256(data[:last]).hex().encode():
                return "snapshots/%s shows that it was on the disk" % name
        return ""

    # The books

    def timetable_of(self, line, seq):
        """The timetable of an import; None, and damage where that is damage, where it is not there."""
        name = line.data["sha256"]
        if name not in self.timetables:
            file = "timetables/%s.jsonl" % name
            data = self.file(file)
            self.timetables[name] = Timetable(data) if data is not None and sha256(data).hex() == name else None
        if self.timetables[name] is None and (line.format >= 2 or line is self.last_import):
            self.damaged("timetable", "timetables/%s.jsonl, which line %d names, is missing or was changed"
                         % (name, line.seq), "timetables/%s.jsonl" % name, 0, 0, line.seq)
        return self.timetables[name]

    def check_books(self):
        imports = [line for line in self.lines if line.type == "timetable.imported" and not line.lacks]
        self.last_import = imports[-1] if imports else None
        books = Books(self.timetable_of)
        for line in self.lines:
            books.read(line)
        last = self.timetable_of(self.last_import, 0) if imports else None
        if not books.problems and self.lines:
            books.faults = []
            books.check_sums()
            if books.faults:
                line = self.lines[-1]
                books.problems = [problem("books", "; ".join(books.faults), *line.place, line.seq)]
        self.problems += books.problems[:100]
        if len(books.problems) > 100:
            self.problems.append(problem("books", "and %d more lines break a rule" % (len(books.problems) - 100)))
        if self.lines and not books.not_applied and not self.damage:
            self.result["books"] = books.figures(last)
        if books.unjudged:
            self.remark("unjudged", 0, "%d bookings are not judged: their timetables are missing" % books.unjudged)

    # Remarks and witnesses

    def tell_remarks(self):
        asked, origins = None, {note.origin for note in self.notes}
        gone, clocks = [], []
        for line in self.lines:
            if line.type == "repaired":
                self.remark("repaired", line.seq, "line %d: the journal was cut before it: %s"
                            % (line.seq, line.data.get("reason")))
            if line.type == "forked":
                self.remark("forked", line.seq, "line %d: this is a copy, and is named %s from here on"
                            % (line.seq, line.data.get("origin")))
            if line.type == "opened" and "unsigned" in line.data:
                gone.append(line)
            if line.type == "opened" and "witnesses" in line.data:
                if asked is not None and line.data["witnesses"] != asked:
                    self.remark("witness", line.seq, "line %d: other witnesses are asked: %s"
                                % (line.seq, line.data["witnesses"]))
                asked = line.data["witnesses"]
            if line.type == "clock.set":
                clocks.append(line)
        for name, line in self.taken.items():
            if name not in origins:
                self.remark("forked", line.seq, "line %d took away the name %s, of which no note is here"
                            % (line.seq, name))
        if gone:
            self.remark("unsigned", gone[0].seq, "%d starts took over lines that no note had, the first of them "
                        "line %d, the last line %d" % (len(gone), gone[0].seq, gone[-1].seq))
        if clocks:
            self.remark("clock", clocks[0].seq, "a test clock was set %d times, first by line %d, last by line %d"
                        % (len(clocks), clocks[0].seq, clocks[-1].seq))
        if self.fitting and self.newest < len(self.lines):
            self.remark("unsigned", self.newest + 1, "the lines from %d on have no note yet" % (self.newest + 1))
        newest = [note.lines for note in self.notes if note.file == "checkpoint"]
        logged = max([note.lines for note in self.notes if note.file == "checkpoints.log"], default=0)
        if newest and newest[0] < logged:
            self.remark("unsigned", newest[0], "checkpoint is of line %d, and checkpoints.log goes to line %d"
                        % (newest[0], logged))

    def check_witnesses(self):
        for text, witness in self.witnesses.items():
            lines, when = 0, 0
            for note in self.fitting:
                second = note.cosigned_by(*witness)
                if second is not None and (note.lines, second) > (lines, when):
                    lines, when = note.lines, second
            stamp = datetime.utcfromtimestamp(when).strftime("%Y-%m-%dT%H:%M:%SZ") if lines else ""
            self.result["witnesses"].append({"name": witness[0], "lines": lines, "time": stamp})
            late = lines < len(self.lines) and self.lines[-1].now - self.lines[lines].now > self.given.within
            if text in self.given.witness_keys and self.lines and (lines == 0 or late):
                what = "has signed nothing" if lines == 0 else "has not signed line %d of %s" % (
                    lines + 1, self.lines[lines].time)
                self.problems.append(problem("unwitnessed", "the witness %s %s" % (witness[0], what)))


# ---------------------------------------------------------------------------------------------------------
# An audit pack: two notes, and the proof between them
# ---------------------------------------------------------------------------------------------------------

def audit_pack(read, given):
    """read gives the bytes of a file of the pack, or None."""
    problems, keys, notes = [], {}, []
    for text in (read("keys.txt") or b"").decode("utf-8").split("\n"):
        if "+" in text:
            kind = unbase64(text.strip().split("+", 2)[2])[0]
            name, identity, key = verifier_key(text, kind)
            keys[name, kind] = (identity, key)
    for file in ("note-before.txt", "note-after.txt"):
        data = read(file)
        if data is not None:
            note = Note(data, file)
            notes.append(note)
            key = given.key or keys.get((note.origin, 1), (None, None))[1]
            if not key or not note.signed_by(note.origin, key):
                problems.append(problem("forked", "%s is not signed by the key of %s" % (file, note.origin), file))
            for (name, kind), (identity, key) in keys.items():
                if kind == 4:
                    note.cosigned_by(name, identity, key)
    if len(notes) == 2:
        proof = [unbase64(row) for row in (read("consistency.txt") or b"").decode().split()]
        if not consistent(notes[0].lines, notes[0].root, notes[1].lines, notes[1].root, proof):
            problems.append(problem("forked", "consistency.txt does not prove that line %d extends line %d"
                                    % (notes[1].lines, notes[0].lines), "consistency.txt"))
    return {"verdict": "forked" if problems else "sound", "origin": notes[-1].origin if notes else "",
            "lines": notes[-1].lines if notes else 0, "checkpoints": len(notes), "problems": problems}


def open_pack(path):
    """The function that reads a pack's files, or None where the path is none."""
    if os.path.isdir(path):
        if os.path.isdir(os.path.join(path, "journal")) or not os.path.exists(os.path.join(path, "consistency.txt")):
            return None
        return lambda name: read_file(os.path.join(path, name))
    if not zipfile.is_zipfile(path):
        return None
    pack = zipfile.ZipFile(path)
    names = {name.rpartition("/")[2]: name for name in pack.namelist()}
    return lambda name: pack.read(names[name]) if name in names else None


# ---------------------------------------------------------------------------------------------------------
# The command line
# ---------------------------------------------------------------------------------------------------------

class Given:
    def __init__(self):
        self.notes, self.key, self.witness_keys, self.within, self.json, self.folders = [], None, [], 5 * MINUTE, False, []


def duration(text):
    units = {"ms": 1, "s": 1000, "m": MINUTE, "h": 60 * MINUTE}
    if not re.fullmatch(r"(\d+(\.\d+)?(ms|s|m|h))+", text):
        raise ValueError(text)
    return sum(float(number) * units[unit] for number, _, unit in re.findall(r"(\d+(\.\d+)?)(ms|s|m|h)", text))


def command_line(arguments):
    given, arguments = Given(), list(arguments)
    while arguments:
        word = arguments.pop(0)
        if word == "-json":
            given.json = True
        elif word in ("-against", "-key", "-witness-key", "-witnessed-within"):
            value = arguments.pop(0)
            if word == "-witness-key":
                verifier_key(value, 4)
                given.witness_keys.append(value)
            elif word == "-witnessed-within":
                given.within = duration(value)
            else:
                data = read_file(value)
                if data is None:
                    raise Failed("%s cannot be read" % value)
                if word == "-key":
                    given.key = pem_key(data, value)
                else:
                    given.notes += notes_of(data, None)
        elif word.startswith("-"):
            raise ValueError(word)
        else:
            given.folders.append(word)
    if not given.folders:
        raise ValueError("no directory")
    return given


def tell(folder, result):
    print("%s: %s" % (folder, result["verdict"]))
    for item in result["problems"]:
        place = " ".join("%s %s" % (name, item[name]) for name in ("seq", "file", "line", "byte") if item[name])
        print("  %s: %s%s" % (item["kind"], item["text"], " (%s)" % place if place else ""))
    for item in result.get("remarks", []):
        print("  remark, %s: %s" % (item["kind"], item["text"]))
    print("  %s, %d lines, %d notes" % (result["origin"], result["lines"], result["checkpoints"]))
    for name, figure in result.get("books", {}).items():
        print("  %-10s %s" % (name, json.dumps(figure, ensure_ascii=False)))
    if "books" in result:
        print("  not checked: %d snapshots; %d hashes of answers" % (result["snapshots"], result["books"]["answers"]))


def main(arguments):
    try:
        given = command_line(arguments)
    except (ValueError, IndexError) as error:
        print("audit.py: the command line is wrong: %s\n\n%s" % (error, __doc__), file=sys.stderr)
        return 2
    except (Failed, Broken) as error:
        print("audit.py: failed: %s" % error, file=sys.stderr)
        return 1
    worst = 0
    for folder in given.folders:
        read = open_pack(folder)
        try:
            result = audit_pack(read, given) if read else Audit(folder, given).result
        except Broken as error:
            result = {"verdict": "damaged", "origin": "", "lines": 0, "checkpoints": 0,
                      "problems": [problem("damaged", str(error))]}
        if given.json:
            print(json.dumps(result, indent=2, ensure_ascii=False))
        else:
            tell(folder, result)
        kinds = {item["kind"] for item in result["problems"]}
        code = 3 if kinds == {"torn"} else 1 if kinds else 0
        worst = max(worst, code, key=(0, 3, 1).index)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
