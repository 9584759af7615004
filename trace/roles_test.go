package trace

import (
	"strings"
	"testing"
)

// TestRoles checks the roles that regions have according to the standards of their libraries.
func TestRoles(t *testing.T) {
	for _, test := range []struct {
		region   Region
		role     Role
		paradigm Paradigm
	}{
		{Region{Name: "main", Role: "FUNCTION"}, UserRole, ""},
		{Region{Name: "solve"}, UnknownRole, ""},
		{Region{Name: "MPI_Send"}, SendRole, MPI},
		{Region{Name: "PMPI_Ssend"}, SendRole, MPI},
		{Region{Name: "MPI_Recv", Group: "MPI"}, ReceiveRole, MPI},
		{Region{Name: "MPI_Recv_init"}, ImmediateReceiveRole, MPI},
		{Region{Name: "MPI_Isend"}, ImmediateSendRole, MPI},
		{Region{Name: "MPI_Irecv"}, ImmediateReceiveRole, MPI},
		{Region{Name: "MPI_Sendrecv"}, MessageRole, MPI},
		{Region{Name: "MPI_Waitall"}, CompletionRole, MPI},
		{Region{Name: "MPI_Testany"}, TestRole, MPI},
		{Region{Name: "MPI_Iprobe"}, TestRole, MPI},
		{Region{Name: "MPI_Probe"}, ProbeRole, MPI},
		{Region{Name: "MPI_Barrier"}, BarrierRole, MPI},
		{Region{Name: "MPI_Ibarrier"}, ImmediateCollectiveRole, MPI},
		{Region{Name: "MPI_Allreduce", Role: "COLL_ALL2ALL", Group: "MPI"}, AllReduceRole, MPI},
		{Region{Name: "MPI_Reduce_scatter_block"}, ReduceScatterRole, MPI},
		{Region{Name: "MPI_Neighbor_alltoallv"}, CollectiveRole, MPI},
		{Region{Name: "MPI_Put"}, RemoteMemoryRole, MPI},
		{Region{Name: "MPI_File_write_all"}, IORole, MPI},
		{Region{Name: "MPI_Comm_rank"}, CommunicationRole, MPI},
		{Region{Name: "exchange", Group: "MPI_COLL"}, CommunicationRole, MPI},
		{Region{Name: "exchange", Group: "MPI", Role: "COLL_ONE2ALL"}, CollectiveRole, MPI},
		{Region{Name: "shmem_barrier_all"}, BarrierRole, SHMEM},
		{Region{Name: "shmem_int_wait_until"}, CommunicationRole, SHMEM},
		{Region{Name: "!$omp parallel @heat.c:31"}, ForkRole, OpenMP},
		{Region{Name: "!$omp implicit barrier @heat.c:44"}, ImplicitBarrierRole, OpenMP},
		{Region{Name: "!$omp for @heat.c:33"}, WorksharingRole, OpenMP},
		{Region{Name: "!$omp create task @fib.c:5", Role: "TASK_CREATE"}, TaskCreateRole, OpenMP},
		{Region{Name: "!$omp task @fib.c:5", Role: "TASK"}, TaskRole, OpenMP},
		{Region{Name: "!$omp taskwait @fib.c:9"}, TaskWaitRole, OpenMP},
		{Region{Name: "anonymous", Group: "OPENMP", Role: "BARRIER"}, BarrierRole, ""},
		{Region{Name: "pthread_mutex_lock"}, LockRole, Pthread},
		{Region{Name: "pthread_cond_wait"}, ConditionRole, Pthread},
		{Region{Name: "pthread_create"}, ThreadRole, Pthread},
		{Region{Name: "sem_wait"}, LockRole, Pthread},
		{Region{Name: "OpenMP Parallel"}, ForkRole, OpenMP}, {Region{Name: "OpenMP barrier"}, BarrierRole, OpenMP},
		{Region{Name: "OpenMP implicit barrier"}, ImplicitBarrierRole, OpenMP},
		{Region{Name: "OpenMP Set Lock"}, LockRole, OpenMP}, {Region{Name: "OpenMP For"}, WorksharingRole, OpenMP},
		{Region{Name: "cudaLaunchKernel"}, LaunchRole, CUDA},
		{Region{Name: "hipDeviceSynchronize"}, DeviceSyncRole, HIP}, {Region{Name: "hipCtxSynchronize"}, DeviceSyncRole, HIP},
		{Region{Name: "cuEventSynchronize", Group: "CUDA"}, DeviceSyncRole, ""},
		{Region{Name: "hipExtModuleLaunchKernel"}, LaunchRole, HIP},
		{Region{Name: "start", Role: "KERNEL_LAUNCH"}, LaunchRole, ""}, {Region{Name: "k", Role: "KERNEL"}, KernelRole, ""},
		{Region{Name: "sleep", Group: "Idle"}, WaitingRole, ""},
		{Region{Name: "flush", Group: "MEASUREMENT SYSTEM"}, RuntimeRole, ""},
		{Region{Name: "fread", Role: "FILE_IO"}, IORole, ""},
	} {
		d := &Definitions{}
		i := d.Regions.Add(test.region)
		if role, paradigm := d.RoleOf(i), d.RegionParadigm(&test.region); role != test.role || paradigm != test.paradigm {
			t.Errorf("%+v: found %v of %q, want %v of %q", test.region, role, paradigm, test.role, test.paradigm)
		}
	}
}

