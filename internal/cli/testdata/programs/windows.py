"""Writes the calls that the program windows has recorded as an archive, as Score-P records them.

    python3 towindows.py FOLDER windows.0 windows.1
"""
import sys

sys.path.append("/usr/lib/python3/dist-packages")
import otf2
from otf2.enums import CollectiveOp, GroupType, LockType, Paradigm, RegionRole, RmaSyncLevel

NO_ROOT = 2**32 - 1
calls = [[line.split() for line in open(f)] for f in sys.argv[2:]]
first = min(int(c[0][2]) for c in calls)
with otf2.writer.open(sys.argv[1], timer_resolution=1000000000) as trace:
    d = trace.definitions
    node = d.system_tree_node("machine", class_name="machine")
    locations = [d.location("Master thread", group=d.location_group("MPI Rank %d" % i, system_tree_parent=node))
                 for i in range(2)]
    d.group("", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=locations)

    def group(*ranks):
        return d.group(" ".join(map(str, ranks)), group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI,
                       members=[locations[i] for i in ranks])

    window = d.rma_win("window", d.comm("MPI_COMM_WORLD", group=group(0, 1)))
    alone = [group(0), group(1)]

    def region(name, role, paradigm):
        return d.region(name, region_role=role, paradigm=paradigm, source_file="", begin_line_number=0,
                        end_line_number=0)

    main = region("main", RegionRole.FUNCTION, Paradigm.USER)
    regions = {n: region(n, RegionRole.RMA, Paradigm.MPI) for n in sorted({c[1] for l in calls for c in l})}
    together = {"MPI_Win_allocate": CollectiveOp.CREATE_HANDLE_AND_ALLOCATE, "MPI_Win_fence": CollectiveOp.BARRIER,
                "MPI_Win_free": CollectiveOp.DESTROY_HANDLE_AND_DEALLOCATE}
    for i, list in enumerate(calls):
        w = trace.event_writer_from_location(locations[i])
        w.enter(0, main)
        for number, (_, name, begin, end, other) in enumerate(list):
            begin, end, other = int(begin) - first, int(end) - first, int(other)
            w.enter(begin, regions[name])
            if name in together:
                w.rma_collective_begin(begin)
                w.rma_collective_end(end, together[name], RmaSyncLevel.PROCESS, window, NO_ROOT, 0, 0)
            elif name in ("MPI_Win_start", "MPI_Win_complete", "MPI_Win_post", "MPI_Win_wait"):
                w.rma_group_sync(end, RmaSyncLevel.PROCESS, window, alone[other])
            elif name == "MPI_Win_lock":
                w.rma_acquire_lock(end, window, other, 0, LockType.EXCLUSIVE)
            elif name == "MPI_Win_unlock":
                w.rma_release_lock(end, window, other, 0)
            elif name == "MPI_Put":
                w.rma_put(begin, window, other, 800, number)
                w.rma_op_complete_blocking(end, window, number)
            elif name == "MPI_Get":
                w.rma_get(begin, window, other, 800, number)
                w.rma_op_complete_blocking(end, window, number)
            w.leave(end, regions[name])
        w.leave(end + 1, main)
