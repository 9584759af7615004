"""The wait states of one-sided communication, for reference.py. It is plain: it searches lists of all epochs."""

from collections import defaultdict

WINDOW_CALLS = {"MPI_Win_create": "wait-at-rma-create", "MPI_Win_fence": "wait-at-rma-fence",
                "MPI_Win_free": "wait-at-rma-free"}


def inside(call, time):
    return call.e < time <= call.x


class OneSided:
    """Adds to the waits, parts, edges and points of a trace. wait() makes a wait."""

    def one_sided(self, wait):
        self.parts = []
        self.make_wait = wait
        self.operations()
        accesses, exposures = self.epochs()
        self.match(accesses, exposures)
        self.window_locks()

    def operations(self):
        instances, incoming = defaultdict(dict), defaultdict(list)
        for loc in self.order:
            number = defaultdict(int)
            for ev in self.locs[loc].events:
                window = ev.get("window")
                if ev["kind"] == "rma-put" and ev["remote"] != loc:
                    incoming[window, number[window], ev["remote"]].append(ev["call"])
                elif ev["kind"] == "rma-collective-end":
                    instances[window, number[window]][loc] = ev["call"]
                    number[window] += 1
        for (window, n), members in instances.items():
            calls = list(members.values())
            last = max(calls, key=lambda c: c.e)
            self.points.append({"group": calls, "shared": lambda i, j: True})
            for loc, call in members.items():
                self.edges.append((call, calls))
                time = min(last.e, call.x) - call.e
                pattern = WINDOW_CALLS[call.region]
                if time <= 0:
                    continue
                self.waits.append(self.make_wait(pattern, call, time, last.loc, last.e, last.first, last))
                ends = [c.x for c in incoming[window, n, loc]]
                if pattern == "wait-at-rma-fence" and ends and max(ends) > call.e:
                    self.parts.append(("early-rma-fence", call, min(time, max(ends) - call.e)))

    def epochs(self):
        accesses, exposures = [], []
        for loc in self.order:
            access, exposure = {}, {}
            for ev in self.locs[loc].events:
                call, window = ev.get("call"), ev.get("window")
                if ev["kind"] == "rma-put" and window in access:
                    access[window]["calls"].append((ev["remote"], call))
                if ev["kind"] != "rma-group-sync":
                    continue
                group = self.sets[str(ev["group"])]
                if call.region == "MPI_Win_start":
                    access[window] = {"loc": loc, "window": window, "group": group, "begin": call, "calls": []}
                    accesses.append(access[window])
                elif call.region == "MPI_Win_complete":
                    access.pop(window)["end"] = call
                elif call.region == "MPI_Win_post":
                    exposure[window] = {"loc": loc, "window": window, "group": group, "begin": call}
                    exposures.append(exposure[window])
                else:
                    exposure.pop(window)["end"] = call
        return accesses, exposures

    def match(self, accesses, exposures):
        partners = defaultdict(list)  # by number of the epoch: its partners
        for o in self.order:
            for t in self.order:
                a = [x for x in accesses if x["loc"] == o and t in x["group"]]
                b = [x for x in exposures if x["loc"] == t and o in x["group"]]
                for x, y in zip(a, b):
                    partners[id(x)].append(y)
                    partners[id(y)].append(x)
        for x in accesses:
            posts = {y["loc"]: y["begin"] for y in partners[id(x)]}
            last = max(posts.values(), key=lambda c: c.e)
            for call in (x["begin"], x["end"]):
                if inside(call, last.e):
                    self.late_post(call, last)
            waited = set()
            for target, call in x["calls"]:
                post = posts.get(target)
                if post and inside(call, post.e) and call not in waited:
                    waited.add(call)
                    self.late_post(call, post)
                    self.depends(call, post)
            needs = x["begin"] if inside(x["begin"], last.e) else x["end"]
            for post in posts.values():
                if post.e <= needs.x:
                    self.depends(needs, post)
        for y in exposures:
            ends = [x["end"] for x in partners[id(y)]]
            last = max(ends, key=lambda c: c.e)
            call = y["end"]
            for end in ends:
                if end.e <= call.x:
                    self.depends(call, end)
            until = min(last.e, call.x)
            if until > call.e:
                w = self.make_wait("early-wait", call, until - call.e, last.loc, last.e, last.first, last)
                self.waits.append(w)
            accessed = [call.e]
            for x in partners[id(y)]:
                own = [c.x for target, c in x["calls"] if target == y["loc"]]
                accessed.append(max(own) if own else x["begin"].x)
            if until > max(accessed):
                self.parts.append(("late-complete", call, until - max(accessed)))

    def late_post(self, call, post):
        self.waits.append(self.make_wait("late-post", call, post.e - call.e, post.loc, post.e, post.first, post))

    def depends(self, call, cause):
        self.edges.append((call, [cause]))
        self.points.append({"pair": (call, cause)})

    def window_locks(self):
        epochs = defaultdict(list)
        for loc in self.order:
            held = {}
            for i, ev in enumerate(self.locs[loc].events):
                if ev["kind"] == "rma-lock-acquire":
                    key = ev["window"], ev["remote"], ev["lock"]
                    held[key] = {"loc": loc, "shared": ev["type"] == 1, "calls": [ev["call"]]}
                    epochs[key].append(held[key])
                elif ev["kind"] == "rma-put":
                    for key, x in held.items():
                        if key[:2] == (ev["window"], ev["remote"]):
                            x["calls"].append(ev["call"])
                elif ev["kind"] == "rma-lock-release":
                    x = held.pop((ev["window"], ev["remote"], ev["lock"]))
                    x["calls"].append(ev["call"])
                    x["release"], x["number"] = ev["time"], i
        for (_, target, _), group in epochs.items():
            for x in group:
                # Others can have the lock from the begin of the call that unlocks on.
                before = []
                for y in group:
                    if y["loc"] == x["loc"] or x["shared"] and y["shared"] or y["release"] > x["release"]:
                        continue
                    for c in x["calls"]:
                        end = min(c.x, x["release"])
                        if c.e < y["release"] and (y["calls"][-1].e < end or y["release"] <= end):
                            time = min(y["release"], end)
                            # The lock can be free from the begin of the other call that unlocks on.
                            free = y["number"] if y["release"] <= end else y["calls"][-1].first
                            before.append((y["release"], time - c.e, time, y["loc"], y["number"], c, free))
                waited = None
                if before:
                    _, _, time, loc, number, call, free = max(before, key=lambda b: b[:2])
                    w = self.make_wait("rma-lock-contention", call, time - call.e, loc, time, number, None)
                    self.waits.append(w)
                    # A call that unlocks has the lock before it releases it.
                    late = x["number"] if call is x["calls"][-1] else call.last
                    self.release_edges.append((x["loc"], late, loc, free))
                    waited = w
                for call in dict.fromkeys(x["calls"]):
                    self.progress(x, call, target, waited)

    def progress(self, x, call, target, waited):
        """The wait of a call of epoch x for the next MPI call of the target. waited is the epoch's wait for the lock."""
        if target == call.loc or target not in self.locs:
            return
        calls = [c for c in self.mpi_calls(target) if c.x > call.e]
        if not calls:
            return
        cause = min(calls, key=lambda c: c.x)
        unlocks = call is x["calls"][-1]
        if not call.e < cause.e <= (min(call.x, x["release"]) if unlocks else call.x):
            return
        self.release_edges.append((call.loc, x["number"] if unlocks else call.last, target, cause.first))
        self.points.append({"pair": (call, cause)})
        if waited and waited.call is call:
            if cause.e <= waited.end:
                return
            self.waits.remove(waited)
        w = self.make_wait("wait-for-progress", call, cause.e - call.e, target, cause.e, cause.first, cause)
        self.waits.append(w)

    def mpi_calls(self, loc):
        recorded = {id(ev["call"]) for ev in self.locs[loc].events
                    if ev.get("call") and ev["kind"] not in ("enter", "leave")}
        always = ("MPI_Init", "MPI_Finalize", "MPI_Win_")
        return [c for c in self.locs[loc].calls if c.region.startswith("MPI_")
                and (id(c) in recorded or c.region.startswith(always))]
