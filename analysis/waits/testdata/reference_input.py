"""The traces on standard input, for reference.py and reference_devices.py."""

import json
import sys


def traces():
    """Yields the definitions and the events of each trace. reference.py describes the lines."""
    definitions, events = None, []
    for line in sys.stdin:
        record = json.loads(line)
        if "locations" in record:
            if definitions is not None:
                yield definitions, events
            definitions, events = record, []
        else:
            events.append(record)
    if definitions is not None:
        yield definitions, events
