"""Reads a Pallas trace of ABI 20 without compression, by the format's description
alone, holds all that it says twice against each other, and prints its events:
thread, time, record, payload."""
import os
import struct
import sys

main = sys.argv[1]
root = os.path.dirname(main)


class Reader:
    def __init__(self, path):
        self.b, self.at = open(path, "rb").read(), 0

    def get(self, form):
        v = struct.unpack_from("<" + form, self.b, self.at)
        self.at += struct.calcsize("<" + form)
        return v if len(v) > 1 else v[0]

    def skip(self, n):
        self.at += n

    def text(self, n):
        self.at += n
        assert self.b[self.at - 1] == 0
        return self.b[self.at - n:self.at - 1]


def ascending(l):
    assert all(a < b for a, b in zip(l, l[1:])), l


def definitions(r):
    refs = []
    for _ in range(r.get("Q")):
        refs.append(r.get("I"))
        r.text(r.get("i"))
    ascending(refs)
    for size in (8, 16):
        refs = []
        for _ in range(r.get("Q")):
            refs.append(r.get("I"))
            r.at += size - 4
        ascending(refs)
    for _ in range(r.get("Q")):
        r.at += 16
        r.skip(4 * r.get("I"))
    r.skip(16 * r.get("Q"))


def groups(r):
    return [r.get("III") for _ in range(r.get("Q"))]


def metadata(r):
    keys = []
    for _ in range(r.get("Q")):
        keys.append(r.text(r.get("Q")))
        r.text(r.get("Q"))
    assert keys == sorted(keys)


def vector(r, data, durations):
    size, n = r.get("QQ")
    if size == 0:
        assert n == 1
        return []
    if durations:
        low, high, mean = r.get("QQQ")
    values = []
    for i in range(n):
        head = r.get("QQQQQ" if durations else "QQQQ")
        count, offset = head[0], head[-1]
        assert 0 < count <= 1000
        length = struct.unpack_from("<Q", data, offset)[0]
        assert length == 8 * count
        block = list(struct.unpack_from("<%dQ" % count, data, offset + 8))
        if durations:
            assert head[1:4] == (min(block), max(block), sum(block) // count)
        else:
            assert head[1:3] == (block[0], block[-1])
        values += block
    assert len(values) == size
    if durations:
        assert (low, high, mean) == (min(values), max(values), sum(values) // size)
    return values


def id_map(r, n, dead=()):
    m = [r.get("I") for _ in range(r.get("Q"))]
    assert m == [0xffffffff if i in dead else i for i in range(n)], "identity"


def thread(archive, number):
    folder = os.path.join(root, "archive_%d" % archive, "thread_%d" % number)
    r = Reader(os.path.join(folder, "thread.pallas"))
    times = open(os.path.join(folder, "event_durations.dat"), "rb").read()
    lengths = open(os.path.join(folder, "sequence_durations.dat"), "rb").read()
    assert r.get("II") == (number, archive)
    ne, ns, nl, top, start = r.get("QQQIQ")
    assert top == 0
    events, sequences = [], []
    for _ in range(ne):
        record, size = r.get("IB")
        payload = r.b[r.at:r.at + size - 5]
        r.at += size - 5
        r.skip(r.get("Q"))
        events.append((record, payload, vector(r, times, False)))
    id_map(r, ne)
    for _ in range(ns):
        kind, n = r.get("IQ")
        tokens = [r.get("I") for _ in range(n)]
        durations = tuple(vector(r, lengths, d) for d in (True, True, False)) if n else ([], [], [])
        sequences.append((kind, tokens) + durations)
    id_map(r, ns)
    loops = [r.get("IIQ") for _ in range(nl)]
    id_map(r, nl, [i for i, x in enumerate(loops) if x == (0xfffffffc, 0, 0)])
    assert r.at == len(r.b)
    seen = [0] * ne
    entered = [0] * ns
    used = [0] * nl
    last = [start]
    out = []

    def walk(s):
        kind, tokens, durations, exclusive, starts = sequences[s]
        k = entered[s]
        entered[s] += 1
        first, blocks = None, 0
        for t in tokens:
            form, i = t & 3, t >> 2
            if form == 1:
                record, payload, times = events[i]
                time = times[seen[i]]
                seen[i] += 1
                assert time >= last[0]
                last[0] = time
                out.append((time, record, payload))
                begin, n = time, 0
            elif form == 2:
                begin, n = walk(i)
            else:
                assert form == 3
                body, iterations, _ = loops[i]
                assert body & 3 == 2 and iterations > 1
                used[i] += 1
                begin, n = walk(body >> 2)
                for _ in range(iterations - 1):
                    n += walk(body >> 2)[1]
            first = begin if first is None else first
            blocks += n
        assert starts[k] == first and durations[k] == last[0] - first, (s, k)
        block = events[tokens[0] >> 2][0] == 2 if tokens[0] & 3 == 1 else False
        if s == 0:
            assert kind == 0 and exclusive[k] == 0
        else:
            assert kind == (0 if block else 1)
            assert exclusive[k] == (durations[k] - blocks if block else blocks)
        return first, durations[k] if block else blocks

    if sequences[0][1]:
        walk(0)
    assert seen == [len(e[2]) for e in events]
    assert entered == [len(s[2]) for s in sequences]
    assert used == [l[2] for l in loops], "occurrences of loops"
    for time, record, payload in out:
        print(number, time, record, payload.hex() or "-")


r = Reader(main)
abi, compression, encoding, level, finding, most, storage = r.get("BIIQIQI")
assert (abi, compression, encoding) == (20, 0, 0)
definitions(r)
processes = groups(r)
assert groups(r) == []
metadata(r)
assert r.at == len(r.b)
for archive, _, _ in processes:
    path = os.path.join(root, "archive_%d" % archive, "archive.pallas")
    if not os.path.exists(path):
        continue
    r = Reader(path)
    number, n = r.get("II")
    assert number == archive
    definitions(r)
    assert groups(r) == []
    locations = groups(r)
    assert len(locations) == n
    metadata(r)
    assert r.at == len(r.b)
    for id, _, parent in locations:
        assert parent == archive
        thread(archive, id)
