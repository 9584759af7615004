/* Writes the trace that TestPeerWrites writes too, with libotf. */
#include <stdint.h>
#include <stdlib.h>
#include <open-trace-format/otf.h>

int main(int argc, char **argv)
{
	OTF_FileManager *m = OTF_FileManager_open(2);
	OTF_Writer *w = OTF_Writer_open(argv[1], atoi(argv[2]), m);
	OTF_KeyValueList *kv = OTF_KeyValueList_new();
	uint32_t members[] = {1, 2, 3, 4};
	uint8_t bytes[250];
	uint64_t t;
	uint32_t p;
	int i;

	if (!m || !w || !kv)
		return 1;
	for (i = 0; i < 250; i++)
		bytes[i] = i;
	OTF_Writer_setFormat(w, atoi(argv[3]));
	OTF_Writer_assignProcess(w, 4, 7);
	OTF_Writer_writeDefTimerResolution(w, 0, 1000000);
	OTF_Writer_writeDefCreator(w, 0, "peer \"test\"\nof two lines");
	for (p = 1; p <= 4; p++)
		OTF_Writer_writeDefProcess(w, 0, p, p == 3 ? NULL : "process", p == 4 ? 1 : 0);
	OTF_Writer_writeDefProcessGroup(w, 0, 100, "MPI_COMM_WORLD", 4, members);
	OTF_Writer_writeDefProcessGroup(w, 0, 101, "none", 0, NULL);
	OTF_Writer_writeDefFunctionGroup(w, 0, 1, "group");
	OTF_Writer_writeDefFunction(w, 0, 1, "main", 1, 9);
	OTF_Writer_writeDefFunction(w, 2, 1, "local", 1, 0);
	OTF_Writer_writeDefCollectiveOperation(w, 0, 5, "MPI_Bcast", OTF_COLLECTIVE_TYPE_ONE2ALL);
	OTF_Writer_writeDefCounter(w, 0, 6, "FLOPS", OTF_COUNTER_TYPE_ACC | OTF_COUNTER_SCOPE_LAST, 0, "flop");
	OTF_Writer_writeDefKeyValue(w, 0, 7, OTF_UINT32, "key", "a number");
	for (t = 0; t < 1000; t++) {
		p = t % 4 + 1;
		OTF_KeyValueList_appendUint32(kv, 7, (uint32_t)t);
		OTF_KeyValueList_appendDouble(kv, 8, t / 3.0);
		if (t % 100 == 0)
			OTF_KeyValueList_appendByteArray(kv, 9, bytes, 250);
		OTF_Writer_writeEnterKV(w, t / 2, 1, p, t % 3, kv);
		OTF_Writer_writeSendMsg(w, t / 2, p, p % 4 + 1, 100, t, 8 * t, 0);
		OTF_Writer_writeRecvMsg(w, t / 2, p, (p + 2) % 4 + 1, 100, t, 8 * t, t % 2);
		OTF_Writer_writeBeginCollectiveOperation(w, t / 2, p, 5, t, 100, 1, t << 33, 0, 0);
		OTF_Writer_writeEndCollectiveOperation(w, t / 2, p, t);
		OTF_Writer_writeCounter(w, t / 2, p, 6, t * t * t * t * t);
		OTF_Writer_writeLeave(w, t / 2, t % 5 ? 1 : 0, p, 0);
	}
	OTF_Writer_writeDefMarker(w, 0, 1, "here", OTF_MARKER_TYPE_HINT);
	OTF_Writer_writeMarker(w, 77, 2, 1, "look");
	OTF_Writer_writeEnterSnapshot(w, 100, 50, 1, 2, 0);
	OTF_Writer_writeFunctionSummary(w, 100, 1, 2, 3, 4, 5);
	OTF_KeyValueList_close(kv);
	OTF_Writer_close(w);
	OTF_FileManager_close(m);
	return 0;
}
