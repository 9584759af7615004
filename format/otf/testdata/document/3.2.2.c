/* The program of section 3.2.2 of the specification. */
#include <otf.h>
#include <stdio.h>
#include <assert.h>

int handleDefProcess (void *userData, uint32_t stream,
    uint32_t process, const char *name, uint32_t
    parent) {

	printf( "process %u is named \"%s\"\n", process, name );

	return OTF_RETURN_OK;
}

int main( int argc, char** argv ) {
	OTF_RStream* rstream;
	OTF_FileManager* manager;
	OTF_HandlerArray* handlers;

	manager= OTF_FileManager_open( 100 );
	assert( manager );

	handlers = OTF_HandlerArray_open();
	assert( handlers );

	rstream = OTF_RStream_open( "mytrace", 0, manager );
	assert( rstream );

	OTF_HandlerArray_setHandler( handlers,
	                             (OTF_FunctionPointer*) handleDefProcess,
	                             OTF_DEFPROCESS_RECORD );

	OTF_RStream_readDefinitions( rstream, handlers );

	OTF_RStream_close( rstream );
	OTF_HandlerArray_close( handlers );
	OTF_FileManager_close( manager );

	return 0;
}
