"""Writes the archive rma with OTF2's own library: three ranks with one-sided communication. Ticks are us.

    python3 make_rma.py FOLDER
"""
import sys

sys.path.append("/usr/lib/python3/dist-packages")
import otf2
from otf2.enums import CollectiveOp, GroupType, LockType, Paradigm, RegionRole, RmaSyncLevel

NO_ROOT = 2**32 - 1

with otf2.writer.open(sys.argv[1], timer_resolution=1000000) as trace:
    d = trace.definitions
    node = d.system_tree_node("machine", class_name="machine")
    locations = [
        d.location("Master thread", group=d.location_group("MPI Rank %d" % i, system_tree_parent=node))
        for i in range(3)
    ]
    d.group("", group_type=GroupType.COMM_LOCATIONS, paradigm=Paradigm.MPI, members=locations)

    def group(*ranks):
        name = " ".join(map(str, ranks))
        members = [locations[i] for i in ranks]
        return d.group(name, group_type=GroupType.COMM_GROUP, paradigm=Paradigm.MPI, members=members)

    window = d.rma_win("window", d.comm("MPI_COMM_WORLD", group=group(0, 1, 2)))
    origins, targets = group(0), group(1)

    def region(name, role, paradigm):
        return d.region(name, region_role=role, paradigm=paradigm, source_file="", begin_line_number=0,
                        end_line_number=0)

    main = region("main", RegionRole.FUNCTION, Paradigm.USER)
    work = region("work", RegionRole.FUNCTION, Paradigm.USER)
    calls = {}
    writers = [trace.event_writer_from_location(l) for l in locations]
    clock = [0, 0, 0]

    def call(rank, name, enter, leave, *events):
        """Adds work up to a call, and the call with its events: each a function of the writer."""
        w = writers[rank]
        if clock[rank] < enter:
            w.enter(clock[rank], work)
            w.leave(enter, work)
        if name not in calls:
            calls[name] = region(name, RegionRole.RMA, Paradigm.MPI)
        w.enter(enter, calls[name])
        for event in events:
            event(w)
        w.leave(leave, calls[name])
        clock[rank] = leave

    def together(name, operation, enters, leave):
        for i, enter in enumerate(enters):
            call(i, name, enter, leave + i, lambda w: w.rma_collective_begin(enter), lambda w: w.rma_collective_end(
                leave + i, operation, RmaSyncLevel.PROCESS, window, NO_ROOT, 0, 0))

    def sync(rank, name, enter, leave, group):
        call(rank, name, enter, leave, lambda w: w.rma_group_sync(leave, RmaSyncLevel.PROCESS, window, group))

    def put(rank, enter, leave, target):
        call(rank, "MPI_Put", enter, leave, lambda w: w.rma_put(enter, window, target, 8, 1),
             lambda w: w.rma_op_complete_blocking(leave, window, 1))

    for w in writers:
        w.enter(0, main)
    together("MPI_Win_create", CollectiveOp.CREATE_HANDLE, [100, 140, 120], 150)
    put(1, 200, 230, 0)
    together("MPI_Win_fence", CollectiveOp.BARRIER, [210, 240, 300], 310)
    sync(0, "MPI_Win_start", 320, 380, targets)
    put(0, 380, 410, 1)
    sync(0, "MPI_Win_complete", 420, 430, targets)
    sync(1, "MPI_Win_post", 370, 375, origins)
    sync(1, "MPI_Win_wait", 400, 440, origins)
    call(0, "MPI_Win_lock", 500, 505, lambda w: w.rma_acquire_lock(505, window, 2, 0, LockType.EXCLUSIVE))
    call(0, "MPI_Win_unlock", 560, 571, lambda w: w.rma_release_lock(570, window, 2, 0))
    call(1, "MPI_Win_lock", 520, 575, lambda w: w.rma_acquire_lock(574, window, 2, 0, LockType.EXCLUSIVE))
    call(1, "MPI_Win_unlock", 580, 590, lambda w: w.rma_release_lock(589, window, 2, 0))
    together("MPI_Win_free", CollectiveOp.DESTROY_HANDLE, [600, 620, 650], 660)
    for i, w in enumerate(writers):
        w.leave(670 + i, main)
