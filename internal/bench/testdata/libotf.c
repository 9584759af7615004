/* Writes the event files that writeOTF writes with one goroutine, with libotf:
   libotf STUB STREAMS PROCESSES-A-STREAM ROUNDS. See otf_workload.go. */
#include <stdint.h>
#include <stdlib.h>
#include <open-trace-format/otf.h>

enum { ROUND = 20, FUNCTIONS = 200, DEPTH = 20, STEP = 200, START = 1000, MAX_EACH = 16 };

struct stream {
	OTF_WStream *w;
	int first;
	uint64_t random, time;
	uint64_t steps[ROUND / 2 * MAX_EACH];
	int depth[MAX_EACH];
	uint32_t open[MAX_EACH][DEPTH];
};

static int streams, each, rounds;

static uint64_t draw(struct stream *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return s->random;
}

static uint64_t step(uint64_t random)
{
	return (random >> 32) % (STEP + 1);
}

static void tick(struct stream *s, int event, uint64_t random)
{
	int half = ROUND / 2 * each;

	if (event < half)
		s->time += s->steps[event] = step(random);
	else
		s->time += STEP - s->steps[event - half];
}

static int leave(struct stream *s, int p)
{
	uint32_t function = s->open[p][--s->depth[p]];

	return OTF_WStream_writeLeave(s->w, s->time, function, s->first + p + 1, 0);
}

static int call(struct stream *s, uint64_t random, int p)
{
	int depth = s->depth[p];
	uint32_t function;

	if (depth > 0 && (depth == DEPTH || random >> 8 & 1))
		return leave(s, p);
	function = 1 + (random >> 16 & 0xffff) % FUNCTIONS;
	s->open[p][s->depth[p]++] = function;
	return OTF_WStream_writeEnter(s->w, s->time, function, s->first + p + 1, 0);
}

static int message(struct stream *s, int sends, int n, int p)
{
	int all = streams * each, self = s->first + p, distance = 1 + n % (all - 1);
	int sender = sends ? self : (self + all - distance) % all;
	uint32_t length = 8 * (1 + (n + sender) % 1000);

	if (sends)
		return OTF_WStream_writeSendMsg(s->w, s->time, self + 1, (self + distance) % all + 1, 1, n % 16, length, 0);
	return OTF_WStream_writeRecvMsg(s->w, s->time, self + 1, sender + 1, 1, n % 16, length, 0);
}

static int play(struct stream *s, int n)
{
	int shift = draw(s) % ROUND, ok = 1, i;

	for (i = 0; i < ROUND * each && ok; i++) {
		uint64_t x = draw(s);
		int p = i % each, slot = (i / each + shift) % ROUND;

		tick(s, i, x);
		if (slot == 0 && n < rounds - 1)
			ok = message(s, 1, n, p);
		else if (slot == 7 && n > 0)
			ok = message(s, 0, n - 1, p);
		else if (slot == 0 || slot == 7 || slot == 13)
			ok = OTF_WStream_writeCounter(s->w, s->time, s->first + p + 1, 1, x >> 40);
		else
			ok = call(s, x, p);
	}
	return ok;
}

static int finish(struct stream *s)
{
	int p;

	for (p = 0; p < each; p++)
		while (s->depth[p] > 0) {
			s->time += step(draw(s));
			if (!leave(s, p))
				return 0;
		}
	return 1;
}

int main(int argc, char **argv)
{
	OTF_FileManager *m = OTF_FileManager_open(64);
	struct stream *s;
	int i, n;

	if (argc != 5 || !m)
		return 1;
	streams = atoi(argv[2]);
	each = atoi(argv[3]);
	rounds = atoi(argv[4]);
	s = calloc(streams, sizeof *s);
	if (!s || each > MAX_EACH)
		return 1;
	for (i = 0; i < streams; i++) {
		s[i].w = OTF_WStream_open(argv[1], i + 1, m);
		if (!s[i].w)
			return 1;
		OTF_WStream_setBufferSizes(s[i].w, 1 << 20);
		s[i].first = i * each;
		s[i].random = (uint64_t)(i + 1) * 0x9e3779b97f4a7c15;
		s[i].time = START;
	}
	for (n = 0; n < rounds; n++)
		for (i = 0; i < streams; i++)
			if (!play(&s[i], n))
				return 1;
	for (i = 0; i < streams; i++)
		if (!finish(&s[i]) || !OTF_WStream_close(s[i].w))
			return 1;
	free(s);
	OTF_FileManager_close(m);
	return 0;
}
