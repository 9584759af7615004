package trace

import (
	"slices"
	"strconv"
	"strings"
)

// Role is the kind of work that a program does in a region.
type Role uint8

// The roles. A region has UnknownRole if neither the trace nor its name determines its role. Most
// such regions are code of the program itself.
const (
	UnknownRole Role = iota
	UserRole
	SendRole                // blocking send
	ReceiveRole             // blocking receive
	ProbeRole               // waits for a message and does not receive it
	ImmediateSendRole       // begins a send and returns at once
	ImmediateReceiveRole    // begins a receive and returns at once
	CompletionRole          // waits for sends or receives that have begun
	TestRole                // tests, without waiting, for an arrival or a completion
	MessageRole             // other point-to-point communication
	RemoteMemoryRole        // one-sided communication
	BarrierRole             //
	ImplicitBarrierRole     // barrier at the end of a parallel construct
	BroadcastRole           //
	GatherRole              //
	ScatterRole             //
	AllGatherRole           //
	AllToAllRole            //
	AllReduceRole           //
	ReduceRole              //
	ReduceScatterRole       //
	ScanRole                //
	CollectiveRole          // other collective operations
	ImmediateCollectiveRole // begins a collective operation and returns at once
	CommunicationRole       // other calls of a communication library
	ForkRole                // a parallel region, including its fork and join
	WorksharingRole         //
	TaskRole                //
	TaskCreateRole          // creates a task, without the work of the task
	TaskWaitRole            //
	LockRole                // acquires a lock, or is a critical section
	ConditionRole           // waits for a condition
	ThreadRole              // creates, ends or joins threads
	IORole                  //
	LaunchRole              // launches work on a device
	DeviceSyncRole          // waits for a device
	KernelRole              // work on a device
	TransferRole            // transfers data to or from a device
	MemoryRole              // allocates or frees memory
	RuntimeRole             // work of the measurement system or of another library
	UserOverheadRole        // overhead of parallelism, according to the user
	WaitingRole             // waiting, according to the trace
	TracingRole             // the time in which events are recorded
	roleCount
)

// roleNames holds the names of the roles in options and output.
var roleNames = [roleCount]string{"unknown", "user", "send", "receive", "probe", "immediate-send", "immediate-receive",
	"completion", "test", "message", "remote-memory",
	"barrier", "implicit-barrier", "broadcast", "gather", "scatter", "all-gather", "all-to-all", "all-reduce", "reduce",
	"reduce-scatter", "scan", "collective", "immediate-collective", "communication", "fork", "worksharing", "task",
	"task-create", "task-wait", "lock", "condition", "thread", "io", "launch", "device-sync", "kernel", "transfer",
	"memory", "runtime", "user-overhead", "waiting", "tracing"}

// String returns the role's name.
func (r Role) String() string {
	if r < roleCount {
		return roleNames[r]
	}
	return roleNames[UnknownRole]
}

// RoleByName returns the role with a name, and whether there is one.
func RoleByName(name string) (Role, bool) {
	i := slices.Index(roleNames[:], name)
	return Role(max(i, 0)), i >= 0
}

// IsCollective reports whether regions with this role are collective operations in which callers wait, other
// than barriers.
func (r Role) IsCollective() bool { return r >= BroadcastRole && r <= CollectiveRole }

// RoleOf returns the role of the region with the given index, as [Definitions.RegionRole] does for a region.
func (d *Definitions) RoleOf(region uint32) Role {
	if !d.Regions.Has(region) {
		return UnknownRole
	}
	return d.RegionRole(d.Regions.At(region))
}

// IsImplicitTask reports whether a region is that of the implicit tasks of OpenMP, as recorders with OMPT name it. Such
// tasks execute parallel regions, and one of them executes the whole program.
func (d *Definitions) IsImplicitTask(region uint32) bool {
	return d.Regions.Has(region) && strings.EqualFold(d.Regions.At(region).Name, "OpenMP implicit task")
}

// IsTask reports whether a region is that of the tasks of OpenMP, as recorders with OMPT name it. A visit shows that a
// task begins or continues, which may be an implicit task.
func (d *Definitions) IsTask(region uint32) bool {
	return d.Regions.Has(region) && strings.EqualFold(d.Regions.At(region).Name, "OpenMP task")
}

// RegionRole returns the role of a region. The user's role in [Definitions.Roles] comes first, then
// the role that the trace gives, and then the one that the name of the region implies.
func (d *Definitions) RegionRole(r *Region) Role {
	if d.Roles != nil {
		if role := d.Roles(r); role != UnknownRole {
			return role
		}
	}
	if d.Conventions.EventTypes {
		// PICL reserves negative event types; users number their own from 0 on. Only names of MPI imply a role
		// for a user's event type, because a user may call anything "wait".
		if e, err := strconv.ParseInt(r.ID, 10, 64); err == nil && (e < 0 || !isMPI(r.Name)) {
			return eventTypeRole(e)
		}
	}
	return namedRole(r)
}

