# Writes the archive testdata/ok/rich with OTF2's own library, through its Python bindings. It has definitions of all
# kinds that the bindings can write, and events with attributes of all types.
#
#     python3 rich.py FOLDER
import random
import sys

sys.path.append("/usr/lib/python3/dist-packages")
import otf2
from otf2.definitions import IoDirectory, IoRegularFile, MetricClass, MetricInstance
from otf2.enums import *

choice = random.Random(1)
with otf2.writer.open(sys.argv[1], timer_resolution=1000000000) as trace:
    d = trace.definitions
    machine = d.system_tree_node("cluster", class_name="machine")
    nodes = [d.system_tree_node("node%d" % i, class_name="node", parent=machine) for i in range(2)]
    d._system_tree_node_domains.create(machine, SystemTreeDomain.MACHINE)
    d._system_tree_node_properties.create(nodes[0], "cores", Type.UINT32, 8)
    groups = [d.location_group("MPI Rank %d" % i, system_tree_parent=nodes[i // 2]) for i in range(4)]
    device = d._location_groups.create("GPU", LocationGroupType.ACCELERATOR, nodes[0], groups[0])
    d._location_group_properties.create(groups[1], "pid", Type.INT64, 4711)
    ranks = [d.location("Master thread", group=g) for g in groups]
    threads = [d.location("OMP thread %d" % i, group=groups[0]) for i in (1, 2)]
    stream = d._locations.create("Stream 0", LocationType.ACCELERATOR_STREAM, 0, device)
    sensors = d._locations.create("sensors", LocationType.METRIC, 0, groups[3])
    d._location_properties.create(ranks[2], "core", Type.UINT16, 5)
    regions = [
        d._regions.create(name, "_Z" + name, "what %s does" % name, role, paradigm, RegionFlag.NONE, "main.c", i, i + 5)
        for i, (name, role, paradigm) in enumerate([
            ("main", RegionRole.FUNCTION, Paradigm.USER), ("solve", RegionRole.FUNCTION, Paradigm.COMPILER),
            ("loop", RegionRole.LOOP, Paradigm.OPENMP), ("MPI_Send", RegionRole.POINT2POINT, Paradigm.MPI),
            ("read", RegionRole.FILE_IO, Paradigm.NONE)])
    ]
    mpi, omp, none = Paradigm.MPI, Paradigm.OPENMP, Paradigm.NONE
    d.group("MPI locations", group_type=GroupType.COMM_LOCATIONS, paradigm=mpi, members=ranks)
    world = d.comm("MPI_COMM_WORLD", d.group("world", group_type=GroupType.COMM_GROUP, paradigm=mpi, members=ranks))
    pair = d.group("odd", group_type=GroupType.COMM_GROUP, paradigm=mpi, members=[ranks[1], ranks[3]])
    odd = d.comm("odd", pair, world)
    team = [ranks[0]] + threads
    d.group("OMP locations", group_type=GroupType.COMM_LOCATIONS, paradigm=omp, members=team)
    d.comm("team", d.group("team", group_type=GroupType.COMM_GROUP, paradigm=omp, members=team))
    d.group("hot regions", group_type=GroupType.REGIONS, paradigm=none, members=regions[1:3])
    members = [
        d.metric_member("instructions", metric_type=MetricType.PAPI, metric_mode=MetricMode.ACCUMULATED_START,
                        value_type=Type.UINT64, unit="#"),
        d.metric_member("misses", metric_type=MetricType.PAPI, metric_mode=MetricMode.ACCUMULATED_START,
                        value_type=Type.INT64, unit="#"),
        d.metric_member("energy", metric_mode=MetricMode.ABSOLUTE_POINT, value_type=Type.DOUBLE, exponent=-3, unit="J"),
        d.metric_member("memory", metric_mode=MetricMode.ABSOLUTE_NEXT, value_type=Type.UINT64, base=Base.BINARY,
                        exponent=10, unit="B")]
    memory = d._metrics.create((members[3],), MetricOccurrence.ASYNCHRONOUS, RecorderKind.ABSTRACT, _type=MetricClass)
    counters = d._metrics.create(tuple(members[:3]), MetricOccurrence.SYNCHRONOUS_STRICT, RecorderKind.CPU,
                                 _type=MetricClass)
    of_node = d._metrics.create(memory, sensors, None, nodes[1], _type=MetricInstance)
    parameter = d.parameter("level", ParameterType.INT64)
    window = d.rma_win("window", odd)
    dimensions = tuple(d._cart_dimensions.create(n, 2, CartPeriodicity.TRUE) for n in "xy")
    grid = d._cart_topologies.create("grid", world, dimensions)
    for i in range(4):
        d._cart_coordinates.create(grid, i, (i // 2, i % 2))
    places = [d._source_code_locations.create(f, l) for f, l in (("main.c", 12), ("solve.c", 33), ("io.c", 44))]
    context = d._calling_contexts.create(regions[0], places[0], None)
    context = d._calling_contexts.create(regions[1], places[1], context)
    d._calling_context_properties.create(context, "weight", Type.DOUBLE, 0.5)
    generators = [
        d._interrupt_generators.create("timer", InterruptGeneratorMode.TIME, Base.DECIMAL, -3, 10),
        d._interrupt_generators.create("cycles", InterruptGeneratorMode.COUNT, Base.BINARY, 10, 7)]
    posix = d._io_paradigms.create("POSIX", "POSIX I/O", IoParadigmClass.SERIAL, IoParadigmFlag.OS, {})
    files = [d._io_files.create("/tmp/a", nodes[0], _type=IoRegularFile),
             d._io_files.create("/tmp", nodes[1], _type=IoDirectory)]
    handle = d._io_handles.create("a", files[0], posix, IoHandleFlag.NONE, world, None)
    values = {
        "uint8": 255, "uint16": 65535, "uint32": 4000000000, "uint64": 2**64 - 1, "int8": -128, "int16": -32768,
        "int32": -2**31, "int64": -2**63, "float": 1.5, "double": -2.25e300, "string": 'té;x,t="q"',
        "location": stream,
        "region": regions[3], "group": pair, "metric": counters, "comm": odd, "parameter": parameter, "rma_win": window,
        "source_code_location": places[2], "calling_context": context, "interrupt_generator": generators[1],
        "io_file": files[1], "io_handle": handle, "location_group": groups[3]}
    attributes = {n: d.attribute("a_" + n, "of type " + n, getattr(Type, n.upper())) for n in values}
    attributes["attribute"] = d.attribute("a_attribute", "", Type.ATTRIBUTE)
    values["attribute"] = attributes["int8"]
    names = sorted(values)
    write = {l: trace.event_writer_from_location(l) for l in d.locations}
    now = 1000

    def tick():
        global now
        now += choice.randint(1, 50)
        return now

    def some():
        return {attributes[n]: values[n] for n in choice.sample(names, choice.choice([0, 0, 1, 1, 2, 5]))}

    for l in ranks:
        write[l].enter(tick(), regions[0], attributes=some())
    for n in names:
        write[ranks[0]].enter(tick(), regions[1], attributes={attributes[n]: values[n]})
        write[ranks[0]].calling_context_sample(tick(), context, 2, generators[1], attributes=some())
        write[ranks[0]].leave(tick(), regions[1])
    for i in range(8):
        a, b = choice.sample(range(4), 2)
        write[ranks[a]].enter(tick(), regions[3], attributes=some())
        write[ranks[a]].metric(now, counters, [i, -i, i / 8], attributes=some())
        write[ranks[a]].mpi_send(tick(), b, world, 7, 100 + i, attributes=some())
        write[ranks[a]].leave(tick(), regions[3], attributes=some())
        write[ranks[b]].mpi_recv(tick(), a, world, 7, 100 + i, attributes=some())
        for l in ranks:
            write[l].mpi_collective_begin(tick(), attributes=some())
        for l in ranks:
            write[l].mpi_collective_end(tick(), CollectiveOp.ALLREDUCE, world, 4294967295, 8, 32, attributes=some())
        write[sensors].metric(tick(), of_node, [i])
        write[stream].enter(tick(), regions[2])
        write[stream].leave(tick(), regions[2], attributes=some())
    for l in ranks:
        write[l].leave(tick(), regions[0], attributes=some())
