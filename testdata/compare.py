#!/usr/bin/env python3
"""Compare two outputs of "weft print --json" as multisets of events.

    compare.py A B [LOSS LOSS] [--ticks-a N[/D]] [--ticks-b N[/D]]

Prints a JSON array of rows {kind, field, how, count}: how many events of B
differ from those of A, in which field (an attribute goes by its own name), and
how: "degraded" (another value), "lost" (only A has it), "added" (only B has
it). An empty field means the whole event.

An event that one file has and the other has not is paired with one of the
other's at the same location and time and of the same kind; failing that, with
one that differs from it in nothing but its times ("time").

LOSS are the loss tables of the two conversions that made B out of A ("weft
convert --json"). The program then exits with 1 if what they say was degraded or
lost, by kind and field, is not what it found, or if anything was added. Rows
of the field "order" are no difference of a multiset: they must be absent when
both files have the same events in the same order.

--ticks-a and --ticks-b are the ticks per second of the files (ticksPerSecond of
"weft info --json"), for files whose clocks differ.

Exit codes: 0 agreed (or no tables were given), 1 disagreed, 2 usage or input.

It shares no code with weft: it is there to catch weft's errors.
"""

import argparse
import collections
import fractions
import json
import sys

# Fields whose value is a time or a duration in ticks.
TIMES = {"time", "end", "duration"}


def die(message):
    print("compare.py: " + message, file=sys.stderr)
    sys.exit(2)


def unique(pairs):
    """An object with a key twice would hide a difference."""
    keys = [k for k, _ in pairs]
    if len(set(keys)) != len(keys):
        die("an object has a key twice: %s" % keys)
    return dict(pairs)


def canonical(v):
    """A hashable form of a JSON value. 1 and 1.0 are the same number; True is
    not 1, and "1" is not 1."""
    if isinstance(v, dict):
        return ("object",) + tuple(sorted((k, canonical(x)) for k, x in v.items()))
    if isinstance(v, list):
        return ("array",) + tuple(canonical(x) for x in v)
    if isinstance(v, bool) or v is None:
        return ("literal", str(v))
    if isinstance(v, (int, fractions.Fraction)):
        return ("number", fractions.Fraction(v))
    return ("string", v)


def scale(v, ticks, name=""):
    """Replace the times in an event, ticks, by seconds."""
    if isinstance(v, dict):
        return {k: v[k] if k == "attributes" else scale(v[k], ticks, k) for k in v}
    if name in TIMES and isinstance(v, (int, fractions.Fraction)) and not isinstance(v, bool):
        return fractions.Fraction(v) / ticks
    return v


def flatten(event):
    """The fields to name in a row: top-level ones, and attributes by name."""
    out = {}
    for k, v in event.items():
        if k == "attributes" and isinstance(v, dict):
            for name, x in v.items():
                out[("attribute", name)] = canonical(x)
        else:
            out[("field", k)] = canonical(v)
    return out


class Event:
    """An event: all of it, and the keys that it is paired by."""

    def __init__(self, event, where):
        if not isinstance(event, dict) or not isinstance(event.get("kind"), str):
            die("%s: found no kind, expected an event" % where)
        self.kind = event["kind"]
        self.fields = flatten(event)
        self.whole = frozenset(self.fields.items())
        self.place = (canonical(event.get("location")), canonical(event.get("time")), self.kind)
        self.timeless = canonical(drop_times(event))


def drop_times(v):
    if isinstance(v, dict):
        return {k: x if k == "attributes" else drop_times(x) for k, x in v.items() if k not in TIMES}
    return v


def read(path, ticks):
    events = []
    with open(path, encoding="utf-8") as f:
        for n, line in enumerate(f, 1):
            where = "%s:%d" % (path, n)
            try:
                event = json.loads(line, parse_float=fractions.Fraction, object_pairs_hook=unique)
            except ValueError as e:
                die("%s: %s" % (where, e))
            events.append(Event(scale(event, ticks), where))
    return events


def differing(a, b):
    """Fields in which two events differ, with how."""
    for key in sorted(a.fields.keys() | b.fields.keys()):
        x, y = a.fields.get(key), b.fields.get(key)
        if x != y:
            yield key[1], "added" if x is None else "lost" if y is None else "degraded"


