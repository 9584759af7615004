package otf

// spec describes a record type: the part it belongs to and its spelling. Readers, writers and printers share
// one table of specs.
type spec struct {
	name        string
	part        Part
	short, long string // keywords, including the prefix of the part
	fields      []fieldSpec
	// keywordOnly is set for records that consist of only the keyword if all fields are 0.
	keywordOnly bool
}

// fieldSpec describes a field of a record type. The fields are in the order of the line.
type fieldSpec struct {
	f    field
	bits uint8 // size of a number; 0 for texts and members
	// The keywords before the value. They are "" if the value follows the previous value directly.
	short, long string
	old         string // another spelling of the keyword, which readers accept and writers never use
	// omitZero is set for a field that may be missing in a file and that is not written if it is 0. A name is
	// not written if the record has no name.
	omitZero bool
	// mayBeMissing is set for a field that may be missing in a file but that is always written.
	mayBeMissing bool
	// tight is set for a field without a blank between the previous value and its keyword, even in the long
	// spelling.
	tight bool
}

func n8(f field, short, long string) fieldSpec {
	return fieldSpec{f: f, bits: 64, short: short, long: long}
}

func n4(f field, short, long string) fieldSpec {
	return fieldSpec{f: f, bits: 32, short: short, long: long}
}

func quoted(f field, short, long string) fieldSpec { return fieldSpec{f: f, short: short, long: long} }

func (s fieldSpec) alsoRead(old string) fieldSpec {
	s.old = old
	return s
}

var (
	token   = n4(fToken, "", "")
	name    = quoted(fName, "NM", "NAME").alsoRead("N")
	newName = quoted(fName, "NM", "NAME")
	members = fieldSpec{f: fMembers, short: "M", long: "MEMBERS"}
	scl     = fieldSpec{f: fSCL, bits: 32, short: "X", long: "SCL", omitZero: true}
	oldSCL  = scl.alsoRead("S")
	comment = []fieldSpec{quoted(fText, "", "")}

	collective = []fieldSpec{n4(fCollective, "", ""), n4(fCommunicator, "C", "COMM"), n4(fRoot, "RT", "ROOT"),
		n4(fSent, "S", "SENT"), n4(fReceived, "R", "RECVD"), n8(fDuration, "D", "DUR"), oldSCL}
	message = []fieldSpec{n4(fPeer, "", ""), n4(fLength, "L", "LEN"), n4(fTag, "T", "TAG"),
		n4(fCommunicator, "C", "COMM"), oldSCL}
	rma = []fieldSpec{n4(fOrigin, "", ""), n4(fPeer, "P", "PROCESS"), n4(fCommunicator, "C", "COMM"),
		n4(fTag, "T", "TAG"), n8(fBytes, "L", "LEN"), scl}
	summary = []fieldSpec{n8(fCount, "N", "COUNT").alsoRead("C"), n8(fExclusive, "E", "EXCL"),
		n8(fInclusive, "I", "INCL")}
	transfers = []fieldSpec{n8(fSentCount, "NS", "NUMSENT"), n8(fReceivedCount, "NR", "NUMRECVD"), n8(fSent, "S", "SENT"),
		n8(fReceived, "R", "RECVD")}
	fileSums = []fieldSpec{n8(fOpens, "NO", "NUMOPEN"), n8(fCloses, "NC", "NUMCLOSE"), n8(fReads, "NRD", "NUMREAD"),
		n8(fWrites, "NW", "NUMWRITTEN"), n8(fSeeks, "NSK", "NUMSEEK"), n8(fBytesRead, "BR", "BYTESREAD"),
		n8(fBytesWritten, "BW", "BYTESWRITE")}
)

func fields(first fieldSpec, more ...fieldSpec) []fieldSpec {
	return append([]fieldSpec{first}, more...)
}

