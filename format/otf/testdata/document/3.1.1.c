/* The program of section 3.1.1 of the specification. */
#include <otf.h>
#include <assert.h>

int main( int argc, char** argv ) {
	OTF_FileManager* manager;
	OTF_Writer* writer;

	manager= OTF_FileManager_open( 100 );
	assert( manager );

	writer = OTF_Writer_open( "test", 1, manager );
	assert( writer );

	OTF_Writer_writeDefTimerResolution( writer, 0, 1000 );
	OTF_Writer_writeDefProcess( writer, 0, 1, "proc one",
	    0 );
	OTF_Writer_writeDefFunctionGroup( writer, 0, 1000,
	    "all functions" );
	OTF_Writer_writeDefFunction( writer, 0, 1, "main",
	    1000, 0 );

	OTF_Writer_writeEnter( writer, 10000, 1, 1, 0 );
	OTF_Writer_writeLeave( writer, 20000, 1, 1, 0 );

	OTF_Writer_close( writer );
	OTF_FileManager_close( manager );

	return 0;
}
