"""Writes an archive with communicators, operations on them, and metric events of two values.

    python3 counters.py FOLDER NAME

Names of locations begin with NAME. The ranks 0 to 3 call MPI_Allreduce on MPI_COMM_WORLD and on MPI_COMM_SELF, ranks 1
and 3 also on the communicator odd. A further location measures power. A tick is a nanosecond.
"""
import sys

sys.path.append("/usr/lib/python3/dist-packages")
import otf2
from otf2.enums import (CollectiveOp, GroupType, LocationType, MetricMode, MetricOccurrence, MetricType, Paradigm,
                        RecorderKind, RegionRole, Type)

name = sys.argv[2]
with otf2.writer.open(sys.argv[1], timer_resolution=10**9) as trace:
    d = trace.definitions
    node = d.system_tree_node("node", class_name="machine")
    locations, writers = [], []
    for i in range(4):
        process = d.location_group("%s process %d" % (name, i), system_tree_parent=node)
        locations.append(d.location("%s rank %d" % (name, i), group=process))
        writers.append(trace.event_writer_from_location(locations[i]))
    meter = d.location("%s meter" % name, type=LocationType.METRIC, group=process)
    watts = trace.event_writer_from_location(meter)
    main = d.region("main")
    allreduce = d.region("MPI_Allreduce", region_role=RegionRole.COLL_ALL2ALL, paradigm=Paradigm.MPI)

    def communicator(text, kind, members):
        return d.comm(text, group=d.group("", group_type=kind, paradigm=Paradigm.MPI, members=members))

    d.group("", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=locations)
    world = communicator("MPI_COMM_WORLD", GroupType.COMM_GROUP, locations)
    own = communicator("MPI_COMM_SELF", GroupType.COMM_SELF, [])
    odd = communicator("odd", GroupType.COMM_GROUP, [locations[1], locations[3]])
    members = [d.metric_member(text, metric_type=MetricType.PAPI, metric_mode=MetricMode.ACCUMULATED_START,
                               value_type=Type.UINT64) for text in ("instructions", "cycles")]
    counters = d.metric_class(members, occurrence=MetricOccurrence.SYNCHRONOUS, recorder_kind=RecorderKind.CPU)
    power = d.metric_class([d.metric_member("power", value_type=Type.DOUBLE)], occurrence=MetricOccurrence.ASYNCHRONOUS)
    measured = d.metric_instance(power, recorder=meter, scope=locations[0])
    for i, w in enumerate(writers):
        w.enter(i, main)
        w.metric(i, counters, [10 + i, 20 + i])
        for k, comm in enumerate([world, own] + ([odd] if i % 2 else [])):
            begin = 3000 + 500 * k
            w.enter(begin + i, allreduce)
            w.mpi_collective_begin(begin + i + 1)
            w.mpi_collective_end(begin + 20, CollectiveOp.ALLREDUCE, comm, 2**32 - 1, 8, 8)
            w.leave(begin + 22, allreduce)
        w.metric(5000, counters, [70 + i, 80 + i])
        w.leave(5000, main)
    for k in range(4):
        watts.metric(500 + 1000 * k, measured, [0.5 + k])