// specs describes all record types. Type numbers without a name are unused (docs/formats/otf.md, "Records").
var specs = [NumTypes]spec{
	DefVersion: {"DefVersion", Definitions, "DV", "DEFVERSION",
		[]fieldSpec{{f: fMajor, bits: 8}, {f: fMinor, bits: 8, short: ".", long: ".", tight: true},
			{f: fSub, bits: 8, short: ".", long: ".", tight: true}, {f: fText, tight: true}}, false},
	DefUniqueID:       {"DefUniqueId", Definitions, "DUI", "DEFUNIQUEID", fields(n8(fUniqueID, "", "")), false},
	DefCreator:        {"DefCreator", Definitions, "DCR", "DEFCREATOR", comment, false},
	DefinitionComment: {"DefinitionComment", Definitions, "DCMT", "DEFCOMMENT", comment, false},
	DefTimerResolution: {"DefTimerResolution", Definitions, "DTR", "DEFTIMERRESOLUTION",
		fields(n8(fTicksPerSecond, "", "")), false},
	DefTimeRange: {"DefTimeRange", Definitions, "DTRG", "DEFTIMERANGE",
		fields(n8(fMinTime, "", ""), n8(fMaxTime, "T", "TIME")), false},
	DefProcess: {"DefProcess", Definitions, "DP", "DEFPROCESS",
		fields(token, fieldSpec{f: fName, short: "NM", long: "NAME", old: "N", omitZero: true},
			fieldSpec{f: fParent, bits: 32, short: "PT", long: "PARENT", old: "P", omitZero: true}), false},
	DefProcessGroup: {"DefProcessGroup", Definitions, "DPG", "DEFPROCESSGROUP", fields(token, members, name),
		false},
	DefAttributeList: {"DefAttributeList", Definitions, "DA", "DEFATTRIBUTELIST", fields(token, members),
		false},
	DefProcessOrGroupAttributes: {"DefProcessOrGroupAttributes", Definitions, "DPGA", "DEFPROCESSORGROUPATTR",
		fields(token, n4(fAttributeList, "V", "VALUE")), false},
	DefProcessSubstitutes: {"DefProcessSubstitutes", Definitions, "DPS", "DEFPROCESSSUBSTITUTES",
		fields(token, members), false},
	DefFunctionGroup: {"DefFunctionGroup", Definitions, "DFG", "DEFFUNCTIONGROUP", fields(token, name), false},
	DefFunction: {"DefFunction", Definitions, "DF", "DEFFUNCTION",
		fields(token, n4(fGroup, "G", "GROUP"), name, oldSCL), false},
	DefCollectiveOperation: {"DefCollectiveOperation", Definitions, "DCO", "DEFCOLLOP",
		fields(token, name, n4(fKind, "Y", "TYPE").alsoRead("T")), false},
	DefCounterGroup: {"DefCounterGroup", Definitions, "DCG", "DEFCOUNTERGROUP", fields(token, name), false},
	DefCounter: {"DefCounter", Definitions, "DCNT", "DEFCOUNTER",
		fields(token, n4(fGroup, "G", "GROUP"), name, n4(fProperties, "P", "PROPERTIES"), quoted(fUnit, "U", "UNIT")), false},
	DefCounterAssignments: {"DefCounterAssignments", Definitions, "DCA", "DEFCOUNTERASSIGNMENTS",
		fields(token, members), false},
	DefSCLFile: {"DefSclFile", Definitions, "DSF", "DEFSCLFILE", fields(token, name), false},
	DefSCL: {"DefScl", Definitions, "DS", "DEFSCL",
		fields(token, n4(fFile, "F", "FILE"), n4(fLine, "LN", "LINE").alsoRead("L")), false},
	DefFileGroup: {"DefFileGroup", Definitions, "DFLG", "DEFFILEGROUP", fields(token, newName), false},
	DefFile: {"DefFile", Definitions, "DFL", "DEFFILE",
		fields(token, newName, n4(fGroup, "G", "GROUP")), false},
	DefKeyValue: {"DefKeyValue", Definitions, "DK", "DEFKEYVALUE",
		fields(token, n4(fKind, "Y", "TYPE"), newName, quoted(fText, "T", "TAG")), false},
	DefAuxSamplePoint: {"DefAuxSamplePoint", Definitions, "DAUX", "DEFAUXSAMPLEPOINT",
		fields(n8(fSampleTime, "", ""), n4(fKind, "Y", "TYPE")), false},

	NoOp:  {"NoOp", Events, "N", "NOOP", nil, true},
	Enter: {"Enter", Events, "E", "ENTER", fields(n4(fFunction, "", ""), oldSCL), false},
	Leave: {"Leave", Events, "L", "LEAVE",
		fields(fieldSpec{f: fFunction, bits: 32, mayBeMissing: true}, oldSCL), true},
	SendMsg: {"SendMsg", Events, "S", "SEND", message, false},
	RecvMsg: {"RecvMsg", Events, "R", "RECEIVE", message, false},
	Counter: {"Counter", Events, "CNT", "COUNTER", fields(n4(fCounter, "", ""), n8(fValue, "V", "VALUE")),
		false},
	CollectiveOperation: {"CollectiveOperation", Events, "COP", "COLLOP", collective, false},
	BeginCollective: {"BeginCollectiveOperation", Events, "COPB", "COLLOPBEGIN",
		fields(n4(fCollective, "", ""), n8(fMatching, "H", "HANDLEID"), n4(fCommunicator, "C", "COMM"),
			n4(fRoot, "RT", "ROOT"), n8(fSent, "S", "SENT"), n8(fReceived, "R", "RECVD"), oldSCL), false},
	EndCollective: {"EndCollectiveOperation", Events, "COPE", "COLLOPEND", fields(n8(fMatching, "", "")), false},
	EventComment:  {"EventComment", Events, "#", "#EVTCOMMENT", comment, false},
	BeginProcess:  {"BeginProcess", Events, "PB", "PROCESSBEGIN", nil, true},
	EndProcess:    {"EndProcess", Events, "PE", "PROCESSEND", nil, true},
	FileOperation: {"FileOperation", Events, "F", "FILEOP",
		fields(n4(fFile, "", ""), n8(fHandle, "H", "HANDLEID"), n4(fOperation, "OP", "OPERATION"),
			n8(fBytes, "B", "BYTES"), n8(fDuration, "D", "DUR"), scl), false},
	BeginFileOperation: {"BeginFileOperation", Events, "FA", "FILEOPBEGINNEW", fields(n8(fMatching, "", ""), scl), false},
	EndFileOperation: {"EndFileOperation", Events, "FF", "FILEOPENDNEW",
		fields(n4(fFile, "", ""), n8(fMatching, "MI", "MATCHID"), n8(fHandle, "H", "HANDLEID"),
			n4(fOperation, "OP", "OPERATION"), n8(fBytes, "B", "BYTES"), scl), false},
	RMAPut:          {"RMAPut", Events, "T", "TRMAPUT", rma, false},
	RMAPutRemoteEnd: {"RMAPutRemoteEnd", Events, "U", "URMAPUTRE", rma, false},
	RMAGet:          {"RMAGet", Events, "G", "GRMAGET", rma, false},
	RMAEnd: {"RMAEnd", Events, "M", "MRMAEND",
		fields(n4(fPeer, "", ""), n4(fCommunicator, "C", "COMM"), n4(fTag, "T", "TAG"), scl), false},

	SnapshotComment: {"SnapshotComment", Snapshots, "TC", "TCOMMENT", comment, false},
	EnterSnapshot: {"EnterSnapshot", Snapshots, "TE", "TENTER",
		fields(n4(fFunction, "", ""), n8(fOriginalTime, "O", "OTIME"), oldSCL), false},
	SendSnapshot: {"SendSnapshot", Snapshots, "TS", "TSEND",
		fields(n4(fPeer, "", ""), n8(fOriginalTime, "O", "OTIME"), n4(fCommunicator, "G", "GROUP"),
			n4(fTag, "T", "TAG"), fieldSpec{f: fLength, bits: 32, short: "L", long: "LEN", mayBeMissing: true}, oldSCL), false},
	OpenFileSnapshot: {"OpenFileSnapshot", Snapshots, "TOF", "TOPENFILE",
		fields(n4(fFile, "", ""), n8(fOriginalTime, "O", "OTIME"), n8(fHandle, "H", "HANDLEID"), oldSCL), false},
	BeginCollectiveSnapshot: {"BeginCollopSnapshot", Snapshots, "TBC", "TBEGINCOLLOP",
		fields(n8(fOriginalTime, "", ""), n4(fCollective, "CL", "COLL"), n8(fMatching, "H", "HANDLEID"),
			n4(fCommunicator, "G", "GROUP"), n4(fRoot, "RT", "ROOT"), n8(fSent, "S", "SENT"), n8(fReceived, "R", "RECVD"), scl),
		false},
	BeginFileOperationSnapshot: {"BeginFileOpSnapshot", Snapshots, "TBF", "TBEGINFILEOP",
		fields(n8(fOriginalTime, "", ""), n8(fMatching, "MI", "MATCHID"), scl), false},
	CollectiveCountSnapshot: {"CollopCountSnapshot", Snapshots, "TCOC", "TCOLLOPCOUNT",
		fields(n4(fCommunicator, "", ""), n8(fCount, "N", "COUNT")), false},
	CounterSnapshot: {"CounterSnapshot", Snapshots, "TCNT", "TCOUNTER",
		fields(n8(fOriginalTime, "", ""), n4(fCounter, "CNT", "COUNTER"), n8(fValue, "V", "VALUE")), false},

	SummaryComment: {"SummaryComment", Statistics, "SC", "SUMCOMMENT", comment, false},
	FunctionSummary: {"FunctionSummary", Statistics, "SF", "SUMFUNCTION", fields(n4(fFunction, "", ""), summary...),
		false},
	FunctionGroupSummary: {"FunctionGroupSummary", Statistics, "SG", "SUMFUNCTIONGROUP",
		fields(n4(fGroup, "", ""), summary...), false},
	MessageSummary: {"MessageSummary", Statistics, "SM", "SUMMESSAGE",
		append(fields(n4(fPeer, "", ""), n4(fCommunicator, "C", "COMM"),
			n4(fTag, "T", "TAG").alsoRead("A")), transfers...), false},
	CollectiveSummary: {"CollopSummary", Statistics, "SCO", "SUMCOLLMESSAGE",
		append(fields(n4(fCommunicator, "", ""), n4(fCollective, "CL", "COLL")), transfers...), false},
	FileOperationSummary: {"FileOperationSummary", Statistics, "SFL", "SUMFILEOPERATION",
		fields(n4(fFile, "", ""), fileSums...), false},
	FileGroupOperationSummary: {"FileGroupOperationSummary", Statistics, "SFLG", "SUMFILEGROUPOPERATION",
		fields(n4(fGroup, "", ""), fileSums...), false},

	DefMarker: {"DefMarker", Markers, "MD", "MARKERDEF",
		fields(token, newName, fieldSpec{f: fKind, bits: 32, short: "Y", long: "TYPE", mayBeMissing: true}), false},
	Marker: {"Marker", Markers, "MS", "MARKERSPOT",
		fields(token, n8(fTime, "T", "TIME"), n4(fProcess, "P", "PROCESS"), quoted(fText, "V", "VALUE")), false},
}

// String returns the name that libotf and its documents give the type.
func (t Type) String() string {
	if t == Unknown {
		return "Unknown"
	}
	if int(t) < len(specs) {
		return specs[t].name
	}
	return ""
}

// Part returns the part whose files contain records of the type.
func (t Type) Part() Part { return specs[t].part }
