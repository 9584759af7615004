"""The calls of a trace, and the wait states in them, for reference.py."""

from collections import defaultdict

from reference_onesided import OneSided

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


class WaitStates(OneSided):
    def __init__(self, definitions, events):
        self.locs = {d["id"]: Location(d["id"], d["process"]) for d in definitions["locations"]}
        self.order = [d["id"] for d in definitions["locations"]]
        self.processes = defaultdict(list)  # their threads, also those without events
        for d in definitions["locations"]:
            self.processes[d["process"]].append(d["id"])
        self.comms = definitions["communicators"]
        self.sets = definitions.get("sets", {})
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
        self.release_edges = []  # (loc, number of an event, loc, number of a release that is before it)
        self.one_sided(Wait)

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
            if not call.region.startswith("MPI_Test") and (call.x > post.e or synchronous):
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
