# Puts lines into a JetStream of NATS, one after the other, and waits until each is kept by the stream before it
# reads the next: waybill tail -follow -format copy | python3 nats-pub.py HOST:PORT SUBJECT
#
# Prints the seq of each line of the journal that is kept. A line that comes again is dropped by the stream, by its
# hash, within its window for duplicates; after that, waybill receive passes over it. Python 3.8 and nothing else.
import hashlib, json, re, socket, sys, time

host, port = sys.argv[1].rsplit(':', 1)
subject = sys.argv[2]
connection = socket.create_connection((host, int(port)), 10)
connection.settimeout(30)
stream = connection.makefile('rwb')


def receive():
    """Returns the payload of the next message, and answers what else the server says."""
    while True:
        line = stream.readline()
        if line.startswith(b'PING'):
            stream.write(b'PONG\r\n')
            stream.flush()
        elif line.startswith((b'MSG', b'HMSG')):
            return stream.read(int(line.split()[-1]) + 2)[:-2]
        elif not line or line.startswith(b'-ERR'):
            sys.exit('the server ends the connection: %s' % line.decode().strip())


largest = json.loads(stream.readline()[len('INFO '):])['max_payload']
stream.write(b'CONNECT {"verbose":false,"headers":true,"no_responders":true}\r\nSUB _INBOX.waybill 1\r\n')
for line in sys.stdin.buffer:
    body = line.rstrip(b'\n')
    if len(body) > largest - 200:
        sys.exit('a line of %d bytes is larger than the max_payload of the server, %d' % (len(body), largest))
    header = b'NATS/1.0\r\nNats-Msg-Id: %s\r\n\r\n' % hashlib.sha256(body).hexdigest().encode()
    for _ in range(60):  # a cluster that has lost one of three elects another leader within seconds
        stream.write(b'HPUB %s _INBOX.waybill %d %d\r\n' % (subject.encode(), len(header), len(header) + len(body)))
        stream.write(header + body + b'\r\n')
        stream.flush()
        answer = receive()
        kept = json.loads(answer) if answer.startswith(b'{') else {'error': answer.decode(errors='replace').strip()}
        if 'error' not in kept:
            break
        time.sleep(1)
    else:
        sys.exit('a line is not kept: %s' % kept['error'])
    seq = re.match(rb'{"hash":"[0-9a-f]{64}","seq":(\d+),', body)
    if seq:
        print(seq[1].decode(), flush=True)
