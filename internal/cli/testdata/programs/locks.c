/* Two threads wait on purpose: thread 1 for the mutex, thread 0 for the condition, and thread 1 for the last barrier. */
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static int ready;

static void *thread0(void *unused) {
  int i;
  for (i = 0; i < 5; i++) {
    pthread_mutex_lock(&mutex);
    pthread_barrier_wait(&barrier); /* now thread 1 wants the mutex */
    usleep(20000);
    pthread_mutex_unlock(&mutex);
    pthread_barrier_wait(&barrier);
  }
  pthread_mutex_lock(&other);
  while (!ready)
    pthread_cond_wait(&condition, &other);
  pthread_mutex_unlock(&other);
  usleep(40000);
  pthread_barrier_wait(&barrier);
  return unused;
}

static void *thread1(void *unused) {
  int i;
  for (i = 0; i < 5; i++) {
    pthread_barrier_wait(&barrier);
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
    pthread_barrier_wait(&barrier);
  }
  usleep(30000);
  pthread_mutex_lock(&other);
  ready = 1;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&other);
  pthread_barrier_wait(&barrier);
  return unused;
}

int main(void) {
  pthread_t a, b;
  pthread_barrier_init(&barrier, NULL, 2);
  pthread_create(&a, NULL, thread0, NULL);
  pthread_create(&b, NULL, thread1, NULL);
  pthread_join(a, NULL);
  pthread_join(b, NULL);
  return 0;
}
