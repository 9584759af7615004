"""Writes an archive with types that are unknown, and with groups and nodes that have no locations.

    python3 unknowns.py FOLDER
"""
import sys

sys.path.append("/usr/lib/python3/dist-packages")
import otf2
from otf2.enums import LocationGroupType, LocationType, Paradigm, RegionRole

with otf2.writer.open(sys.argv[1], timer_resolution=1000000000) as trace:
    d = trace.definitions
    node = d.system_tree_node("machine", class_name="machine")
    d.system_tree_node("storage", class_name="filesystem", parent=node)
    group = d.location_group("of any type", location_group_type=LocationGroupType.UNKNOWN, system_tree_parent=node)
    process = d.location_group("process", location_group_type=LocationGroupType.PROCESS, system_tree_parent=node)
    d.location_group("idle process", location_group_type=LocationGroupType.PROCESS, system_tree_parent=node)
    d.location_group("idle device", location_group_type=LocationGroupType.ACCELERATOR, system_tree_parent=node)
    locations = [d.location("of any type", type=LocationType.UNKNOWN, group=group),
                 d.location("thread", type=LocationType.CPU_THREAD, group=process)]
    region = d.region("of any role", source_file="", begin_line_number=0, end_line_number=0,
                      region_role=RegionRole.UNKNOWN, paradigm=Paradigm.UNKNOWN)
    for at in locations:
        w = trace.event_writer_from_location(at)
        w.enter(1000, region)
        w.leave(2000, region)
