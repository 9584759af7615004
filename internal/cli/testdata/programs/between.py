"""Writes an archive with messages over an intercommunicator.

    python3 between.py FOLDER

Processes 0 and 1 are the one group, and processes 2 and 3 the other one. In the records of messages, ranks are positions
in the group of the partner. A tick is a microsecond.
"""
import sys

sys.path.append("/usr/lib/python3/dist-packages")
import _otf2
import otf2
from otf2.enums import CollectiveOp, GroupType, Paradigm, RegionRole

with otf2.writer.open(sys.argv[1], timer_resolution=1000000) as trace:
    d = trace.definitions
    node = d.system_tree_node("machine", class_name="machine")
    locations, writers = [], []
    for i in range(4):
        group = d.location_group("process %d" % i, system_tree_parent=node)
        locations.append(d.location("rank %d" % i, group=group))
        writers.append(trace.event_writer_from_location(locations[i]))
    main = d.region("main")
    send = d.region("MPI_Send", region_role=RegionRole.POINT2POINT, paradigm=Paradigm.MPI)
    receive = d.region("MPI_Recv", region_role=RegionRole.POINT2POINT, paradigm=Paradigm.MPI)
    barrier = d.region("MPI_Barrier", region_role=RegionRole.BARRIER, paradigm=Paradigm.MPI)
    d.group("", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=locations)
    groups = [d.group("", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI, members=members)
              for members in (locations, locations[:2], locations[2:])]
    world = d.comm("world", group=groups[0])
    between, title = 1, d.strings.create("between")
    write = d.write

    def write_all(writer):  # the bindings refuse to create intercommunicators
        write(writer)
        _otf2.GlobalDefWriter_WriteInterComm(writer.handle, between, title._ref, groups[1]._ref, groups[2]._ref,
                                             world._ref, 0)

    d.write = write_all

    def call(location, region, begin, end, record, partner, tag):
        w = writers[location]
        w.enter(begin, region)
        record(w.handle, None, end - 1 if region is receive else begin + 1, partner, between, tag, 8)
        w.leave(end, region)

    for w in writers:
        w.enter(0, main)
    call(0, send, 600, 640, _otf2.EvtWriter_MpiSend, 1, 7)  # to process 3, which receives from 200 on
    call(3, receive, 200, 650, _otf2.EvtWriter_MpiRecv, 0, 7)
    call(3, send, 700, 900, _otf2.EvtWriter_MpiSend, 0, 8)  # to process 0, which receives from 850 on
    call(0, receive, 850, 905, _otf2.EvtWriter_MpiRecv, 1, 8)
    for i, w in enumerate(writers):
        w.enter(910 + i, barrier)
        w.mpi_collective_begin(911 + i)
        _otf2.EvtWriter_MpiCollectiveEnd(w.handle, None, 920, CollectiveOp.BARRIER, between, 2**32 - 1, 0, 0)
        w.leave(921, barrier)
        w.leave(1000, main)
