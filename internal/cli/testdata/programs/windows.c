/* A program with one-sided communication that records its own calls, one line each: rank, call, begin and end in ns,
 * and, by call, the group or the target. It waits for known times: see the numbers. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static int rank;
static FILE *out;

static long now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

#define CALL(name, detail, ...) do { long b = now(); __VA_ARGS__; fprintf(out, "%d %s %ld %ld %d\n", rank, name, b, now(), detail); } while (0)

int main(int argc, char **argv) {
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	char path[100];
	snprintf(path, sizeof path, "windows.%d", rank);
	out = fopen(path, "w");
	double *memory, x[100] = {0};
	MPI_Win w;
	MPI_Group world, peer;
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	int other = 1 - rank;
	MPI_Group_incl(world, 1, &other, &peer);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 1) usleep(20000); /* the window is created 20 ms late */
	CALL("MPI_Win_allocate", -1, MPI_Win_allocate(1 << 20, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &w));
	CALL("MPI_Win_fence", -1, MPI_Win_fence(0, w));
	if (rank == 1) usleep(50000); /* the fence is reached 50 ms late */
	CALL("MPI_Win_fence", -1, MPI_Win_fence(0, w));
	CALL("MPI_Put", other, MPI_Put(x, 100, MPI_DOUBLE, other, 0, 100, MPI_DOUBLE, w));
	CALL("MPI_Win_fence", -1, MPI_Win_fence(0, w));
	if (rank == 0) {
		CALL("MPI_Win_start", other, MPI_Win_start(peer, 0, w));
		CALL("MPI_Put", other, MPI_Put(x, 100, MPI_DOUBLE, other, 0, 100, MPI_DOUBLE, w));
		CALL("MPI_Win_complete", other, MPI_Win_complete(w));
	} else {
		usleep(40000); /* the memory is posted 40 ms late */
		CALL("MPI_Win_post", other, MPI_Win_post(peer, 0, w));
		CALL("MPI_Win_wait", other, MPI_Win_wait(w));
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0) {
		CALL("MPI_Win_start", other, MPI_Win_start(peer, 0, w));
		usleep(30000); /* the accesses are complete 30 ms late */
		CALL("MPI_Put", other, MPI_Put(x, 100, MPI_DOUBLE, other, 0, 100, MPI_DOUBLE, w));
		CALL("MPI_Win_complete", other, MPI_Win_complete(w));
	} else {
		CALL("MPI_Win_post", other, MPI_Win_post(peer, 0, w));
		CALL("MPI_Win_wait", other, MPI_Win_wait(w));
	}
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0) {
		CALL("MPI_Win_lock", 1, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w));
		CALL("MPI_Put", 1, MPI_Put(x, 100, MPI_DOUBLE, 1, 0, 100, MPI_DOUBLE, w));
		CALL("MPI_Win_flush", 1, MPI_Win_flush(1, w));
		usleep(35000); /* the lock is held for 35 ms */
		CALL("MPI_Win_unlock", 1, MPI_Win_unlock(1, w));
	} else {
		usleep(10000);
		CALL("MPI_Win_lock", 1, MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, w));
		CALL("MPI_Get", 1, MPI_Get(x, 100, MPI_DOUBLE, 1, 0, 100, MPI_DOUBLE, w));
		CALL("MPI_Win_unlock", 1, MPI_Win_unlock(1, w));
	}
	CALL("MPI_Win_free", -1, MPI_Win_free(&w));
	fclose(out);
	MPI_Finalize();
	return 0;
}
