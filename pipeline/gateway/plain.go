package gateway

import "bytes"

// plain reads the request that nearly every caller sends: one object of the
// known members, each once and by its exact name, whose texts have no escapes.
// Of all else it says no, wrong or right, and encoding/json has the word: what
// plain takes, that takes alike (FuzzPlain). It costs a fifth of it, where
// encoding/json reads a body once to see that it is JSON and once by reflection.
// body is UTF-8, and what is read is its own.
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

// scanner reads JSON from the front of rest. Its methods report whether what they
// want was there; after one that was not, what is left means nothing.
type scanner struct {
	rest []byte
	seen uint8 // a bit for each member that was read
}

// once reports whether a member, by its bit, comes for the first time. Of two
// encoding/json takes the later, and of two objects some of each.
func (s *scanner) once(member uint8) bool {
	again := s.seen&member != 0
	s.seen |= member
	return !again
}

// space skips white space; it always can.
func (s *scanner) space() bool {
	for len(s.rest) > 0 && (s.rest[0] == ' ' || s.rest[0] == '\n' || s.rest[0] == '\r' || s.rest[0] == '\t') {
		s.rest = s.rest[1:]
	}
	return true
}

// take skips white space and then c.
func (s *scanner) take(c byte) bool {
	if s.space(); len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

// object reads an object, of which member reads each value.
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

// text reads a text into a string of its own.
func (s *scanner) text(into *string) bool {
	text, ok := s.quoted()
	*into = string(text)
	return ok
}

// quoted reads a text without escapes. Control characters are no JSON there.
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
