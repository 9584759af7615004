/* interfaces uses one of libotf's interfaces for traces, streams and master files, as its only argument
   says, in the current directory. */
#include <otf.h>
#include <stdio.h>
#include <string.h>

static int enter(void *data, uint64_t time, uint32_t function, uint32_t process, uint32_t source) {
	printf("%llu: %u enters %u\n", (unsigned long long)time, process, function);
	return OTF_RETURN_OK;
}

static int leave(void *data, uint64_t time, uint32_t function, uint32_t process, uint32_t source) {
	printf("%llu: %u leaves %u\n", (unsigned long long)time, process, function);
	return OTF_RETURN_OK;
}

static int process(void *data, uint32_t stream, uint32_t token, const char *name, uint32_t parent) {
	printf("process %u of stream %u: %s\n", token, stream, name);
	return OTF_RETURN_OK;
}

static int write_trace(OTF_FileManager *files) {
	OTF_Writer *w = OTF_Writer_open("written", 1, files);
	if (!w) return 1;
	int ok = OTF_Writer_writeDefTimerResolution(w, 0, 250) &&
		OTF_Writer_writeDefProcess(w, 0, 3, "rank 3", 0) &&
		OTF_Writer_writeDefFunctionGroup(w, 0, 20, "user code") &&
		OTF_Writer_writeDefFunction(w, 0, 7, "solve", 20, 0) &&
		OTF_Writer_writeEnter(w, 500, 7, 3, 0) &&
		OTF_Writer_writeLeave(w, 725, 7, 3, 0);
	return !(OTF_Writer_close(w) && ok);
}

static int write_stream(OTF_FileManager *files) {
	OTF_WStream *s = OTF_WStream_open("written", 0, files);
	if (!s) return 1;
	int ok = OTF_WStream_writeDefTimerResolution(s, 250) && OTF_WStream_writeDefProcess(s, 3, "rank 3", 0);
	return !(OTF_WStream_close(s) && ok);
}

static int read_trace(OTF_FileManager *files, OTF_HandlerArray *h) {
	OTF_Reader *r = OTF_Reader_open("written", files);
	if (!r) return 1;
	OTF_HandlerArray_setHandler(h, (OTF_FunctionPointer *)enter, OTF_ENTER_RECORD);
	OTF_HandlerArray_setHandler(h, (OTF_FunctionPointer *)leave, OTF_LEAVE_RECORD);
	int bad = OTF_Reader_readEvents(r, h) == OTF_READ_ERROR;
	OTF_Reader_close(r);
	return bad;
}

static int read_stream(OTF_FileManager *files, OTF_HandlerArray *h) {
	OTF_RStream *r = OTF_RStream_open("written", 0, files);
	if (!r) return 1;
	OTF_HandlerArray_setHandler(h, (OTF_FunctionPointer *)process, OTF_DEFPROCESS_RECORD);
	int bad = OTF_RStream_readDefinitions(r, h) == OTF_READ_ERROR;
	OTF_RStream_close(r);
	return bad;
}

/* master writes a master file of two streams and says what it reads of it. */
static int master(OTF_FileManager *files) {
	OTF_MasterControl *m = OTF_MasterControl_new(files);
	for (uint32_t p = 10; p < 15; p++) OTF_MasterControl_append(m, 1 + p % 2, p);
	OTF_MasterControl_write(m, "written");
	OTF_MasterControl_close(m);
	m = OTF_MasterControl_new(files);
	OTF_MasterControl_read(m, "written");
	for (uint32_t s = 0; s < OTF_MasterControl_getCount(m); s++) {
		OTF_MapEntry *e = OTF_MasterControl_getEntryByIndex(m, s);
		for (uint32_t i = 0; i < e->n; i++) printf("stream %u: process %u\n", e->argument, e->values[i]);
	}
	OTF_MasterControl_close(m);
	return 0;
}

int main(int argc, char **argv) {
	OTF_FileManager *files = OTF_FileManager_open(8);
	OTF_HandlerArray *handlers = OTF_HandlerArray_open();
	const char *what = argc > 1 ? argv[1] : "";
	int bad = 2;
	if (!strcmp(what, "write")) bad = write_trace(files);
	if (!strcmp(what, "write-stream")) bad = write_stream(files);
	if (!strcmp(what, "read")) bad = read_trace(files, handlers);
	if (!strcmp(what, "read-stream")) bad = read_stream(files, handlers);
	if (!strcmp(what, "master")) bad = master(files);
	OTF_HandlerArray_close(handlers);
	OTF_FileManager_close(files);
	return bad;
}
