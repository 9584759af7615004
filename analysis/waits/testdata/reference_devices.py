#!/usr/bin/env python3
"""A second implementation of waits for devices and for launches, and of the critical path through them.

It follows docs/analyses/waits.md, is slow and plain, and shares no code with weft. Standard input holds traces as for
reference.py; locations that are streams of devices have the field "stream", and calls that name a stream the field
"stream" with its id. Standard output gets one line of JSON for each trace: the waits as [pattern, location, begin,
length], and the pieces of the path as [location, begin, end].
"""

import json
from collections import defaultdict

from reference_input import traces

LAUNCHES = {"cudaLaunchKernel": "kernel", "cudaMemcpyAsync": "transfer", "cudaMemcpy": "transfer"}
SYNCHRONISATIONS = {"cudaDeviceSynchronize", "cudaStreamSynchronize", "cudaMemcpy"}


def visits(events):
    """Returns all visits as (enter, leave, region, named stream), by their begin."""
    out, open_visits = [], []
    for e in events:
        if e["kind"] == "enter":
            open_visits.append(e)
        elif e["kind"] == "leave":
            b = open_visits.pop()
            out.append((b["time"], e["time"], b["region"], b.get("stream")))
    return sorted(out, key=lambda v: v[0])


def evaluate(definitions, events):
    locations = definitions["locations"]
    by_location = defaultdict(list)
    for e in events:
        by_location[e["location"]].append(e)
    first = min(e["time"] for e in events)
    process = {l["id"]: l["process"] for l in locations}
    streams = [l["id"] for l in locations if l.get("stream")]
    threads = [l["id"] for l in locations if not l.get("stream")]
    processes = {process[t] for t in threads}

    def streams_of(thread):
        own = [s for s in streams if process[s] == process[thread]]
        if not own and len(processes) == 1:
            own = streams  # they are in a group of their own
        return own

    work = {s: visits(by_location[s]) for s in streams}
    waits = []  # pattern, location, begin, end, cause
    # The n-th launch of a kind for a stream belongs to the n-th work of that kind in it.
    launches = defaultdict(list)
    for t in threads:
        for enter, _, region, stream in visits(by_location[t]):
            if region in LAUNCHES:
                own = streams_of(t)
                target = stream if stream is not None else own[0]
                launches[target, LAUNCHES[region]].append((enter, t))
    for s in streams:
        count, end = defaultdict(int), first
        for begin, leave, region, _ in work[s]:
            kind = "transfer" if region.startswith("cudaMemcpy") else "kernel"
            enter, thread = launches[s, kind][count[kind]]
            count[kind] += 1
            if enter > end:
                waits.append(("wait-for-launch", s, end, enter, thread))
            end = max(end, leave)
    for t in threads:
        for enter, leave, region, stream in visits(by_location[t]):
            if region in SYNCHRONISATIONS:
                ends = [(w[1], s) for s in ([stream] if stream is not None else streams_of(t)) for w in work[s]
                        if enter < w[1] <= leave]
                if ends:
                    end, s = max(ends, key=lambda x: x[0])
                    waits.append(("wait-for-device", t, enter, end, s))
    return waits, critical_path(by_location, waits)


def critical_path(by_location, waits):
    """Follows the path back from the last event: at the end of a wait it continues at the cause of the wait."""
    end, loc = max((es[-1]["time"], loc) for loc, es in by_location.items() if es)
    pieces, t = [], end
    while True:
        before = [w for w in waits if w[1] == loc and w[3] <= t]
        if not before:
            begin = by_location[loc][0]["time"]
            if t > begin:
                pieces.append([loc, begin, t])
            return pieces[::-1]
        w = max(before, key=lambda w: w[3])
        if t > w[3]:
            pieces.append([loc, w[3], t])
        loc, t = w[4], w[3]
        waits = [x for x in waits if x is not w]


def main():
    for definitions, events in traces():
        waits, path = evaluate(definitions, events)
        print(json.dumps({"waits": sorted([p, l, b, e - b] for p, l, b, e, _ in waits), "path": path}))


if __name__ == "__main__":
    main()
