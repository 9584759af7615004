"""Writes an archive in which each event of OpenMP is in the record of an old version of OTF2 and in the newer one.

    python3 openmp.py FOLDER

Both records of a pair have the same contents.
"""
import sys

sys.path.append("/usr/lib/python3/dist-packages")
import otf2
from otf2.enums import GroupType, Paradigm

NONE = 2**32 - 1
with otf2.writer.open(sys.argv[1], timer_resolution=1000000000) as trace:
    d = trace.definitions
    node = d.system_tree_node("machine", class_name="machine")
    locations = [d.location("main", group=d.location_group("rank %d" % i, system_tree_parent=node)) for i in range(2)]
    group = d.group("team", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.OPENMP, members=locations)
    team = d.comm("team", group=d.group("", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.OPENMP, members=[0, 1]))
    for i, location in enumerate(locations):
        w = trace.event_writer_from_location(location)
        pairs = [(w.omp_fork, w.thread_fork, (4,), (Paradigm.OPENMP, 4)),
                 (w.omp_acquire_lock, w.thread_acquire_lock, (7, 1), (Paradigm.OPENMP, 7, 1)),
                 (w.omp_release_lock, w.thread_release_lock, (7, 1), (Paradigm.OPENMP, 7, 1)),
                 (w.omp_task_create, w.thread_task_create, (9,), (team, 0, 9)),
                 (w.omp_task_switch, w.thread_task_switch, (9,), (team, 0, 9)),
                 (w.omp_task_complete, w.thread_task_complete, (9,), (team, 0, 9)),
                 (w.omp_join, w.thread_join, (), (Paradigm.OPENMP,))]
        now = 100 * i
        for old, new, of_old, of_new in pairs:
            for write, fields in ((new, of_new), (old, of_old), (new, of_new)):
                now += 10
                write(now, *fields)
