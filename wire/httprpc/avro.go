package httprpc

import (
	"encoding/binary"
	"errors"
)

// The error body in Avro's binary encoding, by hand: this package knows no Avro library, and a record of three
// fields needs none. Its schema is
//
//	{"type": "record", "name": "Failure", "fields": [
//	  {"name": "code", "type": "int"},
//	  {"name": "message", "type": "string"},
//	  {"name": "details", "type": {"type": "map", "values": "string"}}]}

// encodeAvro renders the body as a Failure. Avro's numbers are zigzag varints,
// as encoding/binary has them.
func (b errorBody) encodeAvro() []byte {
	data := binary.AppendVarint(nil, int64(b.Code))
	data = appendAvroString(data, b.Message)
	if len(b.Details) > 0 {
		data = binary.AppendVarint(data, int64(len(b.Details)))
		for key, value := range b.Details {
			data = appendAvroString(appendAvroString(data, key), value)
		}
	}
	return append(data, 0) // no more blocks
}

func appendAvroString(data []byte, s string) []byte {
	return append(binary.AppendVarint(data, int64(len(s))), s...)
}

// errNotAvro is a body that is no Failure.
var errNotAvro = errors.New("not an error body in Avro")

// decodeAvroError is the inverse of encodeAvro. A block of a map announces its
// length, which may be a lie: nothing is made before its entries are there.
func decodeAvroError(data []byte) (body errorBody, err error) {
	r := avroReader{left: data}
	code := r.number()
	r.bad = r.bad || code != int64(int32(code))
	body.Code = int(code)
	body.Message = r.text()
	for entries := r.number(); entries != 0 && !r.bad; entries = r.number() {
		if entries < 0 { // its size in bytes follows, for those who skip
			entries = -entries
			r.number()
			r.bad = r.bad || entries < 0 // the least number has no opposite
		}
		if body.Details == nil {
			body.Details = map[string]string{}
		}
		for ; entries > 0 && !r.bad; entries-- {
			key := r.text()
			body.Details[key] = r.text()
		}
	}
	if r.bad || len(r.left) > 0 {
		return errorBody{}, errNotAvro
	}
	return body, nil
}

// avroReader reads Avro's primitive types. After bad all it reads is zero.
type avroReader struct {
	left []byte
	bad  bool
}

func (r *avroReader) number() int64 {
	v, n := binary.Varint(r.left)
	if n <= 0 || r.bad {
		r.bad, r.left = true, nil
		return 0
	}
	r.left = r.left[n:]
	return v
}

func (r *avroReader) text() string {
	n := r.number()
	if r.bad || n < 0 || n > int64(len(r.left)) {
		r.bad, r.left = true, nil
		return ""
	}
	s := string(r.left[:n])
	r.left = r.left[n:]
	return s
}
