package otf

// modelOperations are the collective operations that the model numbers as OTF2 does: their
// names, and what kind OTF says that they are. otfprofile aborts on one of no kind.
var modelOperations = [...]struct {
	name string
	kind uint64
}{
	{"barrier", barrier}, {"broadcast", oneToAll}, {"gather", allToOne}, {"gatherv", allToOne}, {"scatter", oneToAll}, {"scatterv", oneToAll},
	{"allgather", allToAll}, {"allgatherv", allToAll}, {"alltoall", allToAll}, {"alltoallv", allToAll}, {"alltoallw", allToAll}, {"allreduce", allToAll},
	{"reduce", allToOne}, {"reduce-scatter", allToAll}, {"scan", allToAll}, {"exscan", allToAll}, {"reduce-scatter-block", allToAll},
	{"create-handle", allToAll}, {"destroy-handle", allToAll}, {"allocate", allToAll}, {"deallocate", allToAll},
	{"create-handle-and-allocate", allToAll}, {"destroy-handle-and-deallocate", allToAll},
}
