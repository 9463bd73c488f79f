package gateway

import "bytes"

// plain is the fast path for the request that nearly every caller sends: one object with known members only, each
// once and by its exact name, whose texts have no escapes. For any other body, valid or not, ok is false and
// encoding/json decides. Whatever plain accepts, encoding/json accepts with the same result (FuzzPlain). plain
// takes a fifth of the time: encoding/json reads a body once to validate it and once by reflection. body must be
// UTF-8. The result does not refer to body.
func plain(body []byte) (asked request, ok bool) {
	s := scanner{rest: body}
	object := s.object(func(name []byte) bool {
		switch string(name) {
		case "action":
			return s.once(1) && s.text(&asked.Action)
		case "log":
			return s.once(2) && s.object(func(name []byte) bool {
				switch string(name) {
				case "id":
					return s.once(4) && s.text(&asked.Log.ID)
				case "name":
					return s.once(8) && s.text(&asked.Log.Name)
				case "data":
					return s.once(16) && s.text(&asked.Log.Data)
				}
				return false
			})
		}
		return false
	})
	return asked, object && s.space() && len(s.rest) == 0
}

// scanner reads JSON from the front of rest. Each method reports whether the input had the expected form; after a
// false the rest is undefined.
type scanner struct {
	rest []byte
	seen uint8 // a bit for each member that was read
}

// once reports whether a member, given by its bit, is read for the first time. Duplicates go to encoding/json,
// which takes the later of two texts and merges two objects.
func (s *scanner) once(member uint8) bool {
	again := s.seen&member != 0
	s.seen |= member
	return !again
}

// space skips white space and returns true.
func (s *scanner) space() bool {
	for len(s.rest) > 0 && (s.rest[0] == ' ' || s.rest[0] == '\n' || s.rest[0] == '\r' || s.rest[0] == '\t') {
		s.rest = s.rest[1:]
	}
	return true
}

// take skips white space, then expects c.
func (s *scanner) take(c byte) bool {
	if s.space(); len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// object reads an object; member reads the value of each member.
func (s *scanner) object(member func(name []byte) bool) bool {
	if !s.take('{') {
		return false
	}
	if s.take('}') {
		return true
	}
	for {
		name, ok := s.quoted()
		if !ok || !s.take(':') || !member(name) {
			return false
		}
		if !s.take(',') {
			return s.take('}')
		}
	}
}

// text reads a text and copies it.
func (s *scanner) text(into *string) bool {
	text, ok := s.quoted()
	*into = string(text)
	return ok
}

// quoted reads a text without escapes. JSON does not allow control characters in it.
func (s *scanner) quoted() ([]byte, bool) {
	if !s.take('"') {
		return nil, false
	}
	end := bytes.IndexByte(s.rest, '"')
	if end < 0 {
		return nil, false
	}
	text := s.rest[:end]
	for _, c := range text {
		if c < ' ' || c == '\\' {
			return nil, false
		}
	}
	s.rest = s.rest[end+1:]
	return text, true
}
