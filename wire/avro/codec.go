package avro

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	library "github.com/twmb/avro"

	"wirelab"
	"wirelab/wire/panics"
)

// Codec turns values of T into messages and back. It is safe for concurrent use.
type Codec[T any] struct {
	schema  *Schema
	header  [headerSize]byte
	encode  *library.Schema // the schema with the names of Go
	writers []writer        // whose messages are read; the codec's own is the first
	limits  Limits
	scratch *sync.Pool // of *[]byte, what [Codec.Encode] writes in
}

// writer is a schema that messages are written by.
type writer struct {
	*Schema
	decode *library.Schema // reads what it wrote as T
	// blind is whether bytes that the scan takes for bytes may become text.
	blind bool
}

// New returns the codec of T that writes by schema, and reads what was written
// by it or by one of writers. The error is InvalidArgument: T and the schema do
// not fit each other, or a writer's schema cannot be resolved to it.
func New[T any](limits Limits, schema *Schema, writers ...*Schema) (*Codec[T], error) {
	names, goType := renaming{}, reflect.TypeFor[T]()
	if err := names.match(schema.shape, goType, goType.String()); err != nil {
		return nil, err
	}
	encode, err := names.apply(schema)
	if err != nil {
		return nil, err
	}
	c := &Codec[T]{
		schema: schema, header: schema.header(), encode: encode, limits: limits.withDefaults(),
		writers: []writer{{Schema: schema, decode: encode}},
		scratch: &sync.Pool{New: func() any { return new([]byte) }},
	}
	for _, w := range writers {
		if slices.ContainsFunc(c.writers, func(known writer) bool { return known.fingerprint == w.fingerprint }) {
			continue
		}
		err := library.CheckCompatibility(w.parsed, schema.parsed) // by the schema's own names
		var decode *library.Schema
		if err == nil {
			decode, err = library.Resolve(w.parsed, encode)
		}
		if err != nil {
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "what %s wrote cannot be read as %s: %v", w, schema,
				err)
		}
		c.writers = append(c.writers, writer{
			Schema: w, decode: decode, blind: w.shape.has(kindBytes) && schema.shape.has(kindString),
		})
	}
	return c, nil
}

// Schema returns the schema that the codec writes by.
func (c *Codec[T]) Schema() *Schema { return c.schema }

// Append appends the message of v to dst. The error is InvalidArgument where v
// has what the schema cannot say, such as text that is not UTF-8, and
// ResourceExhausted beyond the limits; dst is then as it was.
func (c *Codec[T]) Append(dst []byte, v *T) ([]byte, error) { return c.append(dst, c.header[:], v) }

// AppendBare is [Codec.Append] without the header that names the schema, for
// readers that hold the schema already.
func (c *Codec[T]) AppendBare(dst []byte, v *T) ([]byte, error) { return c.append(dst, nil, v) }

func (c *Codec[T]) append(dst, header []byte, v *T) (message []byte, err error) {
	start := len(dst)
	defer func() {
		if p := recover(); p != nil {
			message, err = dst[:start], panics.Error(context.Background(), p)
		}
	}()
	message, err = c.encode.AppendEncode(append(dst, header...), v)
	if err != nil {
		return dst[:start], wirelab.Errorf(wirelab.InvalidArgument, "%s cannot be written by schema %s", place(err),
			c.schema)
	}
	if err := c.sized(len(message) - start); err != nil {
		return dst[:start], err
	}
	if err := c.limits.check(c.schema.shape, message[start:], len(header)); err != nil {
		return dst[:start], err
	}
	return message, nil
}

// Encode returns the message of v. See [Codec.Append] for its errors.
func (c *Codec[T]) Encode(v *T) ([]byte, error) {
	scratch, ok := c.scratch.Get().(*[]byte)
	if !ok {
		scratch = new([]byte)
	}
	defer c.scratch.Put(scratch)
	message, err := c.Append((*scratch)[:0], v)
	if err != nil {
		return nil, err
	}
	*scratch = message
	return append(make([]byte, 0, len(message)), message...), nil
}

// Decode reads a message. It keeps no part of it. The error is InvalidArgument
// where the message is not what a known writer writes, ResourceExhausted beyond
// the limits.
func (c *Codec[T]) Decode(message []byte) (v T, err error) {
	if err := c.sized(len(message)); err != nil {
		return v, err
	}
	fingerprint, err := writerOf(message)
	if err != nil {
		return v, err
	}
	w, err := c.writer(fingerprint)
	if err != nil {
		return v, err
	}
	return c.read(w, message, headerSize)
}

// DecodeBare reads a message that [Codec.AppendBare] wrote, by the codec's own
// schema; see [Codec.Decode]. Bytes of another schema may be read as a value
// that was never written: the bytes do not tell.
func (c *Codec[T]) DecodeBare(message []byte) (v T, err error) {
	if err := c.sized(len(message)); err != nil {
		return v, err
	}
	return c.read(&c.writers[0], message, 0)
}

// read reads what w wrote into message, after its header.
func (c *Codec[T]) read(w *writer, message []byte, header int) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			var none T
			v, err = none, panics.Error(context.Background(), p)
		}
	}()
	if err := c.limits.check(w.shape, message, header); err != nil {
		return v, err
	}
	var read T
	if _, err := w.decode.Decode(message[header:], &read); err != nil {
		return v, wirelab.Errorf(wirelab.InvalidArgument, "%s, written by schema %s, cannot be read as %s",
			place(err), w,
			c.schema)
	}
	if w.blind {
		// What the scan took for bytes may be text now, and is looked at as such.
		if _, err := c.Append(nil, &read); err != nil {
			return v, err
		}
	}
	return read, nil
}

// writer returns the known writer of a fingerprint.
func (c *Codec[T]) writer(fingerprint uint64) (*writer, error) {
	for i := range c.writers { // a handful
		if c.writers[i].fingerprint == fingerprint {
			return &c.writers[i], nil
		}
	}
	known := make([]string, len(c.writers))
	for i, w := range c.writers {
		known[i] = w.String()
	}
	return nil, wirelab.Errorf(wirelab.InvalidArgument, "the message's schema has the fingerprint %016x, which is not "+
		"known; known: %s",
		fingerprint, strings.Join(known, ", "))
}

// sized refuses a message of more bytes than the limit.
func (c *Codec[T]) sized(size int) error {
	if size > c.limits.Message {
		return wirelab.Errorf(wirelab.ResourceExhausted, "a message of %d bytes, more than %d", size, c.limits.Message)
	}
	return nil
}

// place says which part of a value an error of the library is about. Its text names our types, which is no
// one's business.
func place(err error) string {
	var semantic *library.SemanticError
	if errors.As(err, &semantic) && semantic.Field != "" {
		return fmt.Sprintf("field %s", semantic.Field)
	}
	return "the value"
}
