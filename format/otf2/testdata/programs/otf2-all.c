/* Writes an archive with every kind of record of OTF2 by its own library: definitions,
 * events, snapshots, markers, thumbnails, mapping tables and clock offsets.
 *
 *     otf2-all FOLDER SEED EVENTS
 *
 * The archive is FOLDER/all.otf2, with EVENTS events at each location. The seed says
 * which values the records have. */
#include <otf2/otf2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations" /* archives have those too */

static void ok( OTF2_ErrorCode status )
{
    if ( status != OTF2_SUCCESS )
    {
        fprintf( stderr, "%s\n", OTF2_Error_GetDescription( status ) );
        exit( 1 );
    }
}

/* Numbers. */

static uint64_t state;

static uint64_t next( void )
{
    uint64_t x = state += 0x9e3779b97f4a7c15;
    x = ( x ^ x >> 30 ) * 0xbf58476d1ce4e5b9;
    x = ( x ^ x >> 27 ) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

static uint64_t below( uint64_t n ) { return next() % n; }

/* u64 is often a number at the edge of something. */
static uint64_t u64( void )
{
    switch ( below( 6 ) )
    {
        case 0: return 0;
        case 1: return UINT64_MAX;
        case 2: return UINT64_MAX - below( 4 );
        case 3: return below( 300 );
        case 4: return ( 1ull << below( 64 ) ) - below( 2 );
    }
    return next() >> below( 64 );
}

static uint32_t u32( void ) { return u64(); }

/* word is one of an enumeration with n words, seldom none of them. */
static uint8_t word( int n ) { return below( n ) + ( below( 20 ) == 0 ? n : 0 ); }

static uint32_t flags( int n ) { return below( 1ull << n ) | ( below( 20 ) == 0 ? 1u << n : 0 ); }

/* Definitions: their ids are 0, 1, 2 and so on, but for locations. */
enum { EACH = 6, STRINGS = 16, LOCATIONS = 5, PARADIGM = OTF2_PARADIGM_MPI };

static const uint64_t locations[ LOCATIONS ] = { 0, 1, 7, 1ull << 33, 1ull << 40 };

/* some is a reference to one of n, to nothing, or to something undefined. */
static uint32_t some( uint32_t n )
{
    if ( below( 8 ) > 0 )
    {
        return below( n );
    }
    return below( 3 ) > 0 ? OTF2_UNDEFINED_UINT32 : n + below( 100 );
}

static uint32_t one( void ) { return some( EACH ); }
static uint32_t string( void ) { return some( STRINGS ); }
static uint32_t text( void ) { return below( STRINGS ); } /* one that is there */

static uint64_t location( void )
{
    if ( below( 8 ) > 0 )
    {
        return locations[ below( LOCATIONS ) ];
    }
    return below( 3 ) > 0 ? OTF2_UNDEFINED_UINT64 : 2 + below( 4 );
}

/* rank is one of a communicator, or one that none has. */
static uint32_t rank( void ) { return below( 8 ) > 0 ? below( 6 ) : OTF2_UNDEFINED_UINT32 - below( 4 ); }

enum { TYPES = 25 };

static OTF2_AttributeValue value( OTF2_Type type )
{
    OTF2_AttributeValue v;
    v.uint64 = u64();
    switch ( type )
    {
        case OTF2_TYPE_UINT8: case OTF2_TYPE_INT8: case OTF2_TYPE_UINT16: case OTF2_TYPE_INT16:
        case OTF2_TYPE_UINT32: case OTF2_TYPE_INT32: case OTF2_TYPE_UINT64: case OTF2_TYPE_INT64:
            break;
        case OTF2_TYPE_FLOAT:
            v.float32 = ( float )( int64_t )next() / ( 1ull << below( 63 ) );
            break;
        case OTF2_TYPE_DOUBLE:
            v.float64 = ( double )( int64_t )next() / ( 1ull << below( 63 ) );
            break;
        case OTF2_TYPE_STRING:
            v.stringRef = string();
            break;
        case OTF2_TYPE_LOCATION:
            v.locationRef = location();
            break;
        default:
            v.attributeRef = one();
    }
    return v;
}

static OTF2_Type type( void ) { return 1 + below( TYPES ); }

static void definitions( OTF2_GlobalDefWriter* w, const uint64_t* events )
{
    static const char* const strings[ STRINGS ] = { "main", "", "a name with blanks", "\xc3\xbc", "tab\there", "\"quoted\"", "x", "MPI", "back\\slash", "/tmp/a file", "node", "machine", "%s %d", "new\nline", "a/b/c.c", "long" };
    static char long_string[ 300 ];
    uint64_t members[ EACH ];
    uint32_t refs[ EACH ];

    ok( OTF2_GlobalDefWriter_WriteClockProperties( w, 1 + below( 1ull << 33 ), u64() >> 1, u64() >> 1, below( 2 ) ? OTF2_UNDEFINED_TIMESTAMP : 1700000000123456789 + below( 1ull << 50 ) ) );
    memset( long_string, 'y', sizeof( long_string ) - 1 );
    for ( int i = 0; i < STRINGS; i++ )
    {
        ok( OTF2_GlobalDefWriter_WriteString( w, i, i == STRINGS - 1 ? long_string : strings[ i ] ) );
    }
    ok( OTF2_GlobalDefWriter_WriteParadigm( w, PARADIGM, text(), word( 4 ) ) );
    ok( OTF2_GlobalDefWriter_WriteParadigm( w, OTF2_PARADIGM_OPENMP, string(), word( 4 ) ) );
    for ( int i = 0; i < 3; i++ )
    {
        /* Of properties with other types otf2-print shows what stands in its memory. */
        OTF2_Type t = i < 2 ? OTF2_TYPE_STRING : OTF2_TYPE_UINT8;
        ok( OTF2_GlobalDefWriter_WriteParadigmProperty( w, below( 2 ) ? PARADIGM : OTF2_PARADIGM_CUDA, i, t, value( t ) ) );
    }
    for ( int i = 0; i < EACH; i++ )
    {
        OTF2_IoParadigmProperty p = OTF2_IO_PARADIGM_PROPERTY_VERSION;
        OTF2_Type               t = OTF2_TYPE_STRING;
        OTF2_AttributeValue     v = value( t );
        ok( OTF2_GlobalDefWriter_WriteIoParadigm( w, i, string(), text(), word( 2 ), flags( 1 ), below( 2 ), &p, &t, &v ) );
        ok( OTF2_GlobalDefWriter_WriteAttribute( w, i, string(), string(), type() ) );
        ok( OTF2_GlobalDefWriter_WriteSystemTreeNode( w, i, text(), text(), i == 0 ? OTF2_UNDEFINED_UINT32 : below( i ) ) );
        ok( OTF2_GlobalDefWriter_WriteLocationGroup( w, i, string(), word( 3 ), one(), one() ) );
    }
    for ( int i = 0; i < LOCATIONS; i++ )
    {
        ok( OTF2_GlobalDefWriter_WriteLocation( w, locations[ i ], string(), word( 4 ), events[ i ], one() ) );
    }
    for ( int i = 0; i < EACH; i++ )
    {
        ok( OTF2_GlobalDefWriter_WriteRegion( w, i, text(), string(), string(), word( 39 ), word( 25 ), flags( 2 ), string(), u32(), u32() ) );
    }
    /* Groups 0 to 6, one of each type; the communicating locations come first. */
    for ( int i = 0; i < LOCATIONS; i++ )
    {
        members[ i ] = locations[ i ];
    }
    ok( OTF2_GlobalDefWriter_WriteGroup( w, 0, string(), OTF2_GROUP_TYPE_COMM_LOCATIONS, PARADIGM, flags( 1 ), LOCATIONS, members ) );
    for ( int i = 1; i <= EACH; i++ )
    {
        static const OTF2_GroupType types[] = { 0, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_GROUP_TYPE_COMM_SELF, OTF2_GROUP_TYPE_LOCATIONS, OTF2_GROUP_TYPE_REGIONS, OTF2_GROUP_TYPE_METRIC, OTF2_GROUP_TYPE_UNKNOWN };
        int                         n       = types[ i ] == OTF2_GROUP_TYPE_COMM_SELF ? 0 : 1 + below( LOCATIONS );
        for ( int k = 0; k < n; k++ )
        {
            members[ k ] = types[ i ] == OTF2_GROUP_TYPE_LOCATIONS ? locations[ below( LOCATIONS ) ] : types[ i ] == OTF2_GROUP_TYPE_COMM_GROUP ? below( LOCATIONS ) : one();
        }
        ok( OTF2_GlobalDefWriter_WriteGroup( w, i, string(), types[ i ], PARADIGM, flags( 1 ), n, members ) );
    }
    for ( int i = 0; i < EACH; i++ )
    {
        static const uint8_t modes[] = { OTF2_METRIC_ACCUMULATED_START, OTF2_METRIC_ACCUMULATED_POINT, OTF2_METRIC_ACCUMULATED_LAST, OTF2_METRIC_ACCUMULATED_NEXT, OTF2_METRIC_ABSOLUTE_POINT, OTF2_METRIC_ABSOLUTE_LAST, OTF2_METRIC_ABSOLUTE_NEXT, OTF2_METRIC_RELATIVE_POINT, OTF2_METRIC_RELATIVE_LAST, OTF2_METRIC_RELATIVE_NEXT };
        static const uint8_t types[] = { OTF2_TYPE_UINT64, OTF2_TYPE_INT64, OTF2_TYPE_DOUBLE };
        ok( OTF2_GlobalDefWriter_WriteMetricMember( w, i, string(), string(), word( 4 ), modes[ below( 10 ) ], types[ below( 3 ) ], word( 2 ), ( int64_t )u64(), string() ) );
    }
    for ( int i = 0; i < EACH; i++ )
    {
        for ( int k = 0; k < EACH; k++ )
        {
            refs[ k ] = one();
        }
        if ( i < EACH / 2 )
        {
            ok( OTF2_GlobalDefWriter_WriteMetricClass( w, i, 1 + below( EACH ), refs, word( 3 ), word( 4 ) ) );
        }
        else
        {
            OTF2_MetricScope scope = below( 4 );
            ok( OTF2_GlobalDefWriter_WriteMetricInstance( w, i, below( EACH / 2 ), location(), scope, scope == OTF2_SCOPE_LOCATION ? location() : one() ) );
        }
        ok( OTF2_GlobalDefWriter_WriteComm( w, i, string(), i < EACH - 2 ? 1 + i % 2 : one(), one(), flags( 1 ) ) );
        ok( OTF2_GlobalDefWriter_WriteParameter( w, i, string(), word( 3 ) ) );
        ok( OTF2_GlobalDefWriter_WriteRmaWin( w, i, string(), one(), flags( 1 ) ) );
        ok( OTF2_GlobalDefWriter_WriteMetricClassRecorder( w, one(), location() ) );
        ok( OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain( w, one(), word( 9 ) ) );
        ok( OTF2_GlobalDefWriter_WriteCartDimension( w, i, string(), u32(), word( 2 ) ) );
        ok( OTF2_GlobalDefWriter_WriteCartTopology( w, i, string(), one(), 1 + below( EACH ), refs ) );
        for ( int k = 0; k < EACH; k++ )
        {
            refs[ k ] = u32();
        }
        ok( OTF2_GlobalDefWriter_WriteCartCoordinate( w, one(), rank(), 1 + below( EACH ), refs ) );
        ok( OTF2_GlobalDefWriter_WriteSourceCodeLocation( w, i, text(), u32() ) );
        ok( OTF2_GlobalDefWriter_WriteCallsite( w, i, string(), u32(), one(), one() ) );
        ok( OTF2_GlobalDefWriter_WriteCallpath( w, i, i == 0 ? OTF2_UNDEFINED_UINT32 : below( i ), one() ) );
        ok( OTF2_GlobalDefWriter_WriteCallingContext( w, i, below( EACH ), one(), i == 0 ? OTF2_UNDEFINED_UINT32 : below( i ) ) );
        ok( OTF2_GlobalDefWriter_WriteInterruptGenerator( w, i, string(), word( 2 ), word( 2 ), ( int64_t )u64(), u64() ) );
        ok( i % 2 ? OTF2_GlobalDefWriter_WriteIoRegularFile( w, i, text(), one() ) : OTF2_GlobalDefWriter_WriteIoDirectory( w, i, text(), one() ) );
    }
    for ( int i = 0; i < EACH; i++ )
    {
        ok( OTF2_GlobalDefWriter_WriteIoHandle( w, i, below( 2 ) ? text() : OTF2_UNDEFINED_UINT32, below( EACH ), below( EACH ), flags( 2 ), one(), i == 0 ? OTF2_UNDEFINED_UINT32 : below( i ) ) );
        ok( OTF2_GlobalDefWriter_WriteIoPreCreatedHandleState( w, one(), word( 5 ), flags( 9 ) ) );
        ok( OTF2_GlobalDefWriter_WriteInterComm( w, EACH + i, string(), 1 + below( 2 ), 1 + below( 2 ), one(), flags( 1 ) ) );
    }
    for ( OTF2_Type t = 1; t <= TYPES; t++ )
    {
        ok( OTF2_GlobalDefWriter_WriteSystemTreeNodeProperty( w, one(), string(), t, value( t ) ) );
        ok( OTF2_GlobalDefWriter_WriteLocationGroupProperty( w, one(), string(), t, value( t ) ) );
        ok( OTF2_GlobalDefWriter_WriteLocationProperty( w, location(), string(), t, value( t ) ) );
        ok( OTF2_GlobalDefWriter_WriteCallingContextProperty( w, one(), string(), t, value( t ) ) );
        ok( OTF2_GlobalDefWriter_WriteIoFileProperty( w, one(), string(), t, value( t ) ) );
        ok( OTF2_GlobalDefWriter_WriteCallpathParameter( w, one(), one(), t, value( t ) ) );
    }
}

/* attributes is a list, mostly none. */
static OTF2_AttributeList* attributes( OTF2_AttributeList* list )
{
    if ( below( 3 ) > 0 )
    {
        return NULL;
    }
    ok( OTF2_AttributeList_RemoveAllAttributes( list ) );
    for ( uint32_t i = 0; i < EACH; i++ )
    {
        if ( below( 2 ) )
        {
            OTF2_Type t = type();
            ok( OTF2_AttributeList_AddAttribute( list, i, t, value( t ) ) );
        }
    }
    return list;
}

enum { COMMS = 2 * EACH, METRICS = 5 };

static uint32_t comm( void ) { return some( COMMS ); }

static int values( OTF2_Type* types, OTF2_MetricValue* v )
{
    static const OTF2_Type usual[] = { OTF2_TYPE_UINT64, OTF2_TYPE_INT64, OTF2_TYPE_DOUBLE };
    for ( int i = 0; i < METRICS; i++ )
    {
        types[ i ]          = usual[ below( 3 ) ];
        v[ i ].unsigned_int = u64();
        if ( types[ i ] == OTF2_TYPE_DOUBLE )
        {
            v[ i ].floating_point = ( double )( int64_t )next() / ( 1ull << below( 63 ) );
        }
    }
    return below( METRICS + 1 );
}

#define EVENT( id, name, ... ) case id: ok( OTF2_EvtWriter_##name( w, list, time, ##__VA_ARGS__ ) ); break;

enum { FIRST_EVENT = 10, LAST_EVENT = 88 };

static void event( OTF2_EvtWriter* w, OTF2_AttributeList* list, uint64_t time, int kind )
{
    OTF2_Type        types[ METRICS ];
    OTF2_MetricValue metrics[ METRICS ];
    uint32_t         arguments[ 70 ];
    int              n = values( types, metrics );
    for ( int i = 0; i < 70; i++ )
    {
        arguments[ i ] = string();
    }
    switch ( kind )
    {
        EVENT( 10, BufferFlush, time + below( 1000 ) )
        EVENT( 11, MeasurementOnOff, 1 + word( 2 ) )
        EVENT( 12, Enter, one() )
        EVENT( 13, Leave, one() )
        EVENT( 14, MpiSend, rank(), comm(), u32(), u64() )
        EVENT( 15, MpiIsend, rank(), comm(), u32(), u64(), u64() )
        EVENT( 16, MpiIsendComplete, u64() )
        EVENT( 17, MpiIrecvRequest, u64() )
        EVENT( 18, MpiRecv, rank(), comm(), u32(), u64() )
        EVENT( 19, MpiIrecv, rank(), comm(), u32(), u64(), u64() )
        EVENT( 20, MpiRequestTest, u64() )
        EVENT( 21, MpiRequestCancelled, u64() )
        EVENT( 22, MpiCollectiveBegin )
        EVENT( 23, MpiCollectiveEnd, word( 23 ), comm(), rank(), u64(), u64() )
        EVENT( 24, OmpFork, u32() )
        EVENT( 25, OmpJoin )
        EVENT( 26, OmpAcquireLock, u32(), u32() )
        EVENT( 27, OmpReleaseLock, u32(), u32() )
        EVENT( 28, OmpTaskCreate, u64() )
        EVENT( 29, OmpTaskSwitch, u64() )
        EVENT( 30, OmpTaskComplete, u64() )
        EVENT( 31, Metric, one(), n, types, metrics )
        EVENT( 32, ParameterString, one(), string() )
        EVENT( 33, ParameterInt, one(), ( int64_t )u64() )
        EVENT( 34, ParameterUnsignedInt, one(), u64() )
        EVENT( 35, RmaWinCreate, one() )
        EVENT( 36, RmaWinDestroy, one() )
        EVENT( 37, RmaCollectiveBegin )
        EVENT( 38, RmaCollectiveEnd, word( 23 ), flags( 2 ), one(), rank(), u64(), u64() )
        EVENT( 39, RmaGroupSync, flags( 2 ), one(), some( EACH + 1 ) )
        EVENT( 40, RmaRequestLock, one(), rank(), u64(), word( 2 ) )
        EVENT( 41, RmaAcquireLock, one(), rank(), u64(), word( 2 ) )
        EVENT( 42, RmaTryLock, one(), rank(), u64(), word( 2 ) )
        EVENT( 43, RmaReleaseLock, one(), rank(), u64() )
        EVENT( 44, RmaSync, one(), rank(), word( 3 ) )
        EVENT( 45, RmaWaitChange, one() )
        EVENT( 46, RmaPut, one(), rank(), u64(), u64() )
        EVENT( 47, RmaGet, one(), rank(), u64(), u64() )
        EVENT( 48, RmaAtomic, one(), rank(), word( 8 ), u64(), u64(), u64() )
        EVENT( 49, RmaOpCompleteBlocking, one(), u64() )
        EVENT( 50, RmaOpCompleteNonBlocking, one(), u64() )
        EVENT( 51, RmaOpTest, one(), u64() )
        EVENT( 52, RmaOpCompleteRemote, one(), u64() )
        EVENT( 53, ThreadFork, word( 25 ), u32() )
        EVENT( 54, ThreadJoin, word( 25 ) )
        EVENT( 55, ThreadTeamBegin, comm() )
        EVENT( 56, ThreadTeamEnd, comm() )
        EVENT( 57, ThreadAcquireLock, word( 25 ), u32(), u32() )
        EVENT( 58, ThreadReleaseLock, word( 25 ), u32(), u32() )
        EVENT( 59, ThreadTaskCreate, comm(), rank(), u32() )
        EVENT( 60, ThreadTaskSwitch, comm(), rank(), u32() )
        EVENT( 61, ThreadTaskComplete, comm(), rank(), u32() )
        EVENT( 62, ThreadCreate, comm(), u64() )
        EVENT( 63, ThreadBegin, comm(), u64() )
        EVENT( 64, ThreadWait, comm(), u64() )
        EVENT( 65, ThreadEnd, comm(), u64() )
        EVENT( 66, CallingContextEnter, one(), u32() )
        EVENT( 67, CallingContextLeave, one() )
        EVENT( 68, CallingContextSample, one(), u32(), one() )
        EVENT( 69, IoCreateHandle, one(), word( 5 ), flags( 11 ), flags( 9 ) )
        EVENT( 70, IoDestroyHandle, one() )
        EVENT( 71, IoDuplicateHandle, one(), one(), flags( 9 ) )
        EVENT( 72, IoSeek, one(), ( int64_t )u64(), word( 5 ), u64() )
        EVENT( 73, IoChangeStatusFlags, one(), flags( 9 ) )
        EVENT( 74, IoDeleteFile, below( EACH ), one() )
        EVENT( 75, IoOperationBegin, one(), word( 3 ), flags( 2 ), u64(), u64() )
        EVENT( 76, IoOperationTest, one(), u64() )
        EVENT( 77, IoOperationIssued, one(), u64() )
        EVENT( 78, IoOperationComplete, one(), u64(), u64() )
        EVENT( 79, IoOperationCancelled, one(), u64() )
        EVENT( 80, IoAcquireLock, one(), word( 2 ) )
        EVENT( 81, IoReleaseLock, one(), word( 2 ) )
        EVENT( 82, IoTryLock, one(), word( 2 ) )
        EVENT( 83, ProgramBegin, string(), below( 20 ) ? n : 70, arguments )
        EVENT( 84, ProgramEnd, ( int64_t )u64() )
        EVENT( 85, NonBlockingCollectiveRequest, u64() )
        EVENT( 86, NonBlockingCollectiveComplete, word( 23 ), comm(), rank(), u64(), u64(), u64() )
        EVENT( 87, CommCreate, comm() )
        EVENT( 88, CommDestroy, comm() )
    }
}

#define SNAPSHOT( id, name, ... ) case id: ok( OTF2_SnapWriter_##name( w, attributes( list ), time, below( time + 1 ), ##__VA_ARGS__ ) ); break;

enum { FIRST_SNAPSHOT = 12, LAST_SNAPSHOT = 29 };

/* snapshot is one of a time with n records. */
static void snapshot( OTF2_SnapWriter* w, OTF2_AttributeList* list, uint64_t time, int n )
{
    OTF2_Type        types[ METRICS ];
    OTF2_MetricValue metrics[ METRICS ];
    ok( OTF2_SnapWriter_SnapshotStart( w, attributes( list ), time, n ) );
    for ( int i = 0; i < n; i++ )
    {
        int k = values( types, metrics );
        switch ( FIRST_SNAPSHOT + ( i + n ) % ( LAST_SNAPSHOT + 1 - FIRST_SNAPSHOT ) )
        {
            SNAPSHOT( 12, MeasurementOnOff, 1 + word( 2 ) )
            SNAPSHOT( 13, Enter, one() )
            SNAPSHOT( 14, MpiSend, rank(), comm(), u32(), u64() )
            SNAPSHOT( 15, MpiIsend, rank(), comm(), u32(), u64(), u64() )
            SNAPSHOT( 16, MpiIsendComplete, u64() )
            SNAPSHOT( 17, MpiRecv, rank(), comm(), u32(), u64() )
            SNAPSHOT( 18, MpiIrecvRequest, u64() )
            SNAPSHOT( 19, MpiIrecv, rank(), comm(), u32(), u64(), u64() )
            SNAPSHOT( 20, MpiCollectiveBegin )
            SNAPSHOT( 21, MpiCollectiveEnd, word( 23 ), comm(), rank(), u64(), u64() )
            SNAPSHOT( 22, OmpFork, u32() )
            SNAPSHOT( 23, OmpAcquireLock, u32(), u32() )
            SNAPSHOT( 24, OmpTaskCreate, u64() )
            SNAPSHOT( 25, OmpTaskSwitch, u64() )
            SNAPSHOT( 26, Metric, one(), k, types, metrics )
            SNAPSHOT( 27, ParameterString, one(), string() )
            SNAPSHOT( 28, ParameterInt, one(), ( int64_t )u64() )
            SNAPSHOT( 29, ParameterUnsignedInt, one(), u64() )
        }
    }
    ok( OTF2_SnapWriter_SnapshotEnd( w, attributes( list ), time, u64() ) );
}

/* local are the own definitions of a location: mapping tables and clock offsets. */
static void local( OTF2_Archive* archive, int i )
{
    OTF2_DefWriter* w = OTF2_Archive_GetDefWriter( archive, locations[ i ] );
    if ( i > 0 )
    {
        for ( OTF2_MappingType t = 0; t < OTF2_MAPPING_MAX; t++ )
        {
            bool        sparse = below( 2 ), other = t == OTF2_MAPPING_LOCATION;
            uint64_t    n = t == OTF2_MAPPING_STRING ? STRINGS : other ? LOCATIONS : EACH;
            OTF2_IdMap* map = OTF2_IdMap_Create( sparse ? OTF2_ID_MAP_SPARSE : OTF2_ID_MAP_DENSE, n );
            for ( uint64_t k = 0; k < n; k++ )
            {
                /* Each attribute occurs once in a list. */
                uint64_t to = t == OTF2_MAPPING_ATTRIBUTE ? n - 1 - k : below( n );
                ok( OTF2_IdMap_AddIdPair( map, sparse && t != OTF2_MAPPING_ATTRIBUTE ? 2 * k : k, other ? locations[ to ] : to ) );
            }
            if ( t == OTF2_MAPPING_ATTRIBUTE || below( 3 ) > 0 )
            {
                ok( OTF2_DefWriter_WriteMappingTable( w, t, map ) );
            }
            OTF2_IdMap_Free( map );
        }
        uint64_t time = below( 1000 );
        for ( int k = below( 5 ); k > 0; k-- )
        {
            ok( OTF2_DefWriter_WriteClockOffset( w, time, ( int64_t )below( 1ull << 40 ), 0.25 ) );
            time += 1 + below( 1ull << 30 );
        }
    }
    /* These say nothing of the archive's. */
    ok( OTF2_DefWriter_WriteString( w, 0, "own" ) );
    ok( OTF2_DefWriter_WriteRegion( w, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2 ) );
    ok( OTF2_Archive_CloseDefWriter( archive, w ) );
}

static void markers( OTF2_Archive* archive )
{
    OTF2_MarkerWriter* w = OTF2_Archive_GetMarkerWriter( archive );
    for ( int i = 0; i < EACH; i++ )
    {
        ok( OTF2_MarkerWriter_WriteDefMarker( w, i, i % 2 ? "group" : "", "category", word( 4 ) ) );
        ok( OTF2_MarkerWriter_WriteMarker( w, u64(), u64(), one(), i, i == OTF2_MARKER_SCOPE_GLOBAL ? OTF2_UNDEFINED_UINT64 : i == OTF2_MARKER_SCOPE_LOCATION ? location() : one(), "what \xe2\x80\x93 where" ) );
    }
    ok( OTF2_Archive_CloseMarkerWriter( archive, w ) );
}

static void thumbnails( OTF2_Archive* archive, int count )
{
    static const char* const names[] = { "regions", "", "attributes" };
    for ( int i = 0; i < count; i++ )
    {
        uint64_t refs[ EACH ], samples[ EACH ];
        uint32_t metrics = 1 + below( EACH );
        for ( int k = 0; k < EACH; k++ )
        {
            refs[ k ] = below( 4 ) ? below( EACH ) : u64();
        }
        int               n = i == 2 ? 60000 : 4; /* more than a chunk, and not */
        OTF2_ThumbWriter* w = OTF2_Archive_GetThumbWriter( archive, names[ i % 3 ], i % 2 ? "" : "what it shows", i % 3, n, metrics, refs );
        for ( int s = 0; s < n; s++ )
        {
            for ( int k = 0; k < EACH; k++ )
            {
                samples[ k ] = u64();
            }
            ok( OTF2_ThumbWriter_WriteSample( w, s, metrics, samples ) );
        }
    }
}

static OTF2_FlushType flush( void* data, OTF2_FileType file, OTF2_LocationRef location, void* caller, bool final )
{
    return OTF2_FLUSH;
}

static const OTF2_FlushCallbacks flushing = { .otf2_pre_flush = flush };

int main( int count, char** arguments )
{
    if ( count != 4 )
    {
        fprintf( stderr, "otf2-all FOLDER SEED EVENTS\n" );
        return 2;
    }
    uint64_t seed     = strtoull( arguments[ 2 ], NULL, 10 );
    int      events   = atoi( arguments[ 3 ] );
    uint64_t ends[ LOCATIONS ], written[ LOCATIONS ];
    state = seed;

    /* Events and snapshots have one size of chunks, definitions and markers another. */
    OTF2_Archive* archive = OTF2_Archive_Open( arguments[ 1 ], "all", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_MIN, 2 * OTF2_CHUNK_SIZE_MIN, OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE );
    ok( OTF2_Archive_SetFlushCallbacks( archive, &flushing, NULL ) );
    ok( OTF2_Archive_SetSerialCollectiveCallbacks( archive ) );
    ok( OTF2_Archive_SetMachineName( archive, "machine" ) );
    ok( OTF2_Archive_SetDescription( archive, "every kind of record" ) );
    ok( OTF2_Archive_SetCreator( archive, "otf2-all" ) );
    ok( OTF2_Archive_SetProperty( archive, "WEFT::TEST", "a value", false ) );
    ok( OTF2_Archive_SetBoolProperty( archive, "WEFT::BOOLEAN", true, false ) );

    OTF2_AttributeList* list = OTF2_AttributeList_New();
    ok( OTF2_Archive_OpenEvtFiles( archive ) );
    for ( int i = 0; i < LOCATIONS; i++ )
    {
        OTF2_EvtWriter* w    = OTF2_Archive_GetEvtWriter( archive, locations[ i ] );
        uint64_t        time = below( 1000 );
        for ( int k = 0; k < events; k++ )
        {
            int kinds = LAST_EVENT + 1 - FIRST_EVENT;
            event( w, attributes( list ), time, FIRST_EVENT + ( k < kinds ? k : below( kinds ) ) );
            if ( below( 3 ) > 0 )
            {
                time += below( 1ull << below( 24 ) );
            }
        }
        ends[ i ] = time;
        ok( OTF2_EvtWriter_GetNumberOfEvents( w, &written[ i ] ) );
        ok( OTF2_Archive_CloseEvtWriter( archive, w ) );
    }
    ok( OTF2_Archive_CloseEvtFiles( archive ) );

    /* Every fourth archive has no snapshots and thumbnails. */
    int snapshots = seed % 4 == 3 ? 0 : 1 + seed % 4;
    if ( snapshots > 0 )
    {
        ok( OTF2_Archive_OpenSnapFiles( archive ) );
        for ( int i = 0; i < LOCATIONS; i++ )
        {
            OTF2_SnapWriter* w = OTF2_Archive_GetSnapWriter( archive, locations[ i ] );
            for ( int k = 0; k < snapshots; k++ )
            {
                /* Some locations have snapshots at the same time. */
                bool many = seed % 8 == 1 && i == 2 && k == 0; /* more than a chunk */
                snapshot( w, list, ends[ i % 2 ] / snapshots * k + 7, many ? 15000 : below( 8 ) * below( 20 ) );
            }
            ok( OTF2_Archive_CloseSnapWriter( archive, w ) );
        }
        ok( OTF2_Archive_CloseSnapFiles( archive ) );
        ok( OTF2_Archive_SetNumberOfSnapshots( archive, snapshots ) );
    }
    OTF2_AttributeList_Delete( list );

    ok( OTF2_Archive_OpenDefFiles( archive ) );
    for ( int i = 0; i < LOCATIONS; i++ )
    {
        local( archive, i );
    }
    ok( OTF2_Archive_CloseDefFiles( archive ) );
    OTF2_GlobalDefWriter* w = OTF2_Archive_GetGlobalDefWriter( archive );
    definitions( w, written );
    ok( OTF2_Archive_CloseGlobalDefWriter( archive, w ) );
    markers( archive );
    thumbnails( archive, snapshots );
    ok( OTF2_Archive_Close( archive ) );
    return 0;
}
