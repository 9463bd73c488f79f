package avro

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"wirelab"
)

// Limits bound one message, both ways.
type Limits struct {
	// Message is the size of the largest message, header and all, in bytes.
	// 0 means [wirelab.MessageLimit]. A larger one is ResourceExhausted.
	Message int
	// Items is how many items the message's arrays and maps may have in all,
	// since an item can take a hundred times the memory that it takes bytes.
	// 0 means [DefaultItems]. More are ResourceExhausted.
	Items int
	// Depth is how deep records, arrays, maps and unions may lie in each
	// other. 0 means [DefaultDepth]. Deeper ones are ResourceExhausted.
	Depth int
}

// The limits that hold where none are given.
const (
	DefaultItems = 1 << 17
	DefaultDepth = 64
)

// withDefaults returns the limits with the zero ones filled in.
func (l Limits) withDefaults() Limits {
	if l.Message == 0 {
		l.Message = wirelab.MessageLimit
	}
	if l.Items == 0 {
		l.Items = DefaultItems
	}
	if l.Depth == 0 {
		l.Depth = DefaultDepth
	}
	return l
}

// fault says why a message is refused, and where.
type fault struct {
	code wirelab.Code
	text string
	path []string // from the inside out
}

// in says that the fault is within a field or an item.
func (f *fault) in(name string) *fault {
	f.path = append(f.path, name)
	return f
}

// err returns the fault as an error for the caller.
func (f *fault) err() error {
	if len(f.path) == 0 {
		return wirelab.Errorf(f.code, "%s", f.text)
	}
	slices.Reverse(f.path)
	where := strings.TrimPrefix(strings.Join(f.path, ""), ".")
	return wirelab.Errorf(f.code, "%s: %s", where, f.text)
}

// truncated is the fault of bytes that end too early.
func (s *scan) truncated(what string) *fault {
	return invalid("the message ends within %s, after %d bytes", what, len(s.data))
}

func invalid(format string, args ...any) *fault {
	return &fault{code: wirelab.InvalidArgument, text: fmt.Sprintf(format, args...)}
}

// scan walks the bytes of a message's value by its schema. Invariant: at <= len(data).
type scan struct {
	data  []byte
	at    int
	items int // that arrays and maps may still have
	depth int // that may still be gone down
}

// check returns an error unless a message has exactly one value of the shape
// after its header, within limits. It allocates only for the error.
func (l Limits) check(s *shape, message []byte, header int) error {
	walk := scan{data: message, at: header, items: l.Items, depth: l.Depth}
	if f := walk.value(s); f != nil {
		return f.err()
	}
	if walk.at != len(message) {
		return wirelab.Errorf(wirelab.InvalidArgument, "%d bytes follow the end of the value", len(message)-walk.at)
	}
	return nil
}

// value walks over one value.
func (s *scan) value(of *shape) *fault {
	switch of.kind {
	case kindNull:
		return nil
	case kindBoolean:
		if s.at == len(s.data) {
			return s.truncated("a boolean")
		}
		if s.data[s.at] > 1 {
			return invalid("boolean %d is neither 0 nor 1", s.data[s.at])
		}
		s.at++
		return nil
	case kindInt:
		_, f := s.int()
		return f
	case kindLong:
		_, f := s.long()
		return f
	case kindFloat:
		return s.skip(4, "a float")
	case kindDouble:
		return s.skip(8, "a double")
	case kindFixed:
		return s.skip(of.size, "a fixed value")
	case kindBytes, kindString:
		return s.run(of.kind == kindString)
	case kindEnum:
		n, f := s.int()
		if f == nil && (n < 0 || n >= int64(of.size)) {
			return invalid("symbol %d of %d of enum %s", n, of.size, of.name)
		}
		return f
	}
	if s.depth == 0 {
		return &fault{code: wirelab.ResourceExhausted, text: "the message is nested too deeply"}
	}
	s.depth--
	f := s.composed(of)
	s.depth++
	return f
}

