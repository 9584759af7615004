"""Writes an archive whose events refer to definitions that few archives have.

    python3 references.py FOLDER

One location of two has events: with attributes that refer to the process of the other one and to the
class of a metric, a sample with its interrupt generator, and a file that a second I/O paradigm deletes.
The unit of the metric is a million watts. The second location is the only member of a communicator
whose ranks are places among all communicating locations, of which it is the first.
"""
import sys

sys.path.append("/usr/lib/python3/dist-packages")
import otf2
from otf2.enums import (Base, GroupFlag, GroupType, InterruptGeneratorMode, IoParadigmClass, IoParadigmFlag,
                        Paradigm, Type)

with otf2.writer.open(sys.argv[1], timer_resolution=1000000000) as trace:
    d = trace.definitions
    node = d.system_tree_node("machine", class_name="machine")
    groups = [d.location_group("process %d" % i, system_tree_parent=node) for i in range(2)]
    locations = [d.location("main", group=g) for g in groups]
    d.group("", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=locations[::-1])
    d.comm("alone", group=d.group("one", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI,
                                  group_flags=GroupFlag.GLOBAL_MEMBERS, members=locations[1:]))
    main = d.region("main", source_file="", begin_line_number=0, end_line_number=0)
    power = d.metric_member("power", value_type=Type.UINT64, base=Base.DECIMAL, exponent=6, unit="W")
    powers, others = d.metric_class((power,)), d.metric_class((power, power))
    owner, metric = d.attribute("owner", type=Type.LOCATION_GROUP), d.attribute("class", type=Type.METRIC)
    context = d.calling_context(main, parent=None)
    generators = [d.interrupt_generator("timer %d" % i, interrupt_generator_mode=InterruptGeneratorMode.TIME,
                                        period=10) for i in range(2)]
    paradigms = [d.io_paradigm(name, name, IoParadigmClass.SERIAL, IoParadigmFlag.NONE) for name in ("POSIX", "HDF5")]
    file = d.io_regular_file("/scratch/a", scope=node)
    w = trace.event_writer_from_location(locations[0])
    w.enter(1000, main, attributes={owner: groups[1], metric: others})
    w.metric(1001, powers, [77])
    w.calling_context_enter(1002, context, 1)
    w.calling_context_sample(1003, context, 1, generators[1])
    w.calling_context_leave(1004, context)
    w.io_delete_file(1005, paradigms[1], file)
    w.leave(1006, main)
    w = trace.event_writer_from_location(locations[1])
    w.enter(1000, main)
    w.leave(1001, main)
