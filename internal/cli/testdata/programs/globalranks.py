"""Writes an archive whose ranks are positions among the communicating locations (GLOBAL_MEMBERS).

    python3 globalranks.py FOLDER NAME

NAME is in the names of the locations and of the communicators. A Cartesian topology, a thread team and one side of an
intercommunicator use the group with GLOBAL_MEMBERS. There is a COMM_SELF group. The last collective operations lack a
begin. The third location has no events; its definitions are a mapping table and a clock offset.
"""
import sys

sys.path.append("/usr/lib/python3/dist-packages")
import _otf2
import otf2
from otf2.enums import CollectiveOp, GroupFlag, GroupType, MappingType, Paradigm

name = sys.argv[2]
with otf2.writer.open(sys.argv[1], timer_resolution=1000000000) as trace:
    d = trace.definitions
    node = d.system_tree_node("machine", class_name="machine")
    group = d.location_group("process", system_tree_parent=node)
    locations = [d.location("%s %d" % (name, i), group=group) for i in range(3)]
    main = d.region("main", source_file="", begin_line_number=0, end_line_number=0)
    d.group("", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=locations)
    all_of = d.group("all", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI, members=locations)
    some = d.group("some", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI, group_flags=GroupFlag.GLOBAL_MEMBERS,
                   members=locations[1:])
    own = d.group("own", group_type=GroupType.COMM_SELF, paradigm=Paradigm.MPI, members=[])
    world = d.comm(name + " world", group=all_of)
    part = d.comm(name + " part", group=some, parent=world)
    d.comm(name + " self", group=own)
    between, title = 3, d.strings.create(name + " between")
    write = d.write

    def write_all(writer):  # the bindings refuse to create intercommunicators
        write(writer)
        _otf2.GlobalDefWriter_WriteInterComm(writer.handle, between, title._ref, all_of._ref, some._ref, world._ref, 0)

    d.write = write_all
    topology = d.cart_topology(name + " line", communicator=part, dimensions=(d.cart_dimension("x", size=2),))
    d.cart_coordinate(topology, 2, (1,))
    for i, at in enumerate(locations[:2]):
        w = trace.event_writer_from_location(at)
        w.enter(1000, main)
        w.mpi_collective_begin(1010)
        _otf2.EvtWriter_MpiCollectiveEnd(w.handle, None, 1020 + i, CollectiveOp.BCAST, between, 1, 8, 8)
        w.thread_task_create(1030, part, 2, 1)
        w.mpi_collective_begin(1031)
        w.mpi_collective_end(1032, CollectiveOp.BARRIER, world, 2**32 - 1, 0, 0)
        w.mpi_collective_end(1033, CollectiveOp.BARRIER, world, 2**32 - 1, 0, 0)
        w.leave(1040, main)
    trace.event_writer_from_location(locations[2])
    local = _otf2.Archive_GetDefWriter(trace._handle, 2)
    _otf2.DefWriter_WriteMappingTable(local, MappingType.COMM, _otf2.IdMap_CreateFromUint64Array([1, 0], False))
    _otf2.DefWriter_WriteClockOffset(local, 1000, 7, 0.5)
