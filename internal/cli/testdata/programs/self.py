"""Writes an archive in which three ranks call barriers and a broadcast on MPI_COMM_SELF, at different times.

    python3 self.py FOLDER

Rank 0 is in each of its two barriers while the others begin theirs.
"""
import sys

sys.path.append("/usr/lib/python3/dist-packages")
import otf2
from otf2.enums import CollectiveOp, GroupType, Paradigm, RegionRole

NO_ROOT = 2**32 - 1
with otf2.writer.open(sys.argv[1], timer_resolution=1000000000) as trace:
    d = trace.definitions
    node = d.system_tree_node("machine", class_name="machine")
    locations = [d.location("main", group=d.location_group("rank %d" % i, system_tree_parent=node)) for i in range(3)]
    d.group("", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=locations)
    alone = d.comm("MPI_COMM_SELF", group=d.group("self", group_type=GroupType.COMM_SELF, paradigm=Paradigm.MPI,
                                                  members=[]))
    barrier = d.region("MPI_Barrier", paradigm=Paradigm.MPI, region_role=RegionRole.BARRIER, source_file="",
                       begin_line_number=0, end_line_number=0)
    broadcast = d.region("MPI_Bcast", paradigm=Paradigm.MPI, region_role=RegionRole.COLL_ONE2ALL, source_file="",
                         begin_line_number=0, end_line_number=0)
    for i, location in enumerate(locations):
        w = trace.event_writer_from_location(location)
        for begin in (1000 * (i + 1), 1000 * (i + 1) + 10000):
            end = begin + (2000 if i == 0 else 500)
            w.enter(begin, barrier)
            w.mpi_collective_begin(begin + 1)
            w.mpi_collective_end(end, CollectiveOp.BARRIER, alone, NO_ROOT, 0, 0)
            w.leave(end + 1, barrier)
        w.enter(50000, broadcast)
        w.mpi_collective_begin(50001)
        w.mpi_collective_end(50010, CollectiveOp.BCAST, alone, 0, 8, 8)
        w.leave(50011, broadcast)
