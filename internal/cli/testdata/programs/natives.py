"""Writes an archive with records and references that few archives have.

    python3 natives.py FOLDER

The mapping table of the first location exchanges the two interrupt generators of its samples. Its events are records of
OpenMP of old versions, a metric event with three values, parameters of each type, and attributes that refer to a file
and a handle. It receives a message 350 ns before the second location sends it. The second location is the only member of
a group to which only a marker refers. It posts and cancels a request outside of its region. The third location holds values of metrics. A group has the first region. A
window has flags.
"""
import sys

sys.path.append("/usr/lib/python3/dist-packages")
import _otf2
import otf2
from otf2.enums import (GroupType, InterruptGeneratorMode, IoHandleFlag, IoParadigmClass, IoParadigmFlag, LocationType,
                        MappingType, MetricOccurrence, Paradigm, ParameterType,
                        RecorderKind, RmaWinFlag, Type)

GROUP = 4  # scope of a marker

with otf2.writer.open(sys.argv[1], timer_resolution=1000000000) as trace:
    d = trace.definitions
    node = d.system_tree_node("machine", class_name="machine")
    groups = [d.location_group("process %d" % i, system_tree_parent=node) for i in range(2)]
    locations = [d.location("main", group=g) for g in groups]
    locations.append(d.location("sensor", type=LocationType.METRIC, group=groups[1]))
    d.group("", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=locations[:2])
    world = d.comm("world", group=d.group("", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI,
                                          members=locations[:2]))
    d.rma_win("window", comm=world, flags=RmaWinFlag.CREATE_DESTROY_EVENTS)
    d.group("marked", group_type=GroupType.LOCATIONS, members=locations[:1])
    marked = d.group("marked", group_type=GroupType.LOCATIONS, members=locations[1:2])
    main = d.region("main", source_file="", begin_line_number=0, end_line_number=0)
    d.group("of regions", group_type=GroupType.REGIONS, members=[main])
    values = [d.metric_member("value %d" % i, value_type=t, unit="#")
              for i, t in enumerate((Type.UINT64, Type.INT64, Type.DOUBLE))]
    metrics = d.metric_class(values, occurrence=MetricOccurrence.SYNCHRONOUS, recorder_kind=RecorderKind.CPU)
    context = d.calling_context(main, parent=None)
    generators = [d.interrupt_generator("timer %d" % i, interrupt_generator_mode=InterruptGeneratorMode.TIME,
                                        exponent=-6, period=10) for i in range(2)]
    posix = d.io_paradigm("POSIX", "POSIX I/O", IoParadigmClass.SERIAL, IoParadigmFlag.NONE)
    file = d.io_regular_file("/scratch/a", scope=node)
    handle = d.io_handle("a", file=file, io_paradigm=posix, io_handle_flags=IoHandleFlag.NONE)
    attributes = {d.attribute("file", type=Type.IO_FILE): file, d.attribute("handle", type=Type.IO_HANDLE): handle}
    parameters = [d.parameter("p %d" % i, t)
                  for i, t in enumerate((ParameterType.STRING, ParameterType.INT64, ParameterType.UINT64))]
    w = trace.event_writer_from_location(locations[0])
    w.enter(2000, main, attributes=attributes)
    w.omp_fork(2010, 4)
    w.omp_acquire_lock(2020, 7, 1)
    w.omp_release_lock(2030, 7, 1)
    w.omp_task_create(2040, 5)
    w.omp_task_switch(2050, 5)
    w.omp_task_complete(2060, 5)
    w.omp_join(2070)
    w.metric(2080, metrics, [77, -2, 0.5])
    w.metric(2080, metrics, [78, -3, 1.5])
    w.parameter_string(2090, parameters[0], "text")
    w.parameter_int(2100, parameters[1], -9)
    w.parameter_unsigned_int(2110, parameters[2], 2**63)
    w.calling_context_enter(2120, context, 1)
    for i, g in enumerate(generators):
        w.calling_context_sample(2130 + i, context, 1, g)
    w.calling_context_leave(2140, context)
    w.mpi_recv(2150, 1, world, 3, 8)
    w.leave(2600, main)
    w = trace.event_writer_from_location(locations[1])
    w.enter(2000, main)
    w.mpi_send(2500, 0, world, 3, 8)
    w.leave(2510, main)
    w.mpi_irecv_request(2515, 0)
    w.mpi_request_cancelled(2520, 0)
    trace.event_writer_from_location(locations[2]).metric(2000, metrics, [1, 2, 3.5])

    exchanged = _otf2.IdMap_CreateFromUint64Array([1, 0], False)
    local = _otf2.Archive_GetDefWriter(trace._handle, 0)
    _otf2.DefWriter_WriteMappingTable(local, MappingType.INTERRUPT_GENERATOR, exchanged)
    markers = _otf2.Archive_GetMarkerWriter(trace._handle)
    _otf2.MarkerWriter_WriteDefMarker(markers, 0, "checks", "note", 1)  # of low severity
    _otf2.MarkerWriter_WriteMarker(markers, 2100, 0, 0, GROUP, marked._ref, "of a group")
    _otf2.Archive_CloseMarkerWriter(trace._handle, markers)
