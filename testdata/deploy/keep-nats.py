#!/usr/bin/env python3
"""Keeps a journal's lines in a stream of NATS JetStream. It is made, with three replicas, if there is none.

    waybill serve -keep 'keep-nats.py HOST:PORT[,…] [-stream WAYBILL] [-past N]'
    keep-nats.py HOST:PORT[,…] [-stream WAYBILL] fence     refuses each keeper that wrote before
    keep-nats.py HOST:PORT[,…] [-stream WAYBILL] pull DIR  brings DIR up to date, by $WAYBILL receive DIR

A batch of lines is a message, and a long one several. Each message names the place of the one before it and
counts only right behind that, so one machine at a time can append. A mark of fence counts wherever it comes.
With -past a keeper that starts is refused, too, where the last message is a fence other than message N.
Exit codes: 0 done, 1 refused, 2 usage, 75 engine not reachable. jetstream.py has to be beside this file.
"""
import base64, collections, contextlib, hashlib, itertools, json, os, re, select, subprocess, sys, time
import jetstream
from jetstream import AT_A_TIME, EXPECTED, LAST, MORE, WAIT, WRITER, Refused, Stream
LONGEST, PATIENCE = 1 << 18, 20  # bytes in a message; seconds to find an engine

class Keeper:
    """The lines of standard input, until they are kept. It goes on where a connection fails."""
    def __init__(self, past):
        self.me, self.made, self.said = int.from_bytes(os.urandom(8), "big"), 0, -1
        self.place = 0  # of the last message that is known to be in the stream
        self.waiting = collections.deque()  # messages that are not: number, text, headers
        self.rest, self.ended, self.past = bytearray(), False, past  # a fence that may be passed

    def run(self, stream):
        self.begin(stream)
        limit, asked, behind = min(LONGEST, stream.max_payload - 4096), 0, 0
        while self.waiting or not self.ended:
            behind = behind if asked else 0
            for number, text, headers in list(self.waiting)[asked:asked + AT_A_TIME - behind]:
                headers.update({WRITER: "%d %d %d" % (self.me, number, behind), EXPECTED: self.place + asked})
                stream.send(self.place + asked + 1, text, headers)
                asked, behind = asked + 1, behind + 1
            sources = [stream.socket] + [sys.stdin] * (len(self.waiting) < AT_A_TIME and not self.ended)
            ready = [stream.socket] if stream.got else select.select(sources, [], [], WAIT)[0]
            if not ready and asked:
                raise OSError("no answer in %d s" % WAIT)
            if not ready:
                self.begin(stream)  # nothing is written: a fence is seen all the same
            if sys.stdin in ready:
                self.read(limit)
            if stream.socket in ready:
                place, said = stream.hear()
                if (place or 0) <= 0:
                    # It is no answer to a message.
                    continue
                if not place == said.get("seq") == self.place + 1:
                    raise OSError("message %d was stored at place %s" % (place, said.get("seq")))
                self.kept(self.waiting[0][0])
                asked, self.place = asked - 1, place

    def begin(self, stream):
        """Finds out which of our messages are in the stream, and whether another machine has gone on."""
        starts = self.said < 0
        newest = jetstream.create(stream) if starts else jetstream.end(stream)
        if newest == self.place and not self.waiting and not starts:
            return
        last = jetstream.counted(stream, newest, mark=True)
        if starts and last.mark and self.past not in ("", str(last.place)):
            raise Refused("message %d is a fence: to go on here, name it by -past" % last.place)
        if starts:
            self.last = jetstream.counted(stream, newest).last
            self.before = self.last.split()[1].encode()
            self.say(self.last)
        elif newest < self.place:
            raise OSError("this server does not know message %d yet" % self.place)
        elif last.writer == self.me:
            self.kept(last.number)
        elif last.place > self.place:
            raise Refused("another machine has gone on: message %d is %s" % (
                last.place, "a fence" if last.mark else "from another keeper"))
        self.place = newest

    def read(self, limit):
        """Reads lines, and makes messages of those that are whole. A line that does not follow is refused."""
        more, begin, had, text = os.read(0, LONGEST), len(self.rest), self.last, b""
        self.ended = not more
        self.rest += more
        whole = self.rest.rfind(b"\n", begin) + 1
        lines = bytes(self.rest[:whole])
        del self.rest[:whole]
        for line in lines.splitlines(keepends=True):
            if line.startswith(b'{"file":"FORMAT"'):  # what the first line is chained to
                self.before = hashlib.sha256(base64.b64decode(json.loads(line)["data"])).hexdigest().encode()
            elif not line.startswith(b'{"file":'):
                seq, chained = line[81:line.index(b",", 81)], line[75:-1].split(b',"personal":{')[0]
                if int(seq) <= int(self.last.split()[0]):
                    continue  # it is in the stream
                if hashlib.sha256(self.before + chained).hexdigest().encode() != line[9:73]:
                    raise Refused("line %s does not follow line %s" % (seq.decode(), self.last))
                self.before, self.last = line[9:73], "%s %s" % (seq.decode(), line[9:73].decode())
            text += line
        for begin in range(0, len(text), limit):
            self.made += 1
            headers = {LAST: self.last} if begin + limit >= len(text) else {LAST: had, MORE: "1"}
            self.waiting.append((self.made, text[begin:begin + limit], headers))

    def kept(self, number):
        """Lets our messages go, up to a number, and says which line is kept."""
        last = "0"
        while self.waiting and self.waiting[0][0] <= number:
            last = self.waiting.popleft()[2][LAST]
        if int(last.split()[0]) > self.said:
            self.say(last.split()[0])

    def say(self, text):
        self.said = int(text.split()[0])
        with contextlib.suppress(BrokenPipeError):  # the server is gone; what it has sent is kept
            os.write(1, text.encode() + b"\n")

