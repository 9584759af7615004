"""Writes an archive with all events of I/O that OTF2 has: iorecords.py FOLDER."""
import sys

sys.path.append("/usr/lib/python3/dist-packages")
import otf2
from otf2.enums import (IoAccessMode, IoCreationFlag, IoHandleFlag, IoOperationFlag, IoOperationMode, IoParadigmClass,
                        IoParadigmFlag, IoSeekOption, IoStatusFlag, LockType)

now = 1000


def time():
    global now
    now += 10
    return now


with otf2.writer.open(sys.argv[1], timer_resolution=1000000000) as archive:
    d = archive.definitions
    root = d.system_tree_node("root")
    location = d.location("main", group=d.location_group("p", system_tree_parent=root))
    main = d.region("main")
    posix = d.io_paradigm(identification="POSIX", name="POSIX I/O", io_paradigm_class=IoParadigmClass.SERIAL,
                          io_paradigm_flags=IoParadigmFlag.NONE)
    a, b = d.io_regular_file("/etc/a", scope=root), d.io_regular_file("/etc/b", scope=root)
    h = d.io_handle("h0", file=a, io_paradigm=posix, io_handle_flags=IoHandleFlag.NONE)
    out = d.io_handle("stdout", file=None, io_paradigm=posix, io_handle_flags=IoHandleFlag.PRE_CREATED)
    w = archive.event_writer_from_location(location)
    w.enter(time(), main)
    w.io_create_handle(time(), h, IoAccessMode.READ_WRITE, IoCreationFlag.CREATE, IoStatusFlag.NONE)
    w.io_operation_begin(time(), h, IoOperationMode.WRITE, IoOperationFlag.NONE, 100, 7)
    w.io_operation_complete(time(), h, 96, 7)
    w.io_operation_begin(time(), h, IoOperationMode.READ, IoOperationFlag.NON_BLOCKING, 200, 8)
    w.io_operation_begin(time(), out, IoOperationMode.WRITE, IoOperationFlag.COLLECTIVE, 50, 8)
    w.io_operation_issued(time(), h, 8)
    w.io_operation_complete(time(), out, 50, 8)
    w.io_operation_test(time(), h, 8)
    w.io_operation_complete(time(), h, 150, 8)
    w.io_operation_begin(time(), h, IoOperationMode.FLUSH, IoOperationFlag.NONE, 0, 9)
    w.io_operation_cancelled(time(), h, 9)
    w.io_seek(time(), h, 10, IoSeekOption.FROM_START, 10)
    w.io_acquire_lock(time(), h, LockType.SHARED)
    w.io_try_lock(time(), h, LockType.EXCLUSIVE)
    w.io_release_lock(time(), h, LockType.SHARED)
    w.io_change_status_flags(time(), h, IoStatusFlag.APPEND)
    w.io_destroy_handle(time(), h)
    w.io_delete_file(time(), posix, b)
    w.leave(time(), main)
