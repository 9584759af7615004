/* Threads wait for a mutex, a condition and a barrier on purpose. The program writes to locks.0 for how long, in
   seconds: thread 1 for the mutex, thread 0 for the condition, and thread 1 for the barrier. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static int ready;
static double waited[3];

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static void *thread0(void *unused) {
  int i;
  double begin;
  for (i = 0; i < 5; i++) {
    pthread_mutex_lock(&mutex);
    pthread_barrier_wait(&barrier); /* now thread 1 wants the mutex */
    usleep(20000);
    pthread_mutex_unlock(&mutex);
    pthread_barrier_wait(&barrier);
  }
  pthread_mutex_lock(&other);
  begin = now();
  while (!ready)
    pthread_cond_wait(&condition, &other);
  waited[1] = now() - begin;
  pthread_mutex_unlock(&other);
  usleep(40000);
  pthread_barrier_wait(&barrier);
  return unused;
}

static void *thread1(void *unused) {
  int i;
  double begin;
  for (i = 0; i < 5; i++) {
    pthread_barrier_wait(&barrier);
    begin = now();
    pthread_mutex_lock(&mutex);
    waited[0] += now() - begin;
    pthread_mutex_unlock(&mutex);
    pthread_barrier_wait(&barrier);
  }
  usleep(30000);
  pthread_mutex_lock(&other);
  ready = 1;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&other);
  begin = now();
  pthread_barrier_wait(&barrier);
  waited[2] = now() - begin;
  return unused;
}

int main(void) {
  pthread_t a, b;
  FILE *f;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&a, NULL, thread0, NULL);
  pthread_create(&b, NULL, thread1, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  f = fopen("locks.0", "w");
  fprintf(f, "%.9f %.9f %.9f\n", waited[0], waited[1], waited[2]);
  fclose(f);
  return 0;
}
