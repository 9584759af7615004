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
	// noBlank is set for a field without a blank between the previous value and its keyword, even in the long
	// spelling.
	noBlank bool
}

func u64(f field, short, long string) fieldSpec {
	return fieldSpec{f: f, bits: 64, short: short, long: long}
}

func u32(f field, short, long string) fieldSpec {
	return fieldSpec{f: f, bits: 32, short: short, long: long}
}

func quoted(f field, short, long string) fieldSpec { return fieldSpec{f: f, short: short, long: long} }

func (s fieldSpec) alsoRead(old string) fieldSpec {
	s.old = old
	return s
}

var (
	token   = u32(fieldToken, "", "")
	name    = quoted(fieldName, "NM", "NAME").alsoRead("N")
	newName = quoted(fieldName, "NM", "NAME")
	members = fieldSpec{f: fieldMembers, short: "M", long: "MEMBERS"}
	scl     = fieldSpec{f: fieldSCL, bits: 32, short: "X", long: "SCL", omitZero: true}
	oldSCL  = scl.alsoRead("S")
	comment = []fieldSpec{quoted(fieldText, "", "")}

	operationFields = []fieldSpec{u32(fieldCollective, "", ""), u32(fieldCommunicator, "C", "COMM"), u32(fieldRoot, "RT",
		"ROOT"),
		u32(fieldSent, "S", "SENT"), u32(fieldReceived, "R", "RECVD"), u64(fieldDuration, "D", "DUR"), oldSCL}
	message = []fieldSpec{u32(fieldPeer, "", ""), u32(fieldLength, "L", "LEN"), u32(fieldTag, "T", "TAG"),
		u32(fieldCommunicator, "C", "COMM"), oldSCL}
	rma = []fieldSpec{u32(fieldOrigin, "", ""), u32(fieldPeer, "P", "PROCESS"), u32(fieldCommunicator, "C", "COMM"),
		u32(fieldTag, "T", "TAG"), u64(fieldBytes, "L", "LEN"), scl}
	summary = []fieldSpec{u64(fieldCount, "N", "COUNT").alsoRead("C"), u64(fieldExclusive, "E", "EXCL"),
		u64(fieldInclusive, "I", "INCL")}
	transfers = []fieldSpec{
		u64(fieldSentCount, "NS", "NUMSENT"), u64(fieldReceivedCount, "NR", "NUMRECVD"), u64(fieldSent, "S", "SENT"),
		u64(fieldReceived, "R", "RECVD")}
	fileSums = []fieldSpec{u64(fieldOpens, "NO", "NUMOPEN"), u64(fieldCloses, "NC", "NUMCLOSE"), u64(fieldReads,
		"NRD", "NUMREAD"),
		u64(fieldWrites, "NW", "NUMWRITTEN"), u64(fieldSeeks, "NSK", "NUMSEEK"), u64(fieldBytesRead, "BR", "BYTESREAD"),
		u64(fieldBytesWritten, "BW", "BYTESWRITE")}
)

func fields(first fieldSpec, more ...fieldSpec) []fieldSpec {
	return append([]fieldSpec{first}, more...)
}