// eventTypeRole returns the role of an event type of PICL.
func eventTypeRole(e int64) Role {
	switch {
	case e == -31, e == -52, e == -56, e == -61, e == -601:
		return WaitingRole
	case e == -402:
		return BarrierRole
	case e <= -756 && e >= -793:
		return CollectiveRole
	case e == -603:
		return UserOverheadRole
	case e == -901, e == -1: // the visits of both contain the whole traced part of a process
		return TracingRole
	case e <= -902 && e >= -1000:
		return RuntimeRole
	case e == -602, e <= -11 && e >= -80, e <= -401 && e >= -500:
		return CommunicationRole
	}
	return UserRole
}

// isMPI reports whether a name belongs to a call of MPI.
func isMPI(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "mpi_") || strings.HasPrefix(name, "pmpi_")
}

// prefixRole is the role of library calls whose names begin with prefix.
type prefixRole struct {
	prefix string
	role   Role
}

// mpiCalls lists the roles of MPI's calls. Prefixes are in lower case, without MPI_. The first
// matching prefix determines the role.
var mpiCalls = []prefixRole{
	{"barrier", BarrierRole}, {"allgather", AllGatherRole}, {"allreduce", AllReduceRole}, {"alltoall", AllToAllRole},
	{"bcast", BroadcastRole},
	{"exscan", ScanRole}, {"gather", GatherRole}, {"neighbor", CollectiveRole}, {"reduce_scatter", ReduceScatterRole},
	{"reduce", ReduceRole},
	{"scan", ScanRole}, {"scatter", ScatterRole},
	{"ibarrier", ImmediateCollectiveRole}, {"iall", ImmediateCollectiveRole}, {"ibcast", ImmediateCollectiveRole},
	{"iexscan", ImmediateCollectiveRole},
	{"igather", ImmediateCollectiveRole}, {"ineighbor", ImmediateCollectiveRole}, {"ireduce", ImmediateCollectiveRole},
	{"iscan", ImmediateCollectiveRole},
	{"iscatter", ImmediateCollectiveRole},
	{"recv_init", ImmediateReceiveRole}, {"recv", ReceiveRole}, {"mrecv", ReceiveRole}, {"irecv", ImmediateReceiveRole},
	{"imrecv", ImmediateReceiveRole},
	{"wait", CompletionRole}, {"probe", ProbeRole}, {"mprobe", ProbeRole}, {"test", TestRole}, {"iprobe", TestRole},
	{"improbe", TestRole},
	{"send_init", ImmediateSendRole}, {"bsend_init", ImmediateSendRole}, {"ssend_init", ImmediateSendRole},
	{"rsend_init", ImmediateSendRole}, {"start", ImmediateSendRole},
	{"sendrecv", MessageRole}, {"send", SendRole}, {"bsend", SendRole}, {"ssend", SendRole}, {"rsend", SendRole},
	{"isend", ImmediateSendRole}, {"ibsend", ImmediateSendRole}, {"issend", ImmediateSendRole},
	{"irsend", ImmediateSendRole},
	{"put", RemoteMemoryRole}, {"get_accumulate", RemoteMemoryRole}, {"accumulate", RemoteMemoryRole},
	{"rput", RemoteMemoryRole}, {"rget", RemoteMemoryRole}, {"win_", RemoteMemoryRole},
	{"file_", IORole},
}

