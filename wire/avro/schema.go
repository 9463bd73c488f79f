package avro

import (
	"encoding/binary"
	"fmt"

	library "github.com/twmb/avro"

	"wirelab"
)

// Schema is an Avro schema. It is immutable.
type Schema struct {
	parsed      *library.Schema
	shape       *shape
	fingerprint uint64
}

// Parse returns the schema of the last text, a JSON document. The others
// define the named types that it, and those after them, refer to. The error is
// InvalidArgument.
func Parse(texts ...string) (*Schema, error) {
	if len(texts) == 0 {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "no schema")
	}
	var known library.SchemaCache
	var last *library.Schema
	for i, text := range texts {
		var err error
		if last, err = known.Parse(text); err != nil {
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "schema %d of %d: %v", i+1, len(texts), err)
		}
	}
	return newSchema(last)
}

func newSchema(parsed *library.Schema) (*Schema, error) {
	canonical := parsed.Canonical()
	s, err := parseShape(canonical)
	if err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "schema: %v", err)
	}
	hash := library.NewRabin()
	_, _ = hash.Write(canonical) // a hash takes everything
	return &Schema{parsed: parsed, shape: s, fingerprint: hash.Sum64()}, nil
}

// Fingerprint returns the CRC-64-AVRO of the schema's canonical form.
func (s *Schema) Fingerprint() uint64 { return s.fingerprint }

// Canonical returns the schema's parsing canonical form: what the fingerprint is of.
func (s *Schema) Canonical() string { return string(s.parsed.Canonical()) }

// String names the schema by its type and fingerprint.
func (s *Schema) String() string {
	name := s.shape.name
	if name == "" {
		name = s.shape.kind.String()
	}
	return fmt.Sprintf("%s %016x", name, s.fingerprint)
}

// The marker that begins a single-object message.
const marker0, marker1 = 0xC3, 0x01

// headerSize is how long marker and fingerprint are, in bytes.
const headerSize = 10

// header returns what a message by the schema begins with.
func (s *Schema) header() [headerSize]byte {
	header := [headerSize]byte{marker0, marker1}
	binary.LittleEndian.PutUint64(header[2:], s.fingerprint)
	return header
}

// writerOf returns the fingerprint of a message's writer.
func writerOf(message []byte) (fingerprint uint64, err error) {
	switch {
	case len(message) >= 2 && (message[0] != marker0 || message[1] != marker1):
		return 0, wirelab.Errorf(wirelab.InvalidArgument,
			"the message begins with %x, not with the marker c301 of Avro's single-object encoding", message[:2])
	case len(message) < headerSize:
		return 0, wirelab.Errorf(wirelab.InvalidArgument,
			"the message ends within its header: it has %d bytes of %d", len(message), headerSize)
	}
	return binary.LittleEndian.Uint64(message[2:headerSize]), nil
}
