# Writes the archive testdata/ok/rma with OTF2's own library, through its Python bindings. Of four
# ranks, 3 and 1 are in the communicator ODD, as its ranks 0 and 1, which has a window.
#
#     python3 rma.py FOLDER
import sys

sys.path.append("/usr/lib/python3/dist-packages")
import otf2
from otf2.enums import GroupType, LockType, Paradigm, RmaAtomicType, RmaSyncType

with otf2.writer.open(sys.argv[1], timer_resolution=1000000000) as trace:
    d = trace.definitions
    node = d.system_tree_node("root")
    locations = [
        d.location("main", group=d.location_group("rank %d" % i, system_tree_parent=node)) for i in range(4)
    ]
    d.group("communicating", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=locations)
    odd = d.group("odd", group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI, members=[locations[3], locations[1]])
    window = d.rma_win("window", d.comm("ODD", group=odd))
    region = d.region("MPI_Put", source_file="", begin_line_number=0, end_line_number=0)
    writers = [trace.event_writer_from_location(l) for l in locations]
    for put, i in enumerate((1, 3)):  # the rank that each puts to: the other one
        w, own = writers[i], 1 - put
        w.rma_win_create(1000, window)
        w.enter(1010, region)
        w.rma_put(1020, window, put, 100 + i, 7)
        w.rma_op_complete_blocking(1030, window, 7)
        w.leave(1040, region)
        w.rma_get(1050, window, own, 50, 8)
        w.rma_op_complete_non_blocking(1060, window, 8)
        w.rma_atomic(1070, window, own, RmaAtomicType.ACCUMULATE, 8, 0, 9)
        w.rma_request_lock(1080, window, own, 5, LockType.EXCLUSIVE)
        w.rma_acquire_lock(1081, window, own, 5, LockType.EXCLUSIVE)
        w.rma_release_lock(1082, window, own, 5)
        w.rma_sync(1090, window, own, RmaSyncType.MEMORY)
        w.rma_win_destroy(1100, window)
    for i in (0, 2):
        writers[i].enter(1000, region)
        writers[i].leave(1005, region)
