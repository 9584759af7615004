"""Writes an archive whose events use ids that a mapping table exchanges, and ids that the table lacks.

    python3 mapped.py FOLDER KIND

The regions 0, 1 and 2 have no events. The table, sparse (KIND is 1) or dense (0), exchanges the regions 3 and 4.
"""
import sys

sys.path.append("/usr/lib/python3/dist-packages")
import _otf2
import otf2
from otf2.enums import MappingType

with otf2.writer.open(sys.argv[1], timer_resolution=1000000000) as trace:
    d = trace.definitions
    node = d.system_tree_node("machine", class_name="machine")
    group = d.location_group("process", system_tree_parent=node)
    location = d.location("main", group=group)
    regions = [d.region("region %d" % i, source_file="", begin_line_number=0, end_line_number=0) for i in range(9)]
    w = trace.event_writer_from_location(location)
    for i, r in enumerate(list(reversed(regions[3:])) + regions[3:]):
        w.enter(1000 + 10 * i, r)
        w.leave(1005 + 10 * i, r)
    if sys.argv[2] == "0":
        exchanged = _otf2.IdMap_CreateFromUint64Array([0, 1, 2, 4, 3], False)
    else:
        exchanged = _otf2.IdMap_Create(sys.modules["_otf2.IdMap"].ID_MAP_SPARSE, 2)
        _otf2.IdMap_AddIdPair(exchanged, 3, 4)
        _otf2.IdMap_AddIdPair(exchanged, 4, 3)
    local = _otf2.Archive_GetDefWriter(trace._handle, 0)
    _otf2.DefWriter_WriteMappingTable(local, MappingType.REGION, exchanged)
