#!/usr/bin/env python3
"""A second implementation of wait states, root causes, the critical path and POP factors.

It is slow and plain: it holds the whole trace, and searches lists. It shares no code with weft, so that a mistake
must be made twice to stay unseen. Tests compare both on random traces.

Standard input holds traces as JSON Lines. The first line of a trace defines it:

  {"locations": [{"id": "0", "process": "0"}, ...], "communicators": {"0": ["0", "1"]}}

with the locations of a communicator in the order of its ranks. The lines of events follow, as weft print --json
prints them. Standard output gets one line of JSON for each trace.
"""

import json
import sys
from collections import defaultdict

NXN = {"allreduce", "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw", "reduce-scatter",
       "reduce-scatter-block"}
ONE_TO_ALL = {"broadcast", "scatter", "scatterv"}
ALL_TO_ONE = {"reduce", "gather", "gatherv"}
SCAN = {"scan", "exscan"}



def is_mpi(region):
    return region.startswith("MPI_")


def is_init(region):
    return region in ("MPI_Init", "MPI_Init_thread")


def omp_barrier(region):
    if region.startswith("!$omp implicit barrier"):
        return "wait-at-implicit-omp-barrier"
    if region.startswith("!$omp barrier"):
        return "wait-at-explicit-omp-barrier"
    return None


def is_lock_call(region):
    critical = region.startswith("!$omp critical") and "sblock" not in region
    return critical or region.startswith("omp_set_lock")


def is_runtime(region):
    """Reports whether a region belongs to the runtime of OpenMP, so that its own time is not useful."""
    return omp_barrier(region) is not None or is_lock_call(region) or region.startswith("omp_")


class Call:
    """One visit of a region."""

    def __init__(self, loc, region, path, e, first):
        self.loc, self.region, self.path = loc, region, path
        self.e, self.first = e, first  # time and number of the event that enters
        self.x, self.last = None, None  # of the event that leaves

    def __repr__(self):
        return "%s@%s[%s,%s]" % (self.region, self.loc, self.e, self.x)


class Wait:
    def __init__(self, pattern, call, time, cause_loc, cause_time, cause_number, cause_call):
        self.pattern, self.call, self.time = pattern, call, time
        self.loc, self.begin, self.end = call.loc, call.e, call.e + time
        self.cause_loc, self.cause_time = cause_loc, cause_time
        self.cause_number = cause_number  # number of the causing event on its location
        self.cause_call = cause_call
        self.carried = 0.0  # what the wait costs others


class Location:
    def __init__(self, ident, process):
        self.id, self.process = ident, process
        self.events = []
        self.calls = []
        self.segments = []  # (begin, end, path, region, number of the event that begins it)


