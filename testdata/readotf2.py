#!/usr/bin/env python3
"""Read OTF2 archives whole with otf2's own Python bindings.

    readotf2.py ANCHORFILE...

Prints a line for each archive: how many events it has, or why the bindings refuse it. They check
more than the C library does: types of groups and of attributes, and references.
"""

import sys

sys.path.append("/usr/lib/python3/dist-packages")
import otf2


def read(path):
    events = 0
    with otf2.reader.open(path) as trace:
        for group in trace.definitions.groups:
            list(group.members)
        for communicator in trace.definitions.comms:
            communicator.group
        for _, event in trace.events:
            events += 1
            dict(event.attributes or {})
    return events


for path in sys.argv[1:]:
    try:
        print(read(path), flush=True)
    except Exception as e:
        print("%s: %s" % (type(e).__name__, e), flush=True)
