"""Writes an archive with messages and transfers whose ranks no communicator has.

    python3 noranks.py FOLDER [RANK]

4294967294 is the rank that EZTrace records for MPI_PROC_NULL. One event has attributes that refer to a place in the
source and to an interrupt generator. With RANK, the archive has a message to this rank of a communicator of the first
location only.
"""
import sys

sys.path.append("/usr/lib/python3/dist-packages")
import otf2
from otf2.enums import GroupType, InterruptGeneratorMode, Paradigm, RmaSyncType, Type

with otf2.writer.open(sys.argv[1], timer_resolution=1000000000) as trace:
    d = trace.definitions
    node = d.system_tree_node("machine", class_name="machine")
    groups = [d.location_group("rank %d" % i, system_tree_parent=node) for i in range(2)]
    locations = [d.location("main", group=g) for g in groups]
    d.group("", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=locations)
    world = d.comm("world", group=d.group("", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI, members=locations))
    window = d.rma_win("window", comm=world)
    main = d.region("main", source_file="", begin_line_number=0, end_line_number=0)
    timer = d.interrupt_generator("timer", interrupt_generator_mode=InterruptGeneratorMode.TIME, exponent=-6, period=10)
    attributes = {d.attribute("place", type=Type.SOURCE_CODE_LOCATION): d.source_code_location("main.c", 12),
                  d.attribute("generator", type=Type.INTERRUPT_GENERATOR): timer}
    w = trace.event_writer_from_location(locations[0])
    w.enter(10, main, attributes=attributes)
    w.mpi_send(20, 4294967294, world, 3, 8)
    w.mpi_isend(30, 5, world, 3, 8, 1)
    w.mpi_isend_complete(40, 1)
    w.mpi_recv(50, 4294967294, world, 3, 8)
    w.mpi_recv(60, 4294967295, world, 3, 8)
    w.rma_put(70, window, 7, 8, 3)
    w.rma_op_complete_blocking(80, window, 3)
    w.rma_sync(90, window, 4294967295, RmaSyncType.MEMORY)
    if len(sys.argv) > 2:
        alone = d.group("", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI, members=locations[:1])
        w.mpi_send(95, int(sys.argv[2]), d.comm("alone", group=alone), 3, 8)
    w.leave(100, main)
    w = trace.event_writer_from_location(locations[1])
    w.enter(10, main)
    w.leave(100, main)