def pull(stream, directory):
    waybill, newest = os.environ.get("WAYBILL", "waybill"), jetstream.end(stream)
    command, devnull, pipe = [waybill, "receive", directory], subprocess.DEVNULL, subprocess.PIPE
    has = subprocess.run(command, stdin=devnull, stdout=pipe).stdout.split()  # and mends it
    receive = subprocess.Popen(command, stdin=pipe, stdout=devnull)
    try:
        for text in jetstream.lines(stream, int(has[0] if has else 0), newest):
            receive.stdin.write(text)
    except BrokenPipeError:
        pass  # it has ended, and has said why
    finally:
        receive.communicate()
    if receive.returncode:
        raise Refused("%s receive %s: exit code %d" % (waybill, directory, receive.returncode))
    mark = jetstream.counted(stream, newest, mark=True).mark
    print("up to message %d, %s" % (newest, "a fence" if mark else "no fence: others may still append"))

def main(arguments):
    asked = re.fullmatch(r"(\S+:\d+)(?:\0-stream\0([\w-]+))?(?:\0-past\0(\d+)|\0(fence)|\0pull\0([^\0]+))?",
                         "\0".join(arguments))
    if not asked:
        print(__doc__, file=sys.stderr)
        return 2
    servers, name, past, fence, directory = asked.groups("")
    keeper, until = Keeper(past), time.monotonic() + PATIENCE
    for server in itertools.cycle(servers.split(",")):
        try:
            stream = Stream(server, name or "WAYBILL")
            if directory:
                pull(stream, directory)
            elif fence:
                jetstream.fence(stream, str(keeper.me))
            else:
                keeper.run(stream)
            return 0
        except (Refused, FileNotFoundError, PermissionError) as err:
            print("keep-nats.py:", err, file=sys.stderr)
            return 1
        except OSError as err:
            print("keep-nats.py: %s: %s" % (server, err), file=sys.stderr, flush=True)
            if keeper.said < 0 and time.monotonic() > until:
                return 75
            time.sleep(0.3)

sys.exit(main(sys.argv[1:]))
