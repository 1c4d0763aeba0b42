"""A stream of NATS JetStream, by the protocol of NATS over a socket, as keep-nats.py needs it. After an
OSError a Stream is of no use any more: what was asked is then asked anew, by another one."""
import base64, itertools, json, os, socket, ssl

EXPECTED, WRITER, LAST = "Nats-Expected-Last-Sequence", "Waybill-Writer", "Waybill-Last"
MARK, MORE = "Waybill-Mark", "Waybill-More"  # a mark of fence; a part that another follows
AT_A_TIME, WAIT = 16, 2  # messages under way; seconds for whatever a server has to say
NO_MESSAGE, EXISTS = 10037, 10058  # there is none, or it could not be read; the stream is there already

class Refused(Exception):
    """Another machine has gone on, or the engine does not know who is asking."""

class Stream:
    """A stream, by a connection to one server. NATS_USER and NATS_PASSWORD, or NATS_TOKEN, sign in there.
    With NATS_CA, a file of certificates to trust, all but the server's greeting is in TLS."""

    def __init__(self, server, name):
        host, port = server.rsplit(":", 1)
        self.name, self.inbox, self.got = name, "_INBOX." + os.urandom(8).hex(), b""
        # Questions have numbers below zero, messages their places.
        self.numbers = itertools.count(-1, -1)
        self.socket = socket.create_connection((host, port), WAIT)
        info, trust = json.loads(self.take()[len("INFO "):]), os.environ.get("NATS_CA")
        self.max_payload = info["max_payload"]
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

    def take(self, size=0):  # so many bytes, or a line
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
        text = self.take(int(rest[-1]) + 2)  # a status where nobody is there to answer, else JSON
        said = json.loads(text) if word == b"MSG" else {"error": {"description": text[:12].decode()}}
        if "error" in said and said["error"].get("err_code") not in (NO_MESSAGE, EXISTS):
            raise OSError(said["error"].get("description"))
        return int(rest[0].rsplit(b".", 1)[1]), said

    def ask(self, what, *requests):
        """Makes requests of JetStream, all at a time, and returns their answers in order."""
        numbers = [next(self.numbers) for _ in requests]
        for number, request in zip(numbers, requests):
            self.send(number, json.dumps(request).encode(), {}, "$JS.API.%s.%s" % (what, self.name))
        return self.answers(numbers)

    def answers(self, numbers):
        # Other numbers are those of earlier questions: an engine may answer twice.
        answers = {}
        while len(answers) < len(numbers):
            number, said = self.hear()
            if number in numbers:
                answers[number] = said
        return [answers[number] for number in numbers]

class Message:
    """A message of the stream. Its place is 0 if there is none."""
    counts = False  # checked finds out

    def __init__(self, stored):
        head = base64.b64decode(stored.get("hdrs", "")).decode().split("\r\n")
        head = dict(header.split(": ", 1) for header in head if ": " in header)
        self.place, self.text = stored["seq"], base64.b64decode(stored.get("data", ""))
        self.writer, self.number, self.behind = map(int, head.get(WRITER, "0 0 1").split())
        self.expected, self.last = head.get(EXPECTED), head.get(LAST, "0 -")  # SEQ HASH of its last line
        self.mark, self.more = MARK in head, MORE in head

    def follows(self, before):
        """Reports whether it counts: in its place, and if others were under way, behind one that counts."""
        mine = before.writer == self.writer and before.number + 1 == self.number and before.counts
        return self.mark or self.expected == str(self.place - 1) and (mine or not self.behind)

def create(stream):
    """Makes the stream, unless it is there. Returns the place of its last message."""
    form = {"name": stream.name, "subjects": [stream.name], "num_replicas": 3, "storage": "file"}
    form.update(retention="limits", discard="new", deny_delete=True, deny_purge=True)
    stream.ask("STREAM.CREATE", form)
    return end(stream)

def fence(stream, name):
    stream.send(0, b"", {MARK: name, "Nats-Msg-Id": name})  # another try is the same mark
    print("fenced at message", stream.answers([0])[0]["seq"])

def end(stream):
    """Returns the place of the last message of all. There is none only where none is counted either."""
    said = stream.ask("STREAM.MSG.GET", {"last_by_subj": stream.name})[0]
    if "message" in said:
        return said["message"]["seq"]
    if stream.ask("STREAM.INFO", {})[0]["state"]["last_seq"]:
        raise OSError("the last message could not be read")
    return 0

def checked(stream, first, until):
    """Yields messages, and finds out which count. Of the first AT_A_TIME it may not know."""
    before = Message({"seq": 0})
    for begin in range(first, until + 1, AT_A_TIME):
        which = [{"seq": n} for n in range(begin, min(begin + AT_A_TIME, until + 1))]
        for said in stream.ask("STREAM.MSG.GET", *which):
            if "message" not in said:
                raise OSError("the message after %d could not be read" % before.place)
            message = Message(said["message"])
            message.counts = message.follows(before)
            before = message
            yield message

def counted(stream, place, mark=False):
    """Returns the last message up to a place that counts. A mark is one only if it is asked for."""
    for until in range(place, 0, -AT_A_TIME):
        for message in reversed(list(checked(stream, max(1, until - 2 * AT_A_TIME), until))):
            if message.counts and (mark or not message.mark):
                return message
    return Message({"seq": 0})

def lines(stream, have, until):
    """Yields the lines of the messages up to a place, but for most of those whose lines are all there."""
    low, high = 1, until
    while low < high:
        middle = (low + high) // 2
        behind = int(counted(stream, middle).last.split()[0]) < have
        low, high = (middle + 1, high) if behind else (low, middle)
    while low > 1 and counted(stream, low - 1).more:
        low -= 1  # to the first part
    held, writer = b"", ""
    for message in checked(stream, max(1, low - AT_A_TIME), until):
        if message.counts and not message.mark:
            held = (held if message.writer == writer else b"") + message.text
            writer = message.writer
            if not message.more:
                yield held
                held = b""