// otherCalls lists the roles of other libraries' calls. Prefixes are in lower case; the first one
// that matches counts.
var otherCalls = []prefixRole{
	{"shmem_barrier", BarrierRole}, {"shmem_sync", BarrierRole}, {"shmem_broadcast", BroadcastRole},
	{"shmem_wait", CompletionRole}, {"shmem_quiet", CompletionRole},
	{"shmem_put", RemoteMemoryRole}, {"shmem_get", RemoteMemoryRole}, {"shmem_", CommunicationRole},
	{"pvm_send", SendRole}, {"pvm_recv", ReceiveRole}, {"pvm_", CommunicationRole},
	{"!$omp implicit barrier", ImplicitBarrierRole}, {"!$omp barrier", BarrierRole}, {"!$omp taskwait", TaskWaitRole},
	{"!$omp task", TaskRole}, {"!$omp create task", TaskCreateRole},
	{"!$omp parallel", ForkRole}, {"!$omp critical", LockRole}, {"!$omp atomic", LockRole}, {"!$omp ordered", LockRole},
	{"!$omp", WorksharingRole},
	{"openmp implicit barrier", ImplicitBarrierRole}, {"openmp barrier", BarrierRole}, {"openmp task wait", TaskWaitRole},
	{"openmp task", TaskRole}, {"openmp untied", TaskRole}, {"openmp parallel", ForkRole},
	{"openmp implicit task", ForkRole}, {"openmp critical", LockRole}, {"openmp ordered", LockRole},
	{"openmp acquire mutex", LockRole}, {"openmp set ", LockRole}, {"openmp unset ", LockRole}, {"openmp test ", LockRole},
	{"openmp for", WorksharingRole}, {"openmp loop", WorksharingRole}, {"openmp section", WorksharingRole},
	{"openmp workshare", WorksharingRole},
	{"omp_set_lock", LockRole}, {"omp_set_nest_lock", LockRole}, {"omp_", ThreadRole},
	{"pthread_mutex", LockRole}, {"pthread_rwlock", LockRole}, {"pthread_spin", LockRole}, {"pthread_cond", ConditionRole},
	{"pthread_barrier", BarrierRole}, {"pthread_", ThreadRole},
	{"sem_wait", LockRole}, {"sem_timedwait", LockRole}, {"sem_post", LockRole},
	{"culaunch", LaunchRole}, {"cudalaunch", LaunchRole}, {"hiplaunch", LaunchRole}, {"hipmodulelaunch", LaunchRole},
	{"hipextlaunch", LaunchRole}, {"hipextmodulelaunch", LaunchRole},
	{"cudadevicesync", DeviceSyncRole}, {"cudastreamsync", DeviceSyncRole}, {"cudaeventsync", DeviceSyncRole},
	{"cuctxsync", DeviceSyncRole}, {"custreamsync", DeviceSyncRole}, {"cueventsync", DeviceSyncRole},
	{"hipdevicesync", DeviceSyncRole}, {"hipstreamsync", DeviceSyncRole}, {"hipeventsync", DeviceSyncRole},
	{"hipctxsync", DeviceSyncRole},
	{"cudamemcpy", TransferRole}, {"cumemcpy", TransferRole}, {"hipmemcpy", TransferRole},
	{"compute idle", WaitingRole}, {"gpu idle", WaitingRole}, // Score-P's idle times of streams
	{"cudamalloc", MemoryRole}, {"cudafree", MemoryRole}, {"hipmalloc", MemoryRole}, {"hipfree", MemoryRole},
}

// textRoles maps words for roles that occur in traces, in lower case, to roles.
var textRoles = map[string]Role{
	"function": UserRole, "loop": UserRole, "code": UserRole, "parallel": ForkRole, "sections": WorksharingRole,
	"section": WorksharingRole, "workshare": WorksharingRole,
	"single": WorksharingRole, "single_sblock": WorksharingRole, "master": WorksharingRole, "critical": LockRole,
	"critical_sblock": LockRole, "atomic": LockRole,
	"barrier": BarrierRole, "implicit_barrier": ImplicitBarrierRole, "ordered": LockRole, "ordered_sblock": LockRole,
	"task": TaskRole, "task_untied": TaskRole, "task_create": TaskCreateRole,
	"task_wait": TaskWaitRole, "coll_one2all": CollectiveRole, "coll_all2one": CollectiveRole,
	"coll_all2all": CollectiveRole,
	"coll_other":   CollectiveRole, "file_io": IORole, "file_io_metadata": IORole, "point2point": MessageRole,
	"rma": RemoteMemoryRole, "data_transfer": TransferRole,
	"thread_create": ThreadRole, "thread_wait": ThreadRole, "allocate": MemoryRole, "deallocate": MemoryRole,
	"reallocate":    MemoryRole,
	"kernel_launch": LaunchRole, "kernel": KernelRole, "idle": WaitingRole, "wait": WaitingRole,
}

// libraries lists prefixes of the groups and roles of communication libraries' regions.
var libraries = []string{"mpi", "shmem", "pvm", "communication"}

// namedRole returns the role that the name, the group and the role text of a region imply.
func namedRole(r *Region) Role {
	group, text := strings.ToLower(r.Group), strings.ToLower(r.Role)
	if group == "idle" || group == "wait" || text == "idle" || text == "wait" {
		return WaitingRole
	}
	name := strings.ToLower(r.Name)
	call, mpi := strings.CutPrefix(name, "mpi_")
	if !mpi {
		call, mpi = strings.CutPrefix(name, "pmpi_")
	}
	if mpi {
		if role := roleByPrefix(call, mpiCalls); role != UnknownRole {
			return role
		}
		return CommunicationRole
	}
	if text == "barrier" || group == "barrier" {
		return BarrierRole
	}
	if own := []string{"overhead", "measurement system"}; slices.Contains(own, group) || slices.Contains(own, text) {
		return RuntimeRole
	}
	if role := roleByPrefix(name, otherCalls); role != UnknownRole {
		return role
	}
	role := textRoles[text]
	if (role == UnknownRole || role == UserRole) && isLibrary(group) || isLibrary(text) {
		return CommunicationRole
	}
	return role
}

