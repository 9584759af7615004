"""A second implementation of the semantics of weft verify, straight from their definitions.

It reads a JSON object per line: the states of a trace ([time, [propositions]]), a signal of constant pieces
([from, to, value]), the end of the trace, and a formula as a list: ["prop", name], ["signal", op, number], ["not", f],
["and", f, g], ["or", f, g], ["implies", f, g], ["next", f], ["globally", bound, f], ["finally", bound, f] and
["until", bound, f, g], where f holds until g does. A bound is null or [low, high, lowOpen, highOpen]; high may be
null. The signal may be derived of calls instead ("usage" or "wip"). For each line it prints [two-valued, informative
prefix, robustness], the second "good", "bad" or "none".
All times are whole numbers.
"""
import json
import math
import operator
import sys

OPS = {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt, "==": operator.eq, "!=": operator.ne}


def within(d, bound):
    if bound is None:
        return True
    low, high, low_open, high_open = bound
    if d < low or low_open and d == low:
        return False
    return high is None or d < high or not high_open and d == high


def beyond(d, bound):
    return bound is not None and bound[1] is not None and d > bound[1] or \
        bound is not None and bound[3] and bound[1] is not None and d == bound[1]


def never(bound):
    """Whether no time is within the bound. A trace that goes on can have times between whole ones."""
    if bound is None or bound[1] is None:
        return False
    low, high, low_open, high_open = bound
    return low > high or low == high and (low_open or high_open)


robust = False  # truth values are numbers, and None does not occur


def truth(a):
    return (math.inf if a else -math.inf) if robust else a


def k_not(a):
    if robust:
        return -a
    return None if a is None else not a


def k_and(a, b):
    if robust:
        return min(a, b)
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def k_or(a, b):
    return k_not(k_and(k_not(a), k_not(b)))


class States:
    """A formula over the states; end is the value of what lies behind the last one: False or None (unknown)."""

    def __init__(self, states, signal, end):
        self.states, self.signal, self.end = states, signal, end

    def value(self, op, number, t):
        for n, (start, stop, v) in enumerate(self.signal):
            follows = any(m != n and s[0] == stop for m, s in enumerate(self.signal))
            if start <= t < stop or t == stop and not follows:
                if robust:
                    d = v - number
                    return {"<": -d, "<=": -d, "==": -abs(d), "!=": abs(d)}.get(op, d)
                return OPS[op](v, number)
        return truth(False)

    def at(self, f, i):
        op = f[0]
        if op == "true":
            return truth(True)
        if op == "prop":
            return truth(f[1] in self.states[i][1])
        if op == "signal":
            return self.value(f[1], f[2], self.states[i][0])
        if op == "not":
            return k_not(self.at(f[1], i))
        if op == "and":
            return k_and(self.at(f[1], i), self.at(f[2], i))
        if op == "or":
            return k_or(self.at(f[1], i), self.at(f[2], i))
        if op == "implies":
            return k_or(k_not(self.at(f[1], i)), self.at(f[2], i))
        if op == "next":
            return self.at(f[1], i + 1) if i + 1 < len(self.states) else self.end
        if op == "finally":
            return self.at(["until", f[1], ["true"], f[2]], i)
        if op == "globally":
            return k_not(self.at(["finally", f[1], ["not", f[2]]], i))
        bound, holds, goal = f[1], f[2], f[3]
        result, so_far = truth(False), truth(True)
        over = never(bound)
        for j in range(i, len(self.states)):
            d = self.states[j][0] - self.states[i][0]
            if beyond(d, bound):
                over = True
                break
            if within(d, bound):
                result = k_or(result, k_and(so_far, self.at(goal, j)))
            so_far = k_and(so_far, self.at(holds, j))
        if over:
            return result
        return k_or(result, k_and(so_far, self.end))


class Dense:
    """A formula over all times. All bounds are whole numbers, so that quarters stand for what lies between."""

    def __init__(self, signal, last, end):
        self.signal, self.last, self.end = signal, 4 * last, end
        self.known = {}

    def at(self, f, t):
        if t % 4:
            t += 2 - t % 4  # all times between two whole ones have the same value; the middle has some on both sides
        key = (json.dumps(f), t)
        if key not in self.known:
            self.known[key] = self.find(f, t)
        return self.known[key]

    def find(self, f, t):
        op = f[0]
        if op == "true":
            return truth(True)
        if op == "signal":
            return States([], self.signal, None).value(f[1], f[2], t / 4)
        if op == "not":
            return k_not(self.at(f[1], t))
        if op == "and":
            return k_and(self.at(f[1], t), self.at(f[2], t))
        if op == "or":
            return k_or(self.at(f[1], t), self.at(f[2], t))
        if op == "implies":
            return k_or(k_not(self.at(f[1], t)), self.at(f[2], t))
        if op == "finally":
            return self.at(["until", f[1], ["true"], f[2]], t)
        if op == "globally":
            return k_not(self.at(["finally", f[1], ["not", f[2]]], t))
        bound, holds, goal = f[1], f[2], f[3]
        quarters = bound and [4 * bound[0], None if bound[1] is None else 4 * bound[1], bound[2], bound[3]]
        result, so_far = truth(False), truth(True)
        for u in range(t, self.last + 1):
            if within(u - t, quarters):
                here = self.at(goal, u)
                if u > t and u % 4:
                    # Between two whole times, the formula must hold before the goal does.
                    here = k_and(here, self.at(holds, u))
                result = k_or(result, k_and(so_far, here))
            so_far = k_and(so_far, self.at(holds, u))
        if bound is not None and bound[1] is not None:
            empty = bound[0] == bound[1] and (bound[2] or bound[3])
            if empty or t + quarters[1] <= self.last:
                return result
        return k_or(result, k_and(so_far, self.end))


NAMES = {True: "good", False: "bad", None: "none"}



def derive(kind, calls, end):
    """The signal of the number of calls, or objects, [begin, end, object], that are there at each whole time."""
    if kind == "wip":
        objects = {}
        for begin, stop, name in calls:
            known = objects.get(name, [begin, stop])
            objects[name] = [min(begin, known[0]), max(stop, known[1])]
        calls = list(objects.values())
    if end == 0:  # the trace has a single time, at which nothing counts
        return [[0, 0, 0]]
    return [[t, t + 1, sum(c[0] <= t < c[1] for c in calls)] for t in range(end)]


for line in sys.stdin:
    x = json.loads(line)
    if x["derived"]:
        x["signal"] = derive(x["derived"], x["calls"], x["end"])
    out = []
    for end in (False, None, -math.inf):
        robust = end not in (False, None)
        if x["dense"]:
            r = Dense(x["signal"], x["end"], end).at(x["formula"], 0)
        else:
            r = States(x["states"], x["signal"], end).at(x["formula"], 0)
        out.append(r)
    print(json.dumps([out[0], NAMES[out[1]], str(out[2])]))
