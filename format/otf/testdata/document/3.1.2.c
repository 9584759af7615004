/* The program of section 3.1.2 of the specification, but for the second argument 0 of the
   functions that write: libotf's have none, the stream is that of the WStream. */
#include <otf.h>
#include <assert.h>

int main( int argc, char** argv ) {
	OTF_FileManager* manager;
	OTF_WStream* wstream;

	manager= OTF_FileManager_open( 100 );
	assert( manager );

	wstream = OTF_WStream_open( "test", 0, manager );
	assert( wstream );

	OTF_WStream_writeDefTimerResolution( wstream,
	    1000 );
	OTF_WStream_writeDefProcess( wstream, 1,
	    "proc one", 0 );

	OTF_WStream_close( wstream );
	OTF_FileManager_close( manager );

	return 0;
}
