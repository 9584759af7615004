/* Ranks come late on purpose, and write to late.RANK when they came, in seconds of the machine's clock:
   to a message, to a broadcast, and to ten all-reduce operations. */
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double times[12];

/* Sleeps, and notes when that has ended. */
static void come(int at, int microseconds) {
  struct timespec t;
  if (microseconds > 0)
    usleep(microseconds);
  clock_gettime(CLOCK_MONOTONIC, &t);
  times[at] = t.tv_sec + 1e-9 * t.tv_nsec;
}

int main(int argc, char **argv) {
  int rank, size, i, token = 0;
  double in = 1, out;
  char name[32];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  /* Messages and barriers that tell how far clocks differ. */
  for (i = 0; i < 50; i++) {
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    MPI_Sendrecv_replace(&token, 1, MPI_INT, next, 0, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  come(0, rank == 0 ? 50000 : 0);
  if (rank == 0)
    MPI_Send(&token, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
  else if (rank == 1)
    MPI_Recv(&token, 1, MPI_INT, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (i = 0; i < 50; i++)
    MPI_Barrier(MPI_COMM_WORLD);
  come(1, rank == 2 ? 40000 : 0);
  MPI_Bcast(&token, 1, MPI_INT, 2, MPI_COMM_WORLD);
  for (i = 0; i < 50; i++)
    MPI_Barrier(MPI_COMM_WORLD);
  for (i = 0; i < 10; i++) {
    come(2 + i, rank == 1 ? 9000 : 3000);
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  }
  snprintf(name, sizeof name, "late.%d", rank);
  FILE *f = fopen(name, "w");
  for (i = 0; i < 12; i++)
    fprintf(f, "%.9f\n", times[i]);
  fclose(f);
  MPI_Finalize();
  return 0;
}