class Trace:
    def __init__(self, definitions, events):
        self.locs = {d["id"]: Location(d["id"], d["process"]) for d in definitions["locations"]}
        self.order = [d["id"] for d in definitions["locations"]]
        self.comms = definitions["communicators"]
        for ev in events:
            self.locs[ev["location"]].events.append(ev)
        self.locs = {k: l for k, l in self.locs.items() if l.events}
        self.order = [k for k in self.order if k in self.locs]
        self.first = min(l.events[0]["time"] for l in self.locs.values())
        self.last = max(l.events[-1]["time"] for l in self.locs.values())
        self.teams = []  # instances: {"fork": (loc, number), "members": {loc: (begin, end number)}, "barriers": ...}
        self.find_teams()
        for l in self.locs.values():
            self.find_calls(l)
        self.waits = []
        self.completions = []
        self.wrong_order = []
        self.points = []  # lists of members of a synchronisation point: {loc: Call}, with start times and pairs
        self.violations = []
        self.edges = []  # constraints for re-timing: (loc, number of event, [(loc, number), ...])
        self.messages()
        self.collectives()
        self.init_and_finalize()
        self.omp_barriers()
        self.locks()

    # --- calls

    def find_teams(self):
        """Pairs forks with the threads that begin a team, and these with the join."""
        forks = defaultdict(list)  # by process
        for loc in self.order:
            l = self.locs[loc]
            for i, ev in enumerate(l.events):
                if ev["kind"] == "thread-fork":
                    forks[l.process].append({"fork": (loc, i), "members": {}, "join": None, "time": ev["time"]})
                elif ev["kind"] == "thread-join":
                    forks[l.process][-1]["join"] = (loc, i)
        for process, teams in forks.items():
            for loc in self.order:
                l = self.locs[loc]
                if l.process != process:
                    continue
                begin = None
                for i, ev in enumerate(l.events):
                    if ev["kind"] == "thread-team-begin":
                        begin = i
                    elif ev["kind"] == "thread-team-end":
                        # The latest fork before the thread begins is its fork.
                        team = [t for t in teams if t["time"] <= l.events[begin]["time"]][-1]
                        team["members"][loc] = (begin, i)
            self.teams += teams

    def find_calls(self, l):
        prefix = ()
        stack = []
        begins = {}  # number of the event that begins a team: its team
        ends = {}
        for t in self.teams:
            if l.id in t["members"]:
                begins[t["members"][l.id][0]] = t
                ends[t["members"][l.id][1]] = t
        for i, ev in enumerate(l.events):
            if i > 0:
                a, b = l.events[i - 1]["time"], ev["time"]
                path = stack[-1].path if stack else None
                region = stack[-1].region if stack else None
                l.segments.append([a, b, path, region, i - 1])
            ev["call"] = stack[-1] if stack else None
            if i in begins and begins[i]["fork"][0] != l.id:
                t = begins[i]
                owner = self.locs[t["fork"][0]]
                if not owner.calls:
                    self.find_calls(owner)
                call = owner.events[t["fork"][1]]["call"]
                prefix = call.path if call else ()
            if ev["kind"] == "enter":
                path = (stack[-1].path if stack else prefix) + (ev["region"],)
                c = Call(l.id, ev["region"], path, ev["time"], i)
                stack.append(c)
                l.calls.append(c)
                ev["call"] = c
            elif ev["kind"] == "leave":
                c = stack.pop()
                c.x, c.last = ev["time"], i
                ev["call"] = c
            if i in ends and ends[i]["fork"][0] != l.id:
                prefix = ()
        while stack:
            c = stack.pop()
            c.x, c.last = l.events[-1]["time"], len(l.events) - 1
        # The runtime's work between fork and join belongs to the parallel region, and so does that of a started
        # thread before it enters the region. Behind the region that has nothing to do.
        for t in self.teams:
            if l.id not in t["members"]:
                continue
            begin, end = t["members"][l.id]
            parallel = [c for c in l.calls if begin < c.first < end]
            if not parallel:
                continue
            parallel = parallel[0]
            if t["fork"][0] == l.id:
                begin, end = t["fork"][1], t["join"][1] if t["join"] else len(l.events)
            else:
                end = 0
            for s in l.segments:
                if begin <= s[4] < parallel.first or parallel.last <= s[4] < end:
                    s[2], s[3] = parallel.path, parallel.region

    def exclusive(self, loc, a, b):
        """Time by call path in [a, b), not counting time outside of regions."""
        out = defaultdict(int)
        for s in self.locs[loc].segments:
            d = min(s[1], b) - max(s[0], a)
            if d > 0 and s[2] is not None:
                out[s[2]] += d
        return out

    # --- wait states (A.4)

    def messages(self):
        sends, recvs = defaultdict(list), defaultdict(list)
        for loc in self.order:
            l = self.locs[loc]
            open_sends, open_recvs = {}, {}
            for i, ev in enumerate(l.events):
                k = ev["kind"]
                ev["number"] = i
                if k in ("send", "send-begin"):
                    m = {"loc": loc, "post": ev["call"], "complete": ev["call"], "time": ev["time"], "number": i}
                    if k == "send-begin":
                        m["complete"] = None
                        open_sends[ev["request"]] = m
                    sends[loc, ev["receiver"], ev["communicator"], ev["tag"]].append(m)
                elif k == "send-complete":
                    open_sends.pop(ev["request"])["complete"] = ev["call"]
                elif k == "recv-begin":
                    open_recvs[ev["request"]] = (i, ev["call"])
                elif k in ("recv", "recv-complete"):
                    m = {"loc": loc, "post": ev["call"], "complete": ev["call"], "time": ev["time"], "number": i,
                         "posted": i}
                    if k == "recv-complete":
                        m["posted"], m["post"] = open_recvs.pop(ev["request"])
                    recvs[ev["sender"], loc, ev["communicator"], ev["tag"]].append(m)
        pairs = []
        for key, s in sends.items():
            # Messages do not overtake each other: they match in the order in which receives are posted.
            r = sorted(recvs.get(key, []), key=lambda m: m["posted"])
            pairs += list(zip(s, r))
        late_senders, late_receivers = {}, {}
        for s, r in pairs:
            if r["time"] < s["time"]:
                self.violations.append(s["time"] - r["time"])
            self.points.append({"pair": (s["post"], r["complete"])})
            call = r["complete"]
            if call and s["post"]:
                self.edges.append((call, [s["post"]]))
                w = min(s["post"].e, call.x) - call.e
                if w > 0 and not call.region.startswith("MPI_Test"):
                    if call not in late_senders or w > late_senders[call][0]:
                        late_senders[call] = (w, s, r)
        for s, r in pairs:
            call, post = s["complete"], r["post"]
            if not call or not post:
                continue
            synchronous = s["post"].region in ("MPI_Ssend", "MPI_Issend")
            if not call.region.startswith("MPI_Test") and call.x > post.e:
                w = min(post.e, call.x) - call.e
                if w > 0:
                    synchronous = True
                    if call not in late_senders:
                        if call not in late_receivers or w > late_receivers[call][0]:
                            late_receivers[call] = (w, s, r)
            if synchronous:
                self.edges.append((call, [post]))
        for call, (w, s, r) in late_senders.items():
            wait = Wait("late-sender", call, w, s["loc"], s["post"].e, s["post"].first, s["post"])
            self.waits.append(wait)
            for s2, r2 in pairs:
                if r2["loc"] == r["loc"] and r2["number"] > r["number"] and s2["time"] < s["time"]:
                    self.wrong_order.append(wait)
                    break
        for call, (w, s, r) in late_receivers.items():
            self.points.append({"pair": (call, r["post"])})
            self.waits.append(Wait("late-receiver", call, w, r["loc"], r["post"].e, r["post"].first, r["post"]))

    def wait_for(self, pattern, call, cause):
        w = min(cause.e, call.x) - call.e
        if w > 0:
            self.waits.append(Wait(pattern, call, w, cause.loc, cause.e, cause.first, cause))

    def completion(self, pattern, call, calls):
        w = call.x - max(min(c.x for c in calls), max(c.e for c in calls), call.e)
        if w > 0:
            self.completions.append((pattern, call, w))

    def collectives(self):
        instances = defaultdict(dict)
        for loc in self.order:
            n = defaultdict(int)
            for ev in self.locs[loc].events:
                if ev["kind"] == "collective-end" and ev["call"] is not None:
                    comm = ev["communicator"]
                    instances[comm, n[comm]][loc] = ev
                    n[comm] += 1
        for (comm, _), members in instances.items():
            ranks = self.comms.get(comm)
            if not ranks or set(ranks) != set(members):
                continue
            self.collective(ranks, [members[r] for r in ranks])

    def collective(self, ranks, evs):
        calls = [ev["call"] for ev in evs]
        op = evs[0]["operationName"]
        root = evs[0]["root"]
        last = max(calls, key=lambda c: c.e)
        n = len(calls)
        if op == "barrier":
            self.points.append({"group": calls, "shared": lambda i, j: True})
            for c in calls:
                self.wait_for("wait-at-barrier", c, last)
                self.completion("barrier-completion", c, calls)
                self.edges.append((c, calls))
        elif op in NXN:
            receives = [ev["received"] > 0 for ev in evs]
            self.points.append({"group": calls, "shared": lambda i, j: receives[i] or receives[j]})
            for c, ev, gets in zip(calls, evs, receives):
                if gets:
                    self.wait_for("wait-at-nxn", c, last)
                    self.edges.append((c, calls))
                    if ev["sent"] > 0:
                        self.completion("nxn-completion", c, calls)
        elif op in ONE_TO_ALL:
            for i in range(n):
                if i != root and evs[i]["received"] > 0:
                    self.points.append({"pair": (calls[root], calls[i])})
                    self.wait_for("late-broadcast", calls[i], calls[root])
                    self.edges.append((calls[i], [calls[root]]))
        elif op in ALL_TO_ONE:
            # On the path the root waits for the last one, and all do if nobody left before that came.
            first_out = min(c.x for c in calls)
            for i, c in enumerate(calls):
                if last.e < first_out or i == root and evs[root]["received"] > 0:
                    c.gathered = last
            if evs[root]["received"] > 0 and n > 1:
                others = [c for i, c in enumerate(calls) if i != root]
                for c in others:
                    self.points.append({"pair": (calls[root], c)})
                self.wait_for("early-reduce", calls[root], min(others, key=lambda c: c.e))
                self.edges.append((calls[root], calls))
        elif op in SCAN:
            self.points.append({"group": calls, "shared": lambda i, j: True})
            for k in range(n):
                latest = max(calls[:k + 1], key=lambda c: c.e)
                self.wait_for("early-scan", calls[k], latest)
                self.edges.append((calls[k], calls[:k + 1]))

    def init_and_finalize(self):
        for name in ("MPI_Init", "MPI_Finalize"):
            calls = [c for loc in self.order for c in self.locs[loc].calls
                     if (is_init(c.region) if name == "MPI_Init" else c.region == name)]
            if not calls:
                continue
            self.points.append({"group": calls, "shared": lambda i, j: True})
            last = max(calls, key=lambda c: c.e)
            for c in calls:
                self.edges.append((c, calls))
                if name == "MPI_Init":
                    self.completion("init-completion", c, calls)
                else:
                    self.wait_for("wait-at-finalize", c, last)

    def omp_barriers(self):
        for t in self.teams:
            lists = {}
            for loc, (begin, end) in t["members"].items():
                lists[loc] = [c for c in self.locs[loc].calls if begin < c.first < end and omp_barrier(c.region)]
            # Threads leave each other at the fork; each side's time begins with its own begin in the team.
            self.points.append({"team": t})
            for k in range(min(len(x) for x in lists.values())):
                calls = [x[k] for x in lists.values()]
                last = max(calls, key=lambda c: c.e)
                self.points.append({"group": calls, "shared": lambda i, j: True})
                for c in calls:
                    self.wait_for(omp_barrier(c.region), c, last)
                    self.edges.append((c, calls))

    def locks(self):
        uses = defaultdict(list)
        for loc in self.order:
            l = self.locs[loc]
            held = {}
            for i, ev in enumerate(l.events):
                if ev["kind"] == "lock-acquire":
                    held[ev["lock"]] = {"acquire": ev, "number": i, "loc": loc, "release": None}
                    uses[l.process, ev["lock"]].append(held[ev["lock"]])
                elif ev["kind"] == "lock-release":
                    held.pop(ev["lock"])["release"] = (ev["time"], i)
        self.lock_edges = []
        for (process, lock), list_ in uses.items():
            list_.sort(key=lambda u: (u["acquire"].get("order") or 0, u["acquire"]["time"]))
            for before, u in zip(list_, list_[1:]):
                if before["release"] is None:
                    continue
                call = u["acquire"]["call"]
                when, number = before["release"]
                self.lock_edges.append((u["loc"], u["number"], call, before["loc"], number))
                w = min(when, call.x) - call.e
                if w > 0 and before["loc"] != u["loc"]:
                    self.waits.append(Wait("lock-contention", call, w, before["loc"], when, number, None))

    # --- root causes (A.5)

    def shared_points(self):
        """By ordered pair (R, S): list of (call of R, call of S, start on R, start on S)."""
        out = defaultdict(list)

        def add(a, b):
            if a.loc == b.loc:
                return
            # Both go on when both calls have begun and one of them has ended.
            first, last = min(a.x, b.x), max(a.e, b.e)
            sa, sb = [min(c.x, max(first, last, c.e)) for c in (a, b)]
            out[a.loc, b.loc].append((a.last, b.last, a.first, b.first, sa, sb))
            out[b.loc, a.loc].append((b.last, a.last, b.first, a.first, sb, sa))

        for p in self.points:
            if "pair" in p:
                a, b = p["pair"]
                if a and b:
                    add(a, b)
            elif "group" in p:
                calls = p["group"]
                for i, a in enumerate(calls):
                    for j in range(i + 1, len(calls)):
                        if p["shared"](i, j):
                            add(a, calls[j])
            else:
                members = p["team"]["members"]
                for a in members:
                    for b in members:
                        if a != b:
                            na, nb = members[a][0], members[b][0]
                            out[a, b].append((na, nb, na, nb, self.locs[a].events[na]["time"],
                                              self.locs[b].events[nb]["time"]))
        return out

    def causes(self):
        shared = self.shared_points()
        waits_of = defaultdict(list)
        for w in self.waits:
            waits_of[w.loc].append(w)
        plans = {}
        uses = defaultdict(int)
        for w in self.waits:
            R, S = w.loc, w.cause_loc
            before = [p for p in shared.get((R, S), []) if p[0] < w.call.first and p[1] < w.cause_number]
            if before:
                # Both go on after the last meeting: the one of which the earlier continuation is the latest.
                p = max(before, key=lambda p: min(p[4], p[5]))
                start_r, start_s, opened_r, opened = p[4], p[5], p[0], p[1]
                rest = self.locs[S].events[opened]["call"]
            else:
                start_r, start_s, opened_r, opened = self.first, self.first, -1, -1
                rest = None
            ts = self.exclusive(S, start_s, w.cause_time)
            tr = self.exclusive(R, start_r, w.call.e)
            if not before:  # what was before the first event of a location
                ts[()] += self.locs[S].events[0]["time"] - self.first
                tr[()] += self.locs[R].events[0]["time"] - self.first
            # What the waiting location does while it waits itself is no work, either.
            for k in waits_of[R]:
                if opened_r < k.call.first < w.call.first:
                    tr[k.call.path] -= k.time
            own = [k for k in waits_of[S] if k.call.first > opened and k.call.first < w.cause_number and k is not w]
            for k in own:
                ts[k.call.path] -= k.time
            d = {cp: t - tr.get(cp, 0) for cp, t in ts.items() if t > tr.get(cp, 0)}
            plans[w] = (d, sum(d.values()), own, sum(k.time for k in own), rest.path if rest else ())
            for k in own:
                uses[k] += 1
        self.short = defaultdict(float)
        self.long = defaultdict(float)
        # What a wait costs is known after all later waits that it makes longer.
        carried = {w: defaultdict(float) for w in self.waits}  # by pattern of the wait at the end
        ready = [w for w in self.waits if uses[w] == 0]
        done = 0
        while ready:
            w = ready.pop()
            done += 1
            d, D, own, W, rest = plans[w]
            if D + W > 0:
                f = min(w.time / (D + W), 1)
                for cp, t in d.items():
                    self.short[w.pattern, w.cause_loc, cp] += f * t
                    for pattern, c in carried[w].items():
                        self.long[pattern, w.cause_loc, cp] += c / (D + W) * t
                # What no excess explains comes from the call in which both last met.
                self.short[w.pattern, w.cause_loc, rest] += w.time - f * (D + W)
                for k in own:
                    carried[k][w.pattern] += f * k.time
                    for pattern, c in carried[w].items():
                        carried[k][pattern] += c / (D + W) * k.time
            else:
                self.short[w.pattern, w.cause_loc, rest] += w.time
                for pattern, c in carried[w].items():
                    self.long[pattern, w.cause_loc, rest] += c
            for k in own:
                uses[k] -= 1
                if uses[k] == 0:
                    ready.append(k)
        if done != len(self.waits):
            raise ValueError("waits depend on each other in a circle")

    # --- critical path (A.6)

    def critical_path(self):
        finals = [c for l in self.locs.values() for c in l.calls if c.region == "MPI_Finalize"]
        if finals:
            c = max(finals, key=lambda c: c.e)
            loc, number, t = c.loc, c.first, c.e
        else:
            l = max((self.locs[k] for k in self.order), key=lambda l: l.events[-1]["time"])
            loc, number, t = l.id, len(l.events), l.events[-1]["time"]
        self.path_end = t
        jumps = defaultdict(list)  # by location: (number from which it holds, time, where to, number there)
        for w in self.waits:
            # A call that ends before its cause has clocks in disorder. The path stays.
            if w.cause_time <= w.call.x:
                after = w.call.first
                jumps[w.loc].append((after, w.cause_time, w.cause_loc, w.cause_number))
        for l in self.locs.values():
            for c in l.calls:
                if hasattr(c, "gathered"):
                    last = c.gathered
                    jumps[l.id] = [j for j in jumps[l.id] if j[0] != c.first]
                    if last.e > c.e and last.e <= c.x:
                        jumps[l.id].append((c.first, last.e, last.loc, last.first))
        for team in self.teams:
            owner, fork = team["fork"]
            for m, (begin, _) in team["members"].items():
                if m != owner:
                    jumps[m].append((begin, self.locs[owner].events[fork]["time"], owner, fork))
        pieces = []
        while True:
            found = [j for j in jumps[loc] if j[0] < number and j[1] <= t]
            if not found:
                break
            j = max(found)
            pieces.append((loc, j[1], t))
            t, loc, number = j[1], j[2], j[3]
        inits = [c for c in self.locs[loc].calls if is_init(c.region)]
        begin = inits[0].e if inits else self.locs[loc].events[0]["time"]
        pieces.append((loc, begin, t))
        pieces.reverse()
        self.path_begin = begin
        self.pieces = [p for p in pieces if p[1] < p[2]]
        self.on_path = defaultdict(int)
        for loc, a, b in self.pieces:
            for cp, t in self.exclusive(loc, a, b).items():
                self.on_path[loc, cp] += t
            # A thread's time from the fork to its begin in the team belongs to the parallel region.
            for team in self.teams:
                if loc in team["members"] and team["fork"][0] != loc:
                    begin, end = team["members"][loc]
                    d = min(b, self.locs[loc].events[begin]["time"]) - max(a, team["time"])
                    calls = [c for c in self.locs[loc].calls if begin < c.first < end]
                    if d > 0 and calls:
                        self.on_path[loc, calls[0].path] += d

    def impact(self):
        """By (location, path): time on the path, own time as far as the path has it, the rest, imbalance impact."""
        own = defaultdict(lambda: defaultdict(int))
        for loc in self.order:
            for s in self.locs[loc].segments:
                if s[2] is not None and s[1] > s[0]:
                    own[loc][s[2]] += s[1] - s[0]
        for w in self.waits:
            if w.pattern != "early-reduce":
                own[w.loc][w.call.path] -= w.time
        for loc in self.order:
            for c in self.locs[loc].calls:
                if hasattr(c, "gathered") and c.gathered.e > c.e:
                    own[loc][c.path] -= min(c.gathered.e, c.x) - c.e
        total = defaultdict(int)
        for (loc, cp), t in self.on_path.items():
            total[cp] += t
        length = self.path_end - self.path_begin
        impact = defaultdict(float)
        activities, rest = {}, {}
        for loc in self.order:
            lack = length - sum(own[loc].values())  # less than 0 if the location works on behind the path
            above = {cp: t - own[loc].get(cp, 0) for cp, t in total.items() if t > own[loc].get(cp, 0)}
            for cp, t in own[loc].items():
                activities[loc, cp] = min(t, total.get(cp, 0))
                rest[loc, cp] = t - activities[loc, cp]
            for cp, t in above.items():
                impact[cp] += lack * t / sum(above.values())
        impact = {cp: max(0, t) for cp, t in impact.items()}
        n = len(self.order)
        imbalance = {cp: max(0, t - sum(own[loc].get(cp, 0) for loc in self.order) / n) for cp, t in total.items()}
        spread = {(loc, cp): impact.get(cp, 0) * t / total[cp] for (loc, cp), t in self.on_path.items() if t}
        return activities, rest, spread, imbalance

    # --- POP factors (A.7) and re-timing (A.8)

    def retime(self):
        """Times of all events on a network that takes no time. Returns by location the list of new times."""
        need = defaultdict(list)  # (loc, number): events that must not be later
        for call, causes in self.edges:
            need[call.loc, call.last] += [(c.loc, c.first) for c in causes]
        for loc, number, call, from_loc, from_number in self.lock_edges:
            need[loc, number].append((from_loc, from_number))
        late = {}  # what takes time after its cause and is kept
        for loc, number, call, from_loc, from_number in self.lock_edges:
            t = self.locs[from_loc].events[from_number]["time"]
            late[loc, number] = self.locs[loc].events[number]["time"] - max(call.e, t)
        for team in self.teams:
            owner, fork = team["fork"]
            for m, (begin, end) in team["members"].items():
                if m != owner:
                    need[m, begin].append((owner, fork))
                    late[m, begin] = self.locs[m].events[begin]["time"] - self.locs[owner].events[fork]["time"]
            if team["join"]:
                ends = [(m, end) for m, (_, end) in team["members"].items() if m != owner]
                need[team["join"]] += ends
                a, b = team["join"]
                done = max([self.locs[m].events[end]["time"] for m, end in ends] + [self.locs[a].events[b - 1]["time"]])
                late[a, b] = self.locs[a].events[b]["time"] - done
        new = {loc: [] for loc in self.order}
        moved = True
        while moved:
            moved = False
            for loc in self.order:
                l = self.locs[loc]
                while len(new[loc]) < len(l.events):
                    i = len(new[loc])
                    if any(len(new[a]) <= b for a, b in need.get((loc, i), []) if (a, b) != (loc, i)):
                        break
                    if i == 0:
                        # Locations that exist from the beginning keep their start.
                        t = l.events[0]["time"] if l.events[0]["kind"] != "thread-team-begin" else self.first
                    else:
                        s = l.segments[i - 1]
                        gap = s[1] - s[0]
                        region = s[3]
                        if region is None:
                            gap = 0 if (loc, i) in need else gap
                        elif is_mpi(region) or omp_barrier(region):
                            gap = 0
                        t = new[loc][-1] + gap
                    if (loc, i) in late:
                        # After the cause, what the trace has between both. Without the cause, the same.
                        kept = late[loc, i]
                        own = new[loc][-1] if i else self.first
                        t = max([own] + [new[a][b] for a, b in need[loc, i]]) + kept
                    else:
                        t = max([t] + [new[a][b] for a, b in need.get((loc, i), [])])
                    new[loc].append(t)
                    moved = True
        for loc in self.order:
            if len(new[loc]) < len(self.locs[loc].events):
                raise ValueError("location %s waits for ever in the re-timed run" % loc)
        return new

    def efficiency(self):
        T = self.last - self.first
        useful, mpi = defaultdict(int), defaultdict(int)
        for loc in self.order:
            for a, b, path, region, _ in self.locs[loc].segments:
                if region is None:
                    continue
                if is_mpi(region):
                    mpi[loc] += b - a
                elif not is_runtime(region):
                    useful[loc] += b - a
        new = self.retime()
        ideal = max(x[-1] for x in new.values()) - min(x[0] for x in new.values())
        n = len(self.order)
        mean, most = sum(useful.values()) / n, max(useful[l] for l in self.order)
        out = {"runtime": T, "ideal": ideal, "useful": sum(useful.values()), "usefulMax": most,
               "factors": {"parallel": mean / T, "load-balance": mean / most, "communication": most / T,
                           "serialisation": most / ideal, "transfer": ideal / T}}
        processes = defaultdict(list)
        for loc in self.order:
            processes[self.locs[loc].process].append(loc)
        if any(len(p) > 1 for p in processes.values()):
            out["hybrid"] = self.hybrid(processes, useful, mpi, T, ideal, n)
        return out

    def hybrid(self, processes, useful, mpi, T, ideal, n):
        outside = [T - mpi[p[0]] for p in processes.values()]
        o_mean, o_max = sum(outside) / len(outside), max(outside)
        u_mean, u_max = sum(useful.values()) / n, max(useful.values())
        mpi_pe = o_mean / T
        # The ideal runtime lacks time of OpenMP's barriers, which O has. No factor is above 1.
        of_mpi = max(ideal, o_max)
        out = {"mpi-parallel": mpi_pe, "mpi-load-balance": o_mean / o_max, "mpi-communication": o_max / T,
               "mpi-serialisation": o_max / of_mpi, "mpi-transfer": of_mpi / T,
               "omp-parallel": u_mean / T / mpi_pe, "omp-load-balance": (u_mean / u_max) / (o_mean / o_max),
               "omp-communication": u_max / o_max}
        omp, serial = {}, {}
        for p, locs in processes.items():
            master = self.locs[locs[0]]
            inside = [(master.events[t["fork"][1]]["time"], master.events[t["join"][1]]["time"]) for t in self.teams
                      if t["fork"][0] == master.id and t["join"]]
            omp[p] = sum(b - a for a, b in inside)
            serial[p] = sum(min(s[1], b) - max(s[0], a) for s in master.segments for a, b in self.gaps(inside)
                            if s[3] is not None and not is_mpi(s[3]) and not is_runtime(s[3])
                            and min(s[1], b) > max(s[0], a))
        weight = {p: len(locs) / n for p, locs in processes.items()}
        avg_omp = sum(weight[p] * omp[p] for p in processes)
        avg_su = sum(weight[p] * serial[p] for p in processes)
        most = max(omp[p] + serial[p] for p in processes)
        out["process"] = (avg_omp + avg_su) / T
        out["process-load-balance"] = 1 - (most - avg_omp - avg_su) / T
        out["process-communication"] = most / T
        of_mpi = max(ideal, most)
        out["process-serialisation"] = 1 - (of_mpi - most) / T
        out["process-transfer"] = of_mpi / T
        out["thread"] = 1 - (avg_omp + avg_su - u_mean) / T
        out["serial-region"] = 1 - (avg_su - sum(serial.values()) / n) / T
        out["omp-region"] = 1 - (avg_omp - (sum(useful.values()) - sum(serial.values())) / n) / T
        return out

    def gaps(self, inside):
        out, a = [], self.first
        for x, y in sorted(inside):
            out.append((a, x))
            a = y
        out.append((a, self.last))
        return out

    # --- result

    def result(self):
        patterns = defaultdict(lambda: defaultdict(lambda: [0, 0]))

        def add(pattern, call, time):
            cell = patterns[pattern][call.loc, call.path]
            cell[0] += 1
            cell[1] += time

        for w in self.waits:
            add(w.pattern, w.call, w.time)
        for w in self.wrong_order:
            add("late-sender-wrong-order", w.call, w.time)
        for pattern, call, time in self.completions:
            add(pattern, call, time)
        self.causes()
        self.critical_path()
        activities, rest, spread, imbalance = self.impact()
        costs = defaultdict(list)
        for key in sorted(set(self.short) | set(self.long)):
            pattern, loc, cp = key
            costs[pattern].append([loc, cp, self.short.get(key, 0.0), self.long.get(key, 0.0)])
        table = []
        for key in sorted(set(activities) | set(self.on_path)):
            loc, cp = key
            table.append([loc, cp, self.on_path.get(key, 0), activities.get(key, 0), rest.get(key, 0),
                          spread.get(key, 0.0)])
        return {
            "patterns": {p: [[loc, cp, c, t] for (loc, cp), (c, t) in sorted(cells.items())]
                         for p, cells in patterns.items()},
            "waits": [[w.pattern, w.loc, w.call.path, w.begin, w.time, w.call.x, w.cause_loc, w.cause_time]
                      for w in self.waits],
            "costs": costs,
            "path": {"begin": self.path_begin, "end": self.path_end, "pieces": self.pieces, "table": table,
                     "imbalance": [[cp, t] for cp, t in sorted(imbalance.items())]},
            "efficiency": self.efficiency(),
            "violations": [len(self.violations), sum(self.violations)],
        }


def main():
    sys.setrecursionlimit(10000)
    definitions, events = None, []

    def finish():
        if definitions is not None:
            print(json.dumps(Trace(definitions, events).result()), flush=True)

    for line in sys.stdin:
        record = json.loads(line)
        if "locations" in record:
            finish()
            definitions, events = record, []
        else:
            events.append(record)
    finish()


if __name__ == "__main__":
    main()
