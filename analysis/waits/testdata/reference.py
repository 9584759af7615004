#!/usr/bin/env python3
"""A second implementation of wait states, root causes, the critical path and POP factors.

It is slow and plain: it holds the whole trace, and searches lists. It shares no code with weft, so that a mistake
must be made twice to stay unseen. Tests compare both on random traces.

Standard input holds traces as JSON Lines. The first line of a trace defines it:

  {"locations": [{"id": "0", "process": "0"}, ...], "communicators": {"0": ["0", "1"]}, "sets": {"2": ["0"]}}

with the locations of a communicator in the order of its ranks, and those of groups by index. The lines of events
follow, as weft print --json prints them. Standard output gets one line of JSON for each trace.
"""

import json
import sys
from collections import defaultdict

from reference_input import traces
from reference_waits import WaitStates, is_mpi, is_init, is_lock_call, omp_barrier, is_runtime


class Trace(WaitStates):
    """The root causes, the critical path and the factors of a trace."""

    def causes(self):
        self.known_ends = {}
        shared = self.shared_points()
        waits_of = defaultdict(list)
        for w in self.waits:
            waits_of[w.loc].append(w)
        plans = {}
        uses = defaultdict(int)
        for w in self.waits:
            d, own, met = self.compare(shared, waits_of, w.loc, w.cause_loc, (w.call.first, w.call.e),
                                       (w.cause_number, w.cause_time), w)
            plans[w] = (d, sum(d.values()), own, sum(t for _, t in own), self.unexplained(shared, waits_of, w, met))
            for k, _ in own:
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
            # Waits in calls that end later carry no shares. What would be theirs is a cost as the rest is.
            passed = [(k, t) for k, t in own if k.call.x > w.call.x]
            own = [(k, t) for k, t in own if k.call.x <= w.call.x]
            P = sum(t for _, t in passed)
            if D + W > 0:
                f = min(w.time / (D + W), 1)
                for cp, t in d.items():
                    self.short[w.pattern, w.cause_loc, cp] += f * t
                    for pattern, c in carried[w].items():
                        self.long[pattern, w.cause_loc, cp] += c / (D + W) * t
                for cp, t in rest.items():
                    part = t / sum(rest.values())
                    self.short[w.pattern, w.cause_loc, cp] += (w.time - f * (D + W - P)) * part
                    for pattern, c in carried[w].items():
                        self.long[pattern, w.cause_loc, cp] += c / (D + W) * P * part
                for k, t in own:
                    carried[k][w.pattern] += f * t
                    for pattern, c in carried[w].items():
                        carried[k][pattern] += c / (D + W) * t
            else:
                for cp, t in rest.items():
                    part = t / sum(rest.values())
                    self.short[w.pattern, w.cause_loc, cp] += w.time * part
                    for pattern, c in carried[w].items():
                        self.long[pattern, w.cause_loc, cp] += c * part
            for k, _ in own + passed:
                uses[k] -= 1
                if uses[k] == 0:
                    ready.append(k)
        if done != len(self.waits):
            raise ValueError("waits depend on each other in a circle")

    def compare(self, shared, waits_of, R, S, to_r, to_s, w):
        """By path, the time that S spent more than R since they last met before an event (number, time) of each; the
        waits of S in this time; and the meeting."""
        before = [p for p in shared.get((R, S), []) if p[0] < to_r[0] and p[1] < to_s[0]]
        p = None
        if before:
            # Both go on after the last meeting: the one of which the earlier continuation is the latest.
            # Of equal ones, that in which the other one goes on earliest.
            p = max(before, key=lambda p: (min(p[4], p[5]), -max(p[4], p[5])))
        opened_r, opened, first_r, first_s, start_r, start_s = p or (-1, -1, None, None, self.first, self.first)
        ts = self.exclusive(S, start_s, to_s[1])
        tr = self.exclusive(R, start_r, to_r[1])
        if not p:  # what was before the first event of a location
            ts[()] += self.locs[S].events[0]["time"] - self.first
            tr[()] += self.locs[R].events[0]["time"] - self.first
        # What the waiting location does while it waits itself is no work, either.
        for k in waits_of[R]:
            if opened_r < k.call.first < to_r[0]:
                tr[k.call.path] -= k.time
            elif k.call.first == first_r:
                tr[k.call.path] -= max(0, k.end - max(k.begin, start_r))
        own = [(k, k.time) for k in waits_of[S] if opened < k.call.first < to_s[0] and k is not w]
        # In the call of the last meeting, the late location can go on waiting for another one.
        own += [(k, k.end - max(k.begin, start_s)) for k in waits_of[S]
                if k.call.first == first_s and k.end > start_s]
        for k, t in own:
            ts[k.call.path] -= t
        return {cp: t - tr.get(cp, 0) for cp, t in ts.items() if t > tr.get(cp, 0)}, own, p

    def unexplained(self, shared, waits_of, w, met):
        """By path, the shares of what no excess since a meeting explains."""
        R, S = w.loc, w.cause_loc
        shares, left = defaultdict(float), 1.0
        rest = None
        for looks in range(17):
            rest = met and self.locs[S].events[met[1]]["call"]
            # The late location can have come to the meeting after the waiting one had left it.
            late = rest.e - met[4] if rest and self.synchronises(rest) else 0
            if late <= 0 or looks == 16:
                break
            # Then the excess before this meeting explains it, as if the other one had waited there.
            call = self.locs[R].events[met[0]]["call"]
            d, _, before = self.compare(shared, waits_of, R, S,
                                        (met[2], call.e if call else self.locs[R].events[met[0]]["time"]),
                                        (met[3], rest.e), None)
            part = left / max(sum(d.values()), late)
            for cp, t in d.items():
                shares[cp] += part * t
            left -= part * sum(d.values())
            if not before or left < 1e-12:
                break
            met = before
        if left < 1e-12:
            return shares
        earlier = defaultdict(int)
        if late > 0:
            since = max([t for t in self.ends_of_calls(S) if t <= met[4]],
                        default=self.locs[S].events[0]["time"])
            earlier = self.exclusive(S, since, rest.e)
            for k in waits_of[S]:
                if since < k.call.x <= rest.e:
                    earlier[k.call.path] -= k.time
        earlier = {cp: t for cp, t in earlier.items() if t > 0} or {rest.path if rest else (): 1}
        for cp, t in earlier.items():
            shares[cp] += left * t / sum(earlier.values())
        return shares

    @staticmethod
    def synchronises(call):
        return is_mpi(call.region) or omp_barrier(call.region) is not None or is_lock_call(call.region)

    def ends_of_calls(self, loc):
        """The ends of a location's calls in which it synchronises, and the times of such events outside of calls."""
        if loc not in self.known_ends:
            ends = set()
            for ev in self.locs[loc].events:
                c = ev["call"]
                called = c and self.synchronises(c)
                if ev["kind"] not in ("enter", "leave", "request-test", "collective-begin", "rma-collective-begin"):
                    ends.add(c.x if called else ev["time"])
                elif ev["kind"] == "enter" and (is_init(c.region) or omp_barrier(c.region) or c.region in
                                                ("MPI_Finalize", "MPI_Barrier") or c.region.startswith("MPI_Win_")):
                    ends.add(c.x)
            self.known_ends[loc] = ends
        return self.known_ends[loc]

    # --- idle threads (A.4)

    def idle_threads(self):
        """By (location, path): idle time of other threads while the first one works alone, or in a smaller team."""
        alone, limited = defaultdict(int), defaultdict(int)
        for members in self.processes.values():
            first, others = members[0], len(members) - 1
            own = sorted((t for t in self.teams if t["fork"][0] == first), key=lambda t: t["time"])
            if not own:
                continue
            t = self.locs[first].events[0]["time"]
            for team in own:
                self.add_idle(alone, first, t, team["time"], others)
                begin, end = team["members"][first]
                t = [c.x for c in self.locs[first].calls if begin < c.first < end and omp_barrier(c.region)][-1]
                self.add_idle(limited, first, team["time"], t, len(members) - len(team["members"]))
            self.add_idle(alone, first, t, self.locs[first].events[-1]["time"], others)
        return {"alone": [[*k, t] for k, t in alone.items() if t], "limited": [[*k, t] for k, t in limited.items() if t]}

    def add_idle(self, sums, loc, a, b, threads):
        for cp, t in self.exclusive(loc, a, b).items():
            sums[loc, cp] += threads * t
        for w in self.waits:
            if w.loc == loc and a <= w.begin < b:
                sums[loc, w.call.path] -= threads * w.time

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
        for loc, number, from_loc, from_number in self.release_edges:
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
        # The team's threads do not wait for each other at the join in the re-timed run, but that is useful time.
        ideal = max(min(ideal, T), most)
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
        for pattern, call, time in self.completions + self.parts:
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
            "idle": self.idle_threads(),
            "path": {"begin": self.path_begin, "end": self.path_end, "pieces": self.pieces, "table": table,
                     "imbalance": [[cp, t] for cp, t in sorted(imbalance.items())]},
            "efficiency": self.efficiency(),
            "violations": [len(self.violations), sum(self.violations)],
        }


def main():
    sys.setrecursionlimit(10000)
    for definitions, events in traces():
        print(json.dumps(Trace(definitions, events).result()), flush=True)


if __name__ == "__main__":
    main()