// TestOwnRoles checks that a role from the user takes precedence.
func TestOwnRoles(t *testing.T) {
	d := &Definitions{Roles: func(r *Region) Role {
		if r.Name == "MPI_Send" {
			return IORole
		}
		return UnknownRole
	}}
	send, recv := d.Regions.Add(Region{Name: "MPI_Send"}), d.Regions.Add(Region{Name: "MPI_Recv"})
	if a, b := d.RoleOf(send), d.RoleOf(recv); a != IORole || b != ReceiveRole {
		t.Errorf("found %v and %v, want io and receive", a, b)
	}
	if d.RoleOf(NoRef) != UnknownRole || d.RoleOf(7) != UnknownRole {
		t.Error("a region that is not there has a role")
	}
}

// TestEventTypes checks roles of regions whose ids are event types of PICL.
func TestEventTypes(t *testing.T) {
	d := &Definitions{Conventions: Conventions{EventTypes: true}}
	for id, want := range map[string]Role{"-31": WaitingRole, "-402": BarrierRole, "-760": CollectiveRole,
		"-901": TracingRole, "-1": TracingRole, "-950": RuntimeRole, "-21": CommunicationRole, "5": SendRole} {
		if role := d.RegionRole(&Region{ID: id, Name: "MPI_Send"}); role != want {
			t.Errorf("event type %s: found %v, want %v", id, role, want)
		}
	}
	if role := d.RegionRole(&Region{ID: "5", Name: "wait"}); role != UserRole {
		t.Errorf("event type 5, wait: found %v, want %v", role, UserRole)
	}
}

// TestRoleNames checks that each role has a unique name, by which RoleByName finds it.
func TestRoleNames(t *testing.T) {
	for r := range roleCount {
		if found, ok := RoleByName(r.String()); !ok || found != r {
			t.Errorf("%d: the name %q finds %v", r, r, found)
		}
	}
	if len(roleNames) != int(roleCount) || roleNames[roleCount-1] != "tracing" {
		t.Error("a role has no name")
	}
}

// TestCollectiveRoles checks which roles are those of collective operations other than barriers.
func TestCollectiveRoles(t *testing.T) {
	var got []string
	for r := range roleCount {
		if r.IsCollective() {
			got = append(got, r.String())
		}
	}
	want := "broadcast gather scatter all-gather all-to-all all-reduce reduce reduce-scatter scan collective"
	if found := strings.Join(got, " "); found != want {
		t.Errorf("found %s, expected %s", found, want)
	}
}

// TestMessagePassing checks the paradigms whose barriers join processes.
func TestMessagePassing(t *testing.T) {
	for name, want := range map[string]bool{"MPI_Barrier": true, "shmem_barrier_all": true, "pvm_barrier": true,
		"OpenMP barrier": false, "pthread_barrier_wait": false} {
		d := &Definitions{}
		if got := d.Communicates(d.Regions.Add(Region{Name: name})); got != want {
			t.Errorf("%s: found %t, expected %t", name, got, want)
		}
	}
}
