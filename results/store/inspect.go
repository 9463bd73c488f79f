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

// inspect compares valid JSON with the type that it is to fill, where the decoder is too lenient: it takes null for
// 0, the last value of a repeated field, and "Sent" for "sent". Those are errors. It returns the fields that the type
// does not have, each once: "rounds[].trials[].gpu".
//
// It reads the bytes in place, since a tree of all values would take more memory than the result.
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

// next skips white space and returns the next byte; 0 at the end.
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

// text skips a string and returns it with its quotes.
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

// value skips a value of the given type; nil if the type is not known.
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
	var every reflect.Type // type of the values of a map
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

// strange records an unknown field. It fails for a field that the decoder would take for another one.
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

// keyOf returns a key without its quotes.
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

// fieldsOf returns the fields of a struct by their names in JSON, with those of embedded structs.
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

// fieldsKnown caches [fieldsOf] by type: a result has thousands of values of each type.
var fieldsKnown sync.Map
