/* Ranks send numbers around a ring and add them up: blocking and non-blocking messages,
   a barrier, a broadcast and a reduction. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv) {
  int rank, size, token, sum, i;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int next = (rank + 1) % size, before = (rank + size - 1) % size;
  for (i = 0; i < 10; i++) {
    MPI_Request r;
    int in;
    token = rank * 100 + i;
    MPI_Irecv(&in, 1, MPI_INT, before, i, MPI_COMM_WORLD, &r);
    MPI_Send(&token, 1, MPI_INT, next, i, MPI_COMM_WORLD);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
  }
  for (i = 0; i < 5; i++) {
    if (rank == 0) {
      MPI_Send(&token, 1, MPI_INT, next, 100, MPI_COMM_WORLD);
      MPI_Recv(&token, 1, MPI_INT, before, 100, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(&token, 1, MPI_INT, before, 100, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(&token, 1, MPI_INT, next, 100, MPI_COMM_WORLD);
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Bcast(&token, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Reduce(&rank, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
