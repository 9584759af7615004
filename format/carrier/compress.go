package carrier

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/flate"
)

// Prefixes of packed data.
const (
	magic       = "weft\x02" // links, long rows, and definitions of earlier versions
	magicPrimed = "weft\x03" // definitions; the compression continues the text primer, and keys have no numbers
	magicLength = len(magic)
)

// primer is the text that the compression of definitions continues. Definitions of short traces take half of the space
// by that. A change of primer makes packed definitions unreadable.
const primer = `property {"Key":"OTF2::MPI_COMMUNICATION_COMPLETE","Value":{"type":"string","text":"true"}}
opaque {"Format":"otf2","Type":"Paradigm","Data":"opaque {"Format":"otf","Type":"DefFileGroup","Data":"
window {"id":"0","name":"file {"id":"1","name":"handle {"id":"0","name":"context {"id":"0","name":"
marker {"id":"0","name":"operation {"id":"1","name":"all","attributes":[{"Key":"type","Value":` +
	`{"type":"string","text":"all-to-all"}}]}
parameter {"id":"0","name":"attributes":[{"Key":"group","Value":{"type":"int64","text":"1"}}]}
kind {"name":"claim","doc":"operands":[{"name":"value","type":
resource {"id":"0","name":"CPU","capacity":1,"location":0,"undefined":true}
metric {"id":"0/0","name":"PAPI_TOT_CYC","unit":"#","kind":"counter","mode":"ACCUMULATED_START","group":"PAPI",` +
	`"type":4,"location":4294967295,"attributes":[{"Key":"occurrence","Value":{"type":"string","text":"synchronous"}}]}
set {"id":"0","name":"MPI_COMM_WORLD","kind":"communicating locations","members":[0,1,2,3],"attributes":[{"Key":` +
	`"paradigm","Value":{"type":"string","text":"MPI"}}]}
communicator {"id":"0","name":"MPI_COMM_WORLD","set":0,"parent":4294967295}
attribute {"name":"length"}
attribute {"id":"0","name":"text","type":11,"doc":""}
region {"id":"0","name":"MPI_Allreduce","file":"","line":0,"end":0,"group":"MPI","role":"function"}
group {"id":"node/0","name":"machine","kind":"node","parent":4294967295,"attributes":[{"Key":"creator","Value":` +
	`{"type":"string","text":"
group {"id":"0","name":"rank 0","kind":"process","parent":0}
location {"id":"0","name":"Master thread","kind":"thread","group":0}
location {"id":"1","kind":"process","group":4294967295}
string "MPI_Send"
string "MPI_Recv"
string "MPI_Isend"
string "MPI_Irecv"
string "MPI_Wait"
string "MPI_COMM_WORLD"
region {"id":"1","name":"main"}
region {"id":"2","name":"
time {"scale":1,"base":0}
time-base 0
otf.base 0
otf.generic comment
trace {"version":1,"origin":"otf2","clock":{"num":1000000000,"den":1},"kinds":["collective-begin","collective-end",` +
	`"metric","comment","marker","generic","process-begin","process-end"],"encoding":"utf-8"}
trace {"version":1,"origin":"pallas","clock":{"num":1000000000,"den":1}}
`

// pack compresses a text by at most the factor that [unpack] allows.
func pack(text []byte) []byte { return packAs(magic, text) }

// packAs is like pack, for data with a prefix.
func packAs(prefix string, text []byte) []byte {
	const level = 7 // level 9 takes twice the time and does not make the data smaller
	data := compress(prefix, text, level)
	if len(text) > len(data)*(maxGrowth-1) {
		data = compress(prefix, text, flate.HuffmanOnly)
	}
	return data
}

// compress compresses a text at a level of package flate.
func compress(prefix string, text []byte, level int) []byte {
	out := bytes.NewBufferString(prefix)
	w, _ := flate.NewWriterDict(out, level, dictionary(prefix)) // it fails only for an invalid level
	w.Write(text)                                               // a buffer never fails
	w.Close()
	return out.Bytes()
}

// dictionary returns the text that the compression of data with a prefix continues.
func dictionary(prefix string) []byte {
	if prefix == magicPrimed {
		return []byte(primer)
	}
	return nil
}

// maxGrowth is the greatest factor by which data may grow when they are unpacked.
const maxGrowth = 256

// Packed reports whether data has the prefix of the output of [Pack].
func Packed(data []byte) bool { return isPrimed(data) || bytes.HasPrefix(data, []byte(magic)) }

// isPrimed reports whether the compression of data continues the text primer.
func isPrimed(data []byte) bool { return bytes.HasPrefix(data, []byte(magicPrimed)) }

// unpack returns the text that pack has compressed. It returns an error if the text is longer than
// data by more than the factor maxGrowth.
func unpack(data []byte) ([]byte, error) {
	if !Packed(data) {
		return nil, errors.New("found bytes that this version of weft did not pack")
	}
	most := int64(len(data)) * maxGrowth
	r := flate.NewReaderDict(bytes.NewReader(data[magicLength:]), dictionary(string(data[:magicLength])))
	const usual = 4 // growth of most data
	text := bytes.NewBuffer(make([]byte, 0, usual*len(data)))
	n, err := text.ReadFrom(io.LimitReader(r, most+1))
	if err == nil && n > most {
		err = fmt.Errorf("found more than %d bytes in %d, expected less", most, len(data))
	}
	return text.Bytes(), err
}

// Compress returns data that [Decompress] returns again.
func Compress(data []byte) []byte { return pack(data) }

// Decompress returns the data that [Compress] has compressed. It returns an error if they are longer than the
// compressed data by more than a factor of 256.
func Decompress(data []byte) ([]byte, error) { return unpack(data) }