def only(events, others):
    """Those of events that others has not, each as often as it is missing."""
    have = collections.Counter(e.whole for e in others)
    out = []
    for e in events:
        if have[e.whole] > 0:
            have[e.whole] -= 1
        else:
            out.append(e)
    return out


def pair(left, right, key, closeness):
    """Pair events of equal key; return the pairs and what is left over. Among
    several partners the one with the fewest differences is taken."""
    waiting = collections.defaultdict(list)
    for e in right:
        waiting[key(e)].append(e)
    pairs, rest = [], []
    for e in left:
        partners = waiting[key(e)]
        if not partners:
            rest.append(e)
            continue
        best = min(range(len(partners)), key=lambda i: closeness(e, partners[i]))
        pairs.append((e, partners.pop(best)))
    return pairs, rest, [e for partners in waiting.values() for e in partners]


def compare(a, b):
    found = collections.Counter()
    a_only, b_only = only(a, b), only(b, a)
    pairs, a_only, b_only = pair(a_only, b_only, lambda e: e.place, lambda x, y: sum(1 for _ in differing(x, y)))
    for x, y in pairs:
        for field, how in differing(x, y):
            found[x.kind, field, how] += 1
    pairs, a_only, b_only = pair(a_only, b_only, lambda e: e.timeless, lambda x, y: 0)
    for x, _ in pairs:
        found[x.kind, "time", "degraded"] += 1
    for e in a_only:
        found[e.kind, "", "lost"] += 1
    for e in b_only:
        found[e.kind, "", "added"] += 1
    return found


def read_loss(path):
    """The sums of a loss table by (kind, field, how)."""
    try:
        with open(path, encoding="utf-8") as f:
            rows = json.load(f)
        loss = collections.Counter()
        for r in rows:
            if r["how"] == "weft only":
                continue  # it is there for weft, and so for this script
            if r["how"] not in ("degraded", "lost"):
                die("%s: found %r, expected degraded or lost" % (path, r["how"]))
            loss[r["kind"], r["field"], r["how"]] += r["count"]
        return loss
    except (ValueError, KeyError, TypeError) as e:
        die("%s: %r: expected rows {kind, field, how, reason, count}" % (path, e))


def rows(counts):
    return [{"kind": k, "field": f, "how": h, "count": n} for (k, f, h), n in sorted(counts.items()) if n]


def disagreements(found, loss, same_order):
    out = []
    for key in sorted(set(found) | set(loss)):
        kind, field, how = key
        if field == "spelling":
            continue  # of the file; prints do not show it
        if field == "order":
            if same_order and loss[key]:
                out.append("%s: the tables count %d out of order, but the order is the same" % (kind, loss[key]))
        elif found[key] != loss[key]:
            out.append("%s %r %s: found %d, the tables count %d" % (kind, field, how, found[key], loss[key]))
    return out


def ticks(text):
    try:
        n = fractions.Fraction(text)
    except (ValueError, ZeroDivisionError):
        n = 0
    if n <= 0:
        raise argparse.ArgumentTypeError("found %r, expected N or N/D" % text)
    return n


def main():
    p = argparse.ArgumentParser(description="Compare two outputs of weft print --json.")
    p.add_argument("a")
    p.add_argument("b")
    p.add_argument("loss", nargs="*", help="the loss tables of two conversions")
    p.add_argument("--ticks-a", type=ticks, default=1)
    p.add_argument("--ticks-b", type=ticks, default=1)
    args = p.parse_args()
    if len(args.loss) not in (0, 2):
        p.error("found %d loss tables, expected none or two" % len(args.loss))
    try:
        a, b = read(args.a, args.ticks_a), read(args.b, args.ticks_b)
        found = compare(a, b)
        loss = sum((read_loss(x) for x in args.loss), collections.Counter())
    except (OSError, UnicodeDecodeError) as e:
        die(str(e))
    json.dump(rows(found), sys.stdout, indent=2)
    print()
    if not args.loss:
        return 0
    same_order = [e.whole for e in a] == [e.whole for e in b]
    bad = disagreements(found, loss, same_order)
    for line in bad:
        print("compare.py: " + line, file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
