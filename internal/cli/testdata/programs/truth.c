/* Ranks send messages to each other and do collective operations, and each writes what it
   did to truth.RANK: lines of figures, and for messages the seconds that they took. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define MOST 16

static unsigned seed = 7;

/* The same numbers on all ranks. */
static int drawn(int below) {
  seed = seed * 1664525u + 1013904223u;
  return (int)((seed >> 8) % (unsigned)below);
}

int main(int argc, char **argv) {
  static char buffer[5000];
  long sent[MOST] = {0}, bytes[MOST] = {0}, received[MOST] = {0};
  double took[MOST] = {0};
  int rank, size, i;
  char name[32];
  MPI_Comm half;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > MOST)
    MPI_Abort(MPI_COMM_WORLD, 1);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  for (i = 0; i < 120; i++) {
    int from = drawn(size), to = (from + 1 + drawn(size - 1)) % size, tag = drawn(3);
    int length = (int)sizeof(double) + drawn(4000), late = drawn(2);
    if (rank == from) {
      *(double *)buffer = MPI_Wtime();
      MPI_Send(buffer, length, MPI_CHAR, to, tag, MPI_COMM_WORLD);
      sent[to]++;
      bytes[to] += length;
    }
    if (rank == to) {
      if (late)
        usleep(20000);
      MPI_Recv(buffer, length, MPI_CHAR, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      took[from] += MPI_Wtime() - *(double *)buffer;
      received[from]++;
    }
  }
  for (i = 0; i < 6; i++)
    MPI_Barrier(MPI_COMM_WORLD);
  for (i = 0; i < 5; i++)
    MPI_Bcast(buffer, 100, MPI_CHAR, i % size, MPI_COMM_WORLD);
  for (i = 0; i < 4; i++) {
    double in = rank, out;
    MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, half);
  }
  snprintf(name, sizeof name, "truth.%d", rank);
  FILE *f = fopen(name, "w");
  for (i = 0; i < size; i++) {
    if (sent[i])
      fprintf(f, "sent %d %d %ld %ld\n", rank, i, sent[i], bytes[i]);
    if (received[i])
      fprintf(f, "received %d %d %ld %.9f\n", i, rank, received[i], took[i]);
  }
  fprintf(f, "calls barrier 6\ncalls broadcast 5\ncalls allreduce 4\n");
  fclose(f);
  MPI_Comm_free(&half);
  MPI_Finalize();
  return 0;
}
