package store

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// unknownLimit is how many unknown fields are named.
const unknownLimit = 20

// inspect compares JSON, which is valid, with the type that it is to fill, where the decoder is too kind: it takes
// null for 0, a field that comes twice for its last value, and "Sent" for "sent". Those are errors. Fields that the
// type does not have are returned, each once: "rounds[].trials[].gpu".
//
// It reads the bytes where they are. A tree of all values would take more memory than the result.
func inspect(data []byte, want reflect.Type) (unknown []string, err error) {
	s := &inspector{data: data}
	s.value(want, "")
	if s.err != nil {
		return nil, s.err
	}
	return s.unknown, nil
}

type inspector struct {
	data    []byte
	at      int
	unknown []string
	err     error
}

// next skips white space and returns the byte there, 0 at the end.
func (s *inspector) next() byte {
	for ; s.at < len(s.data); s.at++ {
		switch b := s.data[s.at]; b {
		case ' ', '\n', '\r', '\t', ',', ':':
		default:
			return b
		}
	}
	return 0
}

// text passes a string and returns it with its quotes.
func (s *inspector) text() []byte {
	start := s.at
	for s.at++; s.at < len(s.data); {
		end := bytes.IndexByte(s.data[s.at:], '"')
		if end < 0 {
			break
		}
		slashes := 0
		for s.at+end-slashes > start+1 && s.data[s.at+end-slashes-1] == '\\' {
			slashes++
		}
		s.at += end + 1
		if slashes%2 == 0 {
			return s.data[start:s.at]
		}
	}
	s.at = len(s.data)
	return s.data[start:]
}

// value passes a value that is to fill a type; nil: none that is known.
func (s *inspector) value(want reflect.Type, path string) {
	pointer := want != nil && want.Kind() == reflect.Pointer
	if pointer {
		want = want.Elem()
	}
	switch b := s.next(); b {
	case 0:
	case '"':
		s.text()
	case '{':
		s.object(want, path)
	case '[':
		s.at++
		if want != nil && want.Kind() == reflect.Slice {
			want = want.Elem()
		} else {
			want = nil
		}
		for b := s.next(); b != ']' && b != 0 && s.err == nil; b = s.next() {
			s.value(want, path+"[]")
		}
		s.at++
	default:
		for s.at < len(s.data) && !bytes.ContainsRune([]byte(" \n\r\t,:]}"), rune(s.data[s.at])) {
			s.at++
		}
		if b == 'n' && want != nil && !pointer && !nullable(want.Kind()) {
			s.fail(path, "is null, which is no figure")
		}
	}
}

// nullable reports whether a kind has an empty value that is written as null.
func nullable(k reflect.Kind) bool {
	return k == reflect.Slice || k == reflect.Map || k == reflect.Interface
}

func (s *inspector) object(want reflect.Type, path string) {
	var fields map[string]reflect.Type
	var every reflect.Type // of the values of a map
	switch {
	case want == nil || readsItself(want):
	case want.Kind() == reflect.Struct:
		fields = fieldsOf(want)
	case want.Kind() == reflect.Map:
		every = want.Elem()
	}
	seen := map[string]bool{}
	s.at++
	for b := s.next(); b == '"' && s.err == nil; b = s.next() {
		name := keyOf(s.text())
		inner := path + "." + name
		if seen[name] {
			s.fail(inner, "is there twice")
		}
		seen[name] = true
		of := every
		if fields != nil {
			known, ok := fields[name]
			if !ok {
				s.strange(inner, name, fields)
			}
			of = known
		}
		s.value(of, inner)
	}
	s.at++
}

// strange notes a field that is not known, or fails for one that the decoder would take for another.
func (s *inspector) strange(path, name string, fields map[string]reflect.Type) {
	for known := range fields {
		if strings.EqualFold(known, name) {
			s.fail(path, "is not spelled as "+known)
		}
	}
	path = strings.TrimPrefix(path, ".")
	if len(s.unknown) < unknownLimit && !slices.Contains(s.unknown, path) {
		s.unknown = append(s.unknown, path)
	}
}

func (s *inspector) fail(path, why string) {
	if s.err == nil {
		s.err = fmt.Errorf("%.200s %s", strings.TrimPrefix(path, "."), why)
	}
}

// keyOf is a key without its quotes.
func keyOf(quoted []byte) string {
	var name string
	if bytes.IndexByte(quoted, '\\') < 0 && len(quoted) >= 2 {
		return string(quoted[1 : len(quoted)-1])
	}
	if json.Unmarshal(quoted, &name) != nil {
		return string(quoted)
	}
	return name
}

// readsItself reports whether a type decodes its own text.
func readsItself(t reflect.Type) bool {
	own := reflect.PointerTo(t)
	return own.Implements(reflect.TypeFor[json.Unmarshaler]()) ||
		own.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

// fieldsOf are the fields of a struct by their names in JSON, those of structs within it that have no name included.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	if known, ok := fieldsKnown.Load(t); ok {
		return known.(map[string]reflect.Type) //nolint:forcetypeassert // nothing else is put there
	}
	fields := map[string]reflect.Type{}
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case field.Anonymous && name == "" && field.Type.Kind() == reflect.Struct:
			for inner, of := range fieldsOf(field.Type) {
				fields[inner] = of
			}
		case !field.IsExported():
		case name == "":
			fields[field.Name] = field.Type
		default:
			fields[name] = field.Type
		}
	}
	fieldsKnown.Store(t, fields)
	return fields
}

// fieldsKnown keeps [fieldsOf] by type: a result has thousands of values of each.
var fieldsKnown sync.Map