// composed walks over a value that is made of others.
func (s *scan) composed(of *shape) *fault {
	switch of.kind {
	case kindRecord:
		for i := range of.fields {
			field := &of.fields[i]
			if f := s.value(field.shape); f != nil {
				return f.in("." + field.name)
			}
		}
		return nil
	case kindUnion:
		n, f := s.int()
		switch {
		case f != nil:
			return f
		case n < 0 || n >= int64(len(of.branches)):
			return invalid("branch %d of a union of %d", n, len(of.branches))
		}
		return s.value(of.branches[n])
	default:
		return s.blocks(of)
	}
}

// blocks walks over an array or a map: blocks of items, each with their count,
// up to one without any.
func (s *scan) blocks(of *shape) *fault {
	index := 0
	for {
		count, f := s.long()
		if f != nil || count == 0 {
			return f
		}
		end := -1 // where the block ends, if it says so
		if count < 0 {
			size, f := s.long()
			if f != nil {
				return f
			}
			if size < 0 || size > int64(len(s.data)-s.at) {
				return invalid("a block says that it has %d bytes, and %d are left", size, len(s.data)-s.at)
			}
			end = s.at + int(size)
			count = -count // stays negative for the smallest, which has no opposite
		}
		if !of.item.empty && uint64(count) > uint64(len(s.data)-s.at) {
			return invalid("a block says that it has %d items, in the %d bytes that are left", uint64(count),
				len(s.data)-s.at)
		}
		if count < 0 || count > int64(s.items) {
			return &fault{
				code: wirelab.ResourceExhausted,
				text: fmt.Sprintf("a block says that it has %d items, more than the %d that a message may still have",
					uint64(count), s.items),
			}
		}
		s.items -= int(count)
		for range count {
			if f := s.item(of); f != nil {
				return f.in(fmt.Sprintf("[%d]", index))
			}
			index++
		}
		if end >= 0 && end != s.at {
			return invalid("a block says that it ends %d bytes from where it does", end-s.at)
		}
	}
}

// item walks over an array's item, or a map's key and value.
func (s *scan) item(of *shape) *fault {
	if of.kind == kindMap {
		if f := s.run(true); f != nil {
			return f
		}
	}
	return s.value(of.item)
}

// run walks over bytes with their length before them.
func (s *scan) run(text bool) *fault {
	var n int64
	if s.at < len(s.data) && s.data[s.at] < 0x80 && s.data[s.at]&1 == 0 { // most lengths are one byte
		n = int64(s.data[s.at] >> 1)
		s.at++
	} else {
		var f *fault
		if n, f = s.long(); f != nil {
			return f
		}
	}
	if n < 0 {
		return invalid("a length of %d", n)
	}
	if n > int64(len(s.data)-s.at) {
		return s.truncated(fmt.Sprintf("a text or bytes of length %d", n))
	}
	if text && !utf8.Valid(s.data[s.at:s.at+int(n)]) {
		return invalid("text is not valid UTF-8")
	}
	s.at += int(n)
	return nil
}

// skip walks over n bytes.
func (s *scan) skip(n int, what string) *fault {
	if n > len(s.data)-s.at {
		return s.truncated(what)
	}
	s.at += n
	return nil
}

// int walks over a number of 32 bits and returns it.
func (s *scan) int() (int64, *fault) { return s.number(5, 0x0f) }

// long walks over a number of 64 bits and returns it.
func (s *scan) long() (int64, *fault) { return s.number(10, 0x01) }

// number walks over a zigzag number of at most size bytes, of which the last
// is at most last, and returns it.
func (s *scan) number(size int, last byte) (int64, *fault) {
	var u uint64
	rest := s.data[s.at:]
	for i := range size {
		if i == len(rest) {
			return 0, s.truncated("a number")
		}
		b := rest[i]
		u |= uint64(b&0x7f) << (7 * i)
		if b < 0x80 {
			if i == size-1 && b > last {
				break
			}
			s.at += i + 1
			return int64(u>>1) ^ -int64(u&1), nil
		}
	}
	return 0, invalid("a number has too many bits")
}