// specs describes all record types. Type numbers without a name are unused (docs/formats/otf.md, "Records").
var specs = [NumTypes]spec{
	DefVersion: {"DefVersion", Definitions, "DV", "DEFVERSION",
		[]fieldSpec{{f: fieldMajor, bits: 8}, {f: fieldMinor, bits: 8, short: ".", long: ".", noBlank: true},
			{f: fieldSub, bits: 8, short: ".", long: ".", noBlank: true}, {f: fieldText, noBlank: true}}, false},
	DefUniqueID:       {"DefUniqueId", Definitions, "DUI", "DEFUNIQUEID", fields(u64(fieldUniqueID, "", "")), false},
	DefCreator:        {"DefCreator", Definitions, "DCR", "DEFCREATOR", comment, false},
	DefinitionComment: {"DefinitionComment", Definitions, "DCMT", "DEFCOMMENT", comment, false},
	DefTimerResolution: {"DefTimerResolution", Definitions, "DTR", "DEFTIMERRESOLUTION",
		fields(u64(fieldTicksPerSecond, "", "")), false},
	DefTimeRange: {"DefTimeRange", Definitions, "DTRG", "DEFTIMERANGE",
		fields(u64(fieldMinTime, "", ""), u64(fieldMaxTime, "T", "TIME")), false},
	DefProcess: {"DefProcess", Definitions, "DP", "DEFPROCESS",
		fields(token, fieldSpec{f: fieldName, short: "NM", long: "NAME", old: "N", omitZero: true},
			fieldSpec{f: fieldParent, bits: 32, short: "PT", long: "PARENT", old: "P", omitZero: true}), false},
	DefProcessGroup: {"DefProcessGroup", Definitions, "DPG", "DEFPROCESSGROUP", fields(token, members, name),
		false},
	DefAttributeList: {"DefAttributeList", Definitions, "DA", "DEFATTRIBUTELIST", fields(token, members),
		false},
	DefProcessOrGroupAttributes: {"DefProcessOrGroupAttributes", Definitions, "DPGA", "DEFPROCESSORGROUPATTR",
		fields(token, u32(fieldAttributeList, "V", "VALUE")), false},
	DefProcessSubstitutes: {"DefProcessSubstitutes", Definitions, "DPS", "DEFPROCESSSUBSTITUTES",
		fields(token, members), false},
	DefFunctionGroup: {"DefFunctionGroup", Definitions, "DFG", "DEFFUNCTIONGROUP", fields(token, name), false},
	DefFunction: {"DefFunction", Definitions, "DF", "DEFFUNCTION",
		fields(token, u32(fieldGroup, "G", "GROUP"), name, oldSCL), false},
	DefCollectiveOperation: {"DefCollectiveOperation", Definitions, "DCO", "DEFCOLLOP",
		fields(token, name, u32(fieldKind, "Y", "TYPE").alsoRead("T")), false},
	DefCounterGroup: {"DefCounterGroup", Definitions, "DCG", "DEFCOUNTERGROUP", fields(token, name), false},
	DefCounter: {"DefCounter", Definitions, "DCNT", "DEFCOUNTER",
		fields(token, u32(fieldGroup, "G", "GROUP"), name, u32(fieldProperties, "P", "PROPERTIES"),
			quoted(fieldUnit, "U", "UNIT")), false},
	DefCounterAssignments: {"DefCounterAssignments", Definitions, "DCA", "DEFCOUNTERASSIGNMENTS",
		fields(token, members), false},
	DefSCLFile: {"DefSclFile", Definitions, "DSF", "DEFSCLFILE", fields(token, name), false},
	DefSCL: {"DefScl", Definitions, "DS", "DEFSCL",
		fields(token, u32(fieldFile, "F", "FILE"), u32(fieldLine, "LN", "LINE").alsoRead("L")), false},
	DefFileGroup: {"DefFileGroup", Definitions, "DFLG", "DEFFILEGROUP", fields(token, newName), false},
	DefFile: {"DefFile", Definitions, "DFL", "DEFFILE",
		fields(token, newName, u32(fieldGroup, "G", "GROUP")), false},
	DefKeyValue: {"DefKeyValue", Definitions, "DK", "DEFKEYVALUE",
		fields(token, u32(fieldKind, "Y", "TYPE"), newName, quoted(fieldText, "T", "TAG")), false},
	DefAuxSamplePoint: {"DefAuxSamplePoint", Definitions, "DAUX", "DEFAUXSAMPLEPOINT",
		fields(u64(fieldSampleTime, "", ""), u32(fieldKind, "Y", "TYPE")), false},

	NoOp:  {"NoOp", Events, "N", "NOOP", nil, true},
	Enter: {"Enter", Events, "E", "ENTER", fields(u32(fieldFunction, "", ""), oldSCL), false},
	Leave: {"Leave", Events, "L", "LEAVE",
		fields(fieldSpec{f: fieldFunction, bits: 32, mayBeMissing: true}, oldSCL), true},
	SendMsg: {"SendMsg", Events, "S", "SEND", message, false},
	RecvMsg: {"RecvMsg", Events, "R", "RECEIVE", message, false},
	Counter: {"Counter", Events, "CNT", "COUNTER", fields(u32(fieldCounter, "", ""), u64(fieldValue, "V", "VALUE")),
		false},
	CollectiveOperation: {"CollectiveOperation", Events, "COP", "COLLOP", operationFields, false},
	BeginCollective: {"BeginCollectiveOperation", Events, "COPB", "COLLOPBEGIN",
		fields(u32(fieldCollective, "", ""), u64(fieldMatching, "H", "HANDLEID"), u32(fieldCommunicator, "C", "COMM"),
			u32(fieldRoot, "RT", "ROOT"), u64(fieldSent, "S", "SENT"), u64(fieldReceived, "R", "RECVD"), oldSCL), false},
	EndCollective: {"EndCollectiveOperation", Events, "COPE", "COLLOPEND", fields(u64(fieldMatching, "", "")), false},
	EventComment:  {"EventComment", Events, "#", "#EVTCOMMENT", comment, false},
	BeginProcess:  {"BeginProcess", Events, "PB", "PROCESSBEGIN", nil, true},
	EndProcess:    {"EndProcess", Events, "PE", "PROCESSEND", nil, true},
	FileOperation: {"FileOperation", Events, "F", "FILEOP",
		fields(u32(fieldFile, "", ""), u64(fieldHandle, "H", "HANDLEID"), u32(fieldOperation, "OP", "OPERATION"),
			u64(fieldBytes, "B", "BYTES"), u64(fieldDuration, "D", "DUR"), scl), false},
	BeginFileOperation: {"BeginFileOperation", Events, "FA", "FILEOPBEGINNEW", fields(u64(fieldMatching, "", ""),
		scl), false},
	EndFileOperation: {"EndFileOperation", Events, "FF", "FILEOPENDNEW",
		fields(u32(fieldFile, "", ""), u64(fieldMatching, "MI", "MATCHID"), u64(fieldHandle, "H", "HANDLEID"),
			u32(fieldOperation, "OP", "OPERATION"), u64(fieldBytes, "B", "BYTES"), scl), false},
	RMAPut:          {"RMAPut", Events, "T", "TRMAPUT", rma, false},
	RMAPutRemoteEnd: {"RMAPutRemoteEnd", Events, "U", "URMAPUTRE", rma, false},
	RMAGet:          {"RMAGet", Events, "G", "GRMAGET", rma, false},
	RMAEnd: {"RMAEnd", Events, "M", "MRMAEND",
		fields(u32(fieldPeer, "", ""), u32(fieldCommunicator, "C", "COMM"), u32(fieldTag, "T", "TAG"), scl), false},

	SnapshotComment: {"SnapshotComment", Snapshots, "TC", "TCOMMENT", comment, false},
	EnterSnapshot: {"EnterSnapshot", Snapshots, "TE", "TENTER",
		fields(u32(fieldFunction, "", ""), u64(fieldOriginalTime, "O", "OTIME"), oldSCL), false},
	SendSnapshot: {"SendSnapshot", Snapshots, "TS", "TSEND",
		fields(u32(fieldPeer, "", ""), u64(fieldOriginalTime, "O", "OTIME"), u32(fieldCommunicator, "G", "GROUP"),
			u32(fieldTag, "T", "TAG"), fieldSpec{f: fieldLength, bits: 32, short: "L", long: "LEN", mayBeMissing: true},
			oldSCL), false},
	OpenFileSnapshot: {"OpenFileSnapshot", Snapshots, "TOF", "TOPENFILE",
		fields(u32(fieldFile, "", ""), u64(fieldOriginalTime, "O", "OTIME"), u64(fieldHandle, "H", "HANDLEID"), oldSCL),
		false},
	BeginCollectiveSnapshot: {"BeginCollopSnapshot", Snapshots, "TBC", "TBEGINCOLLOP",
		fields(u64(fieldOriginalTime, "", ""), u32(fieldCollective, "CL", "COLL"), u64(fieldMatching, "H", "HANDLEID"),
			u32(fieldCommunicator, "G", "GROUP"), u32(fieldRoot, "RT", "ROOT"), u64(fieldSent, "S", "SENT"),
			u64(fieldReceived, "R", "RECVD"), scl),
		false},
	BeginFileOperationSnapshot: {"BeginFileOpSnapshot", Snapshots, "TBF", "TBEGINFILEOP",
		fields(u64(fieldOriginalTime, "", ""), u64(fieldMatching, "MI", "MATCHID"), scl), false},
	CollectiveCountSnapshot: {"CollopCountSnapshot", Snapshots, "TCOC", "TCOLLOPCOUNT",
		fields(u32(fieldCommunicator, "", ""), u64(fieldCount, "N", "COUNT")), false},
	CounterSnapshot: {"CounterSnapshot", Snapshots, "TCNT", "TCOUNTER",
		fields(u64(fieldOriginalTime, "", ""), u32(fieldCounter, "CNT", "COUNTER"), u64(fieldValue, "V", "VALUE")), false},

	SummaryComment: {"SummaryComment", Statistics, "SC", "SUMCOMMENT", comment, false},
	FunctionSummary: {"FunctionSummary", Statistics, "SF", "SUMFUNCTION", fields(u32(fieldFunction, "", ""), summary...),
		false},
	FunctionGroupSummary: {"FunctionGroupSummary", Statistics, "SG", "SUMFUNCTIONGROUP",
		fields(u32(fieldGroup, "", ""), summary...), false},
	MessageSummary: {"MessageSummary", Statistics, "SM", "SUMMESSAGE",
		append(fields(u32(fieldPeer, "", ""), u32(fieldCommunicator, "C", "COMM"),
			u32(fieldTag, "T", "TAG").alsoRead("A")), transfers...), false},
	CollectiveSummary: {"CollopSummary", Statistics, "SCO", "SUMCOLLMESSAGE",
		append(fields(u32(fieldCommunicator, "", ""), u32(fieldCollective, "CL", "COLL")), transfers...), false},
	FileOperationSummary: {"FileOperationSummary", Statistics, "SFL", "SUMFILEOPERATION",
		fields(u32(fieldFile, "", ""), fileSums...), false},
	FileGroupOperationSummary: {"FileGroupOperationSummary", Statistics, "SFLG", "SUMFILEGROUPOPERATION",
		fields(u32(fieldGroup, "", ""), fileSums...), false},

	DefMarker: {"DefMarker", Markers, "MD", "MARKERDEF",
		fields(token, newName, fieldSpec{f: fieldKind, bits: 32, short: "Y", long: "TYPE", mayBeMissing: true}), false},
	Marker: {"Marker", Markers, "MS", "MARKERSPOT",
		fields(token, u64(fieldTime, "T", "TIME"), u32(fieldProcess, "P", "PROCESS"), quoted(fieldText, "V", "VALUE")),
		false},
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
