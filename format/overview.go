package format

import (
	"context"

	"github.com/weft-trace/weft/trace"
)

// TraceFile is one of the files that a trace consists of.
type TraceFile struct {
	Path string // as the user would write it
	Size int64  // bytes, as stored
}

// DefinitionRecords are the records that define one sort of thing.
type DefinitionRecords struct {
	Type  string // the format's own name for them
	Count int64
	// Names are what they define, where trace.Definitions has no table for it.
	Names []trace.Named
}

// Overview is a decoder of a format whose traces consist of several files, or whose
// definitions are records of their own.
type Overview interface {
	// Files lists the files that are read, the main file first.
	Files() ([]TraceFile, error)
	// DefinitionRecords counts the records that define, by type.
	DefinitionRecords(ctx context.Context) ([]DefinitionRecords, error)
}
