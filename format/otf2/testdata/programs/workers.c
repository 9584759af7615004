/* Threads add to a sum under a lock. */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long sum;

static void *work(void *arg) {
  for (int i = 0; i < 50; i++) {
    pthread_mutex_lock(&lock);
    sum += (long)arg;
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

int main(void) {
  pthread_t t[3];
  for (long i = 0; i < 3; i++)
    pthread_create(&t[i], NULL, work, (void *)(i + 1));
  for (int i = 0; i < 3; i++)
    pthread_join(t[i], NULL);
  printf("%ld\n", sum);
  return 0;
}