// roleByPrefix returns the role of the first prefix in the list with which s begins, or UnknownRole.
func roleByPrefix(s string, list []prefixRole) Role {
	for _, x := range list {
		if strings.HasPrefix(s, x.prefix) {
			return x.role
		}
	}
	return UnknownRole
}

// isLibrary reports whether a group or role text is one of a communication library.
func isLibrary(s string) bool {
	return slices.ContainsFunc(libraries, func(prefix string) bool { return strings.HasPrefix(s, prefix) })
}

// Paradigm is the programming model or library to which a region belongs.
type Paradigm string

// The paradigms that names of regions imply. Groups of regions may imply others.
const (
	MPI            Paradigm = "mpi"
	SHMEM          Paradigm = "shmem"
	PVM            Paradigm = "pvm"
	MessagePassing Paradigm = "message passing" // another library that passes messages
	OpenMP         Paradigm = "openmp"
	Pthread        Paradigm = "pthread"
	CUDA           Paradigm = "cuda"
	HIP            Paradigm = "hip"
)

// PassesMessages reports whether the paradigm is a way of communication between processes.
func (p Paradigm) PassesMessages() bool {
	return p == MPI || p == SHMEM || p == PVM || p == MessagePassing
}

// paradigms lists prefixes of the names and groups of regions with their paradigms.
var paradigms = []struct {
	prefix   string
	paradigm Paradigm
	group    bool // the prefix also applies to groups and role texts
}{
	{"mpi_", MPI, false}, {"pmpi_", MPI, false}, {"shmem_", SHMEM, false}, {"pvm_", PVM, false},
	{"mpi", MPI, true}, {"shmem", SHMEM, true}, {"pvm", PVM, true}, {"communication", MessagePassing, true},
	{"!$omp", OpenMP, false}, {"omp_", OpenMP, false}, {"openmp ", OpenMP, false},
	{"pthread_", Pthread, false}, {"sem_wait", Pthread, false}, {"sem_timedwait", Pthread, false},
	{"sem_post", Pthread, false}, {"cuda", CUDA, false},
	{"hip", HIP, false},
}

// Communicates reports whether a region is a call of a communication library. Barriers of threads do
// not count.
func (d *Definitions) Communicates(region uint32) bool {
	role := d.RoleOf(region)
	if role == WaitingRole { // such as a receive of PICL that has waited
		return d.RegionParadigm(d.Regions.At(region)).PassesMessages()
	}
	if role < SendRole || role > CommunicationRole || role == ImplicitBarrierRole {
		return false
	}
	if role != BarrierRole || !d.Regions.Has(region) {
		return true
	}
	p := d.RegionParadigm(d.Regions.At(region))
	return p != OpenMP && p != Pthread
}

// MPICall returns the name of the MPI call that a region stands for, in lower case and without MPI_. It returns "" for
// other regions.
func (d *Definitions) MPICall(region uint32) string {
	if !d.Regions.Has(region) {
		return ""
	}
	name := strings.TrimPrefix(strings.TrimRight(strings.ToLower(d.Regions.At(region).Name), "_"), "p")
	name, ok := strings.CutPrefix(name, "mpi_")
	if !ok {
		return ""
	}
	return name
}

// RegionParadigm returns the paradigm of a region, or "" if it cannot be determined.
func (d *Definitions) RegionParadigm(r *Region) Paradigm {
	if d.Conventions.EventTypes {
		switch d.RegionRole(r) {
		case UserRole, UserOverheadRole, TracingRole, UnknownRole:
			return ""
		}
		return MessagePassing
	}
	if d.Roles != nil {
		if role := d.Roles(r); role >= SendRole && role <= CommunicationRole && role != ImplicitBarrierRole {
			return MessagePassing
		}
	}
	name, group, text := strings.ToLower(r.Name), strings.ToLower(r.Group), strings.ToLower(r.Role)
	for _, p := range paradigms {
		if p.group {
			if strings.HasPrefix(group, p.prefix) || strings.HasPrefix(text, p.prefix) {
				return p.paradigm
			}
		} else if strings.HasPrefix(name, p.prefix) {
			return p.paradigm
		}
	}
	return ""
}
