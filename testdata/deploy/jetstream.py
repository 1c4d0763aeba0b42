"""A stream of NATS JetStream, by the protocol of NATS over a socket, as keep-nats.py needs it.

After an OSError a Stream is of no use any more: what was asked is then asked anew, by another one.
"""
import base64, json, os, socket, ssl

EXPECTED, WRITER, LAST = "Nats-Expected-Last-Sequence", "Waybill-Writer", "Waybill-Last"
MARK, MORE = "Waybill-Mark", "Waybill-More"  # a mark of fence; a part that another follows
AT_A_TIME = 32  # messages under way
WAIT = 2  # seconds for whatever a server has to say
NO_MESSAGE, EXISTS = 10037, 10058  # the errors that say something of the stream; no other one does

class Refused(Exception):
    """Another machine has gone on, or the engine does not know who is asking."""

class Stream:
    """A stream, by a connection to one server. NATS_USER and NATS_PASSWORD, or NATS_TOKEN, sign in there.
    With NATS_CA, a file of certificates to trust, all but the server's greeting is in TLS."""

    def __init__(self, server, name):
        host, port = server.rsplit(":", 1)
        host = host.strip("[]")
        self.name = name
        self.inbox = "_INBOX." + os.urandom(8).hex()
        self.got = b""  # from the server, and not looked at
        self.socket = socket.create_connection((host, port), WAIT)
        info = json.loads(self.take()[len("INFO "):])
        self.max_payload = info["max_payload"]
        trust = os.environ.get("NATS_CA")
        if trust or info.get("tls_required"):
            context = ssl.create_default_context(cafile=trust)
            self.socket = context.wrap_socket(self.socket, server_hostname=host)
        me = {"verbose": False, "headers": True, "no_responders": True, "lang": "python", "version": "1"}
        for key, secret in ("user", "NATS_USER"), ("pass", "NATS_PASSWORD"), ("auth_token", "NATS_TOKEN"):
            me[key] = os.environ.get(secret, "")
        hello = "CONNECT %s\r\nSUB %s.* 1\r\nPING\r\n" % (json.dumps(me), self.inbox)
        self.socket.sendall(hello.encode())
        while self.hear()[1] != "PONG":  # until then its subscription may be unknown
            pass

    def take(self, size=0):
        """Returns so many bytes, or a line where it is not said how many."""
        while len(self.got) < size or not size and b"\r\n" not in self.got:
            more = self.socket.recv(1 << 18)
            if not more:
                raise OSError("the server has closed the connection")
            self.got += more
        size = size or self.got.index(b"\r\n") + 2
        text, self.got = self.got[:size], self.got[size:]
        return text

    def send(self, number, text, headers, subject=None):
        """Sends a message, to the stream unless it is to somebody else. Its answer has the number."""
        head = "NATS/1.0\r\n" + "".join("%s: %s\r\n" % header for header in headers.items()) + "\r\n"
        sizes = len(head), len(head) + len(text)
        line = "HPUB %s %s.%d %d %d\r\n" % (subject or self.name, self.inbox, number, *sizes)
        self.socket.sendall((line + head).encode() + text + b"\r\n")

    def hear(self):
        """Returns an answer and its number; None and the word where something else has come."""
        line = self.take()
        word, *rest = line.split()
        if word == b"-ERR":
            raise (Refused if b"Authorization" in line else OSError)(line.decode().strip())
        if word == b"PING":
            self.socket.sendall(b"PONG\r\n")
        if word not in (b"MSG", b"HMSG"):
            return None, word.decode()
        text = self.take(int(rest[-1]) + 2)
        if word == b"HMSG":
            raise OSError("nobody answers: " + text.decode().strip())
        said = json.loads(text)
        if "error" in said and said["error"].get("err_code") not in (NO_MESSAGE, EXISTS):
            raise OSError(said["error"].get("description"))
        return int(rest[0].rsplit(b".", 1)[1]), said

    def ask(self, what, *requests):
        """Makes requests of JetStream, all at a time, and returns their answers in order."""
        for number, request in enumerate(requests):
            self.send(number, json.dumps(request).encode(), {}, "$JS.API.%s.%s" % (what, self.name))
        answers = {}
        while len(answers) < len(requests):
            number, said = self.hear()
            if number is not None:
                answers[number] = said
        return [answers[number] for number in range(len(requests))]

class Message:
    """A message of the stream. Its place is 0 if there is none."""

    def __init__(self, stored):
        head = base64.b64decode(stored.get("hdrs", "")).decode().split("\r\n")
        head = dict(header.split(": ", 1) for header in head if ": " in header)
        self.place, self.text = stored["seq"], base64.b64decode(stored.get("data", ""))
        self.writer, self.number = head.get(WRITER, "nobody 0").split()
        self.last = head.get(LAST, "0 -")  # SEQ HASH of the last whole line up to here
        self.mark, self.more = MARK in head, MORE in head
        self.counts = self.mark or WRITER in head and head.get(EXPECTED) == str(self.place - 1)

def create(stream):
    """Makes the stream, unless it is there."""
    stream.ask("STREAM.CREATE", {
        "name": stream.name, "subjects": [stream.name], "num_replicas": 3, "storage": "file",
        "retention": "limits", "discard": "new", "deny_delete": True, "deny_purge": True})

def get(stream, *which):
    return [Message(said.get("message", {"seq": 0})) for said in stream.ask("STREAM.MSG.GET", *which)]

def end(stream):
    """Returns the last message of all."""
    return get(stream, {"last_by_subj": stream.name})[0]

def counted(stream, message, mark=False):
    """Returns the message, or the nearest before it that counts. A mark is one only if it is asked for."""
    while message.place and not (message.counts and (mark or not message.mark)):
        message = get(stream, {"seq": message.place - 1})[0] if message.place > 1 else Message({"seq": 0})
    return message

def fence(stream):
    """Appends a mark."""
    stream.send(0, b"", {MARK: "fence"})
    place = None
    while place is None:
        place, said = stream.hear()
    print("fenced at message", said["seq"])

def lines(stream, have, until):
    """Yields the lines of the messages up to a place, but for messages whose lines are all before one."""
    low, high = 1, until
    while low < high:
        middle = (low + high) // 2
        behind = int(counted(stream, *get(stream, {"seq": middle})).last.split()[0]) < have
        low, high = (middle + 1, high) if behind else (low, middle)
    while low > 1 and counted(stream, *get(stream, {"seq": low - 1})).more:
        low -= 1  # to the first part
    held, writer = b"", ""
    for first in range(low, until + 1, AT_A_TIME):
        for message in get(stream, *({"seq": n} for n in range(first, min(first + AT_A_TIME, until + 1)))):
            if not message.place:
                raise Refused("a message between %d and %d is gone" % (first, first + AT_A_TIME))
            if message.mark or not message.counts:
                continue
            held = (held if message.writer == writer else b"") + message.text
            writer = message.writer
            if not message.more:
                yield held
                held = b""
