# Checks the lines in this folder with Python 3.8 and nothing else: python3 -I verify.py [VERIFIER-KEY ...]
import base64, glob, hashlib, json, re, sys, time
def must(ok, what): ok or sys.exit('NOT PROVEN: ' + what)
sys.excepthook = lambda kind, error, _: print('NOT PROVEN: something is not in its form:', error, file=sys.stderr)
def sha(*parts): return hashlib.sha256(b''.join(parts)).digest()
def read(name): return open(name, encoding='utf-8', newline='').read()
def decode(text):  # base64 in the one form that it was written in
    must(base64.b64encode(base64.b64decode(text)).decode() == text, 'base64 was changed: ' + text)
    return base64.b64decode(text)
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493  # Ed25519, as RFC 8032 has it
D = -121665 * pow(121666, -1, P) % P
def add(p, q):
    k = D * p[0] * q[0] * p[1] * q[1]
    return (p[0] * q[1] + q[0] * p[1]) * pow(1 + k, -1, P) % P, (p[1] * q[1] + p[0] * q[0]) * pow(1 - k, -1, P) % P
def times(n, p): return add(times(n // 2, add(p, p)), p if n & 1 else (0, 1)) if n else (0, 1)
def point(raw):
    y = int.from_bytes(raw, 'little') & 2**255 - 1
    x2 = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(x2, (P + 3) // 8, P)
    x = x if x * x % P == x2 else x * pow(2, (P - 1) // 4, P) % P
    must(y < P and x * x % P == x2, 'a key or a signature is no point of the curve')
    return (x if x & 1 == raw[31] >> 7 else P - x), y
def signed(key, sig, text):
    s, h = int.from_bytes(sig[32:], 'little'), hashlib.sha512(sig[:32] + key + text).digest()
    right = add(point(sig[:32]), times(int.from_bytes(h, 'little') % L, point(key)))
    return len(sig) == 64 and s < L and times(s, point(b'\x58' + b'\x66' * 31)) == right
def verifier(vkey):  # NAME+ID+KEY: the id follows from the name and the key, so that no digit can be mistyped
    name, ident, key = vkey.split('+', 2)
    key = decode(key)
    right = sha(name.encode() + b'\n' + key)[:4].hex()
    must(ident == right and len(key) == 33 and key[0] in (1, 4), 'this is no verifier key of Ed25519 (type 1 or 4): ' + vkey[:100])
    return name, bytes.fromhex(ident), key
note, (text, _, signatures) = read('checkpoint'), read('checkpoint').partition('\n\n')
(origin, size, root, last), who, used = text.split('\n'), [], set()
keys = [verifier(vkey) for vkey in set(sys.argv[1:] or read('keys.txt').split())]
must(re.fullmatch('(— [^ \n]+ [^ \n]+\n)+', signatures), 'the signatures are in no known form')
for name, sig in [(name, decode(sig)) for name, sig in re.findall('— (.+) (.+)\n', signatures)]:
    for key in [key for owner, ident, key in keys if (owner, ident) == (name, sig[:4])]:
        at, said = int.from_bytes(sig[4:12], 'big'), (text + '\n').encode()
        if key[0] == 4: said, sig = b'cosignature/v1\ntime %d\n' % at + said, sig[8:]
        must(signed(key[1:], sig[4:], said) and not [w for w in who if w.split(',')[0] == name], 'the signature is not that of ' + name)
        used.add((name, key))
        who.append(name + (', a witness, at ' + time.strftime('%FT%TZ', time.gmtime(at)) if key[0] == 4 else ''))
must(origin in who and (sys.argv[1:] or len(who) == signatures.count('\n')), 'a signature is by no key that is known')
must(not sys.argv[1:] or len(used) == len(keys), 'a key that was given has not signed')
gone, erased, count, left, chain = set(), set(), 0, 0, []
booking = read('booking.txt').strip() if glob.glob('booking.txt') else None  # whose lines are to be whole
for count, file in enumerate(sorted(glob.glob('line-*.json')), 1):
    raw, proof, what = open(file, 'rb').read(), read(file[:-5] + '.tlog-proof'), file + ' is not what was written'
    line, (hashed, mark, personal) = json.loads(raw), raw[75:-1].partition(b',"personal":{')
    named = re.search(rb'"personal":"([0-9a-f]{64})"}(}?)$', hashed) or [0, b'', b'']
    hashed, left = hashed[:-1] if named[2] else hashed, left + len(named[2])  # its personal part was left out: that } is not hashed
    must(raw[:9] + raw[73:75] + raw[-1:] == b'{"hash":"",\n' and (named[1] and not named[2] or not mark), what)
    if mark and sha(b'{' + personal[:-1]).hex().encode() != named[1]: gone.add((int(file[5:17]), b'{' + personal))
    before = line['data'].get('before')  # the line that changed the booking before this one
    before = before.get(booking) if isinstance(before, dict) else before if line['data'].get('booking') == booking else None
    if before is not None: chain.append((line['seq'], before))
    tells = line['data'] if line['type'] in ('personal.erased', 'repaired') else {}  # of what was erased, and when
    said = {**dict.fromkeys(tells.get('lines') or [], line['time']), **(tells.get('erased') or {})}
    erased |= {(int(n), b'{"erased":"%s"}}' % t.encode()) for n, t in said.items()}
    head, extra, index, *path = proof[:-len(note) - 2].split('\n')
    i, n, here = int(file[5:17]) - 1, int(size) - 1, sha(b'\0', hashed)
    must([head, extra[:6], index, line['seq']] == ['c2sp.org/tlog-proof@v1', 'extra ', 'index %d' % i, i + 1] and 0 <= i <= n, what)
    must(proof.endswith('\n\n' + note) and sha(decode(extra[6:]).hex().encode(), hashed).hex().encode() == raw[9:73], what)
    for sibling in map(decode, path):
        here = sha(b'\1', sibling, here) if i & 1 or i == n else sha(b'\1', here, sibling)
        while i == n and i and not i & 1: i, n = i >> 1, n >> 1
        i, n = i >> 1, n >> 1
    must(here == decode(root) and n == 0 and len(file) == 22, what)
must(gone <= erased, 'the personal part of line %s is neither as it was written nor erased' % [n for n, _ in gone - erased])
for (last_one, _), (seq, before) in zip([(0, 0)] + chain, chain):
    must(before == last_one, 'line %d of booking %s is missing: line %d comes after it' % (before, booking, seq))
must(booking is None or chain, 'no line here changes booking %s, which booking.txt names' % booking)
must(len(glob.glob('line-*')) == 2 * count, 'a proof is here without its line, or a file that is neither')
told = ['whole from line %d to line %d: nothing that changed booking %s between them is missing' % (chain[0][0], chain[-1][0], booking)] if chain else []
told += ['signed by ' + w for w in who] + ['not checked: ' + w for so, w in [  # what this says nothing of
    (not chain, 'whether other lines of the same booking are missing: there is no booking.txt'),
    (not sys.argv[1:], 'whose keys these are: keys.txt has come with the lines'), (len(who) < signatures.count('\n'), 'signatures by keys that were not given')] if so]
print(count or must(0, 'there are no lines here'), 'lines are in the journal', origin, 'as they were written', end=' ')
print('(%d without the names in them); it had %s lines at %s' % (left + len(gone), size, last.split()[-1]), *told, sep='\n')
