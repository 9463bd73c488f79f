package record

import (
	"encoding/binary"
	"iter"
	"unicode/utf8"

	"wirelab/hermes"
	"wirelab/wire/status"
)

// Tags of the fields of hermes.proto, all of wire type 2 (a length and bytes).
// fieldMessage is that of a message within a run; the others are those of Message
// and of Header.
const (
	fieldMessage = 2<<3 | 2

	fieldPayload = 1<<3 | 2
	fieldKey     = 2<<3 | 2
	fieldHeaders = 3<<3 | 2

	fieldName  = 1<<3 | 2
	fieldValue = 2<<3 | 2
)

// field splits the first field of b off: its tag and its bytes. ok is false where
// there is no whole one of wire type 2 with a tag of one byte.
func field(b []byte) (tag byte, value, rest []byte, ok bool) {
	if len(b) < 2 || b[0] >= 0x80 || b[0]&7 != 2 {
		return 0, nil, nil, false
	}
	n, size := uint64(b[1]), 1
	if n >= 0x80 {
		if n, size = binary.Uvarint(b[1:]); size <= 0 {
			return 0, nil, nil, false
		}
	}
	if n > uint64(len(b)-1-size) {
		return 0, nil, nil, false
	}
	end := 1 + size + int(n)
	return b[0], b[1+size : end : end], b[end:], true
}

// Check counts the messages of a run in wire form, and refuses with InvalidArgument whatever is not a sequence
// of field 2, whatever is no Message, and whatever is beyond the bounds of package hermes. A run has one
// message at least. A Message is what hermes.proto says and no more: a field that it does not know, or a second
// payload or key, is refused rather than stored, since no bound would hold for it and the readers would
// disagree on it.
func Check(messages []byte) (count int, err error) { return check(messages, hermes.HeadersLimit) }

// CheckStored is Check for messages that were stored: a dead letter has headers beyond
// those that its publisher was allowed, so that only the run's own bound holds for them.
func CheckStored(messages []byte) (count int, err error) { return check(messages, hermes.RunLimit) }

// CheckMessage is [Check] of a run that is one message, before it is written.
func CheckMessage(m *hermes.Message) error {
	size := messageSize(m)
	if err := checkRun(1 + uvarintSize(size) + size); err != nil {
		return err
	}
	if err := checkBytes("payload", 0, len(m.Payload), hermes.PayloadLimit); err != nil {
		return err
	}
	if err := checkBytes("key", 0, len(m.Key), hermes.KeyLimit); err != nil {
		return err
	}
	headers := 0
	for i := range m.Headers {
		h := &m.Headers[i]
		if err := checkName(h.Name, 0); err != nil {
			return err
		}
		if headers += len(h.Name) + len(h.Value); headers > hermes.HeadersLimit {
			return errHeaders(0, headers, hermes.HeadersLimit)
		}
	}
	return nil
}

func checkRun(size int) error {
	if size > hermes.RunLimit {
		return status.Errorf(status.InvalidArgument,
			"a run has %d bytes; at most %d are allowed: publish it as several",
			size, hermes.RunLimit)
	}
	return nil
}

func checkBytes(what string, at, size, limit int) error {
	if size > limit {
		return status.Errorf(status.InvalidArgument, "message %d has a %s of %d bytes; at most %d are allowed", at,
			what,
			size, limit)
	}
	return nil
}

func errHeaders(at, size, limit int) error {
	return status.Errorf(status.InvalidArgument, "message %d has headers of %d bytes or more; at most %d are allowed",
		at, size, limit)
}

func check(messages []byte, headersLimit int) (count int, err error) {
	if err := checkRun(len(messages)); err != nil {
		return 0, err
	}
	for rest := messages; len(rest) > 0; count++ {
		tag, message, behind, ok := field(rest)
		if !ok || tag != fieldMessage {
			return 0, status.Errorf(status.InvalidArgument,
				"message %d of a run is not field 2 of hermes.proto, or is cut off", count)
		}
		if count == hermes.RunMessages {
			return 0, status.Errorf(status.InvalidArgument,
				"a run has more than %d messages, which are all that are allowed: publish it as several",
				hermes.RunMessages)
		}
		if err := checkMessage(message, count, headersLimit); err != nil {
			return 0, err
		}
		rest = behind
	}
	if count == 0 {
		return 0, status.Errorf(status.InvalidArgument, "a run has no message")
	}
	return count, nil
}

func checkMessage(message []byte, at, headersLimit int) error {
	payload, key, headers := false, false, 0
	for len(message) > 0 {
		tag, value, rest, ok := field(message)
		if !ok {
			return status.Errorf(status.InvalidArgument,
				"message %d is no Message of hermes.proto: a field is cut off or of another type", at)
		}
		switch {
		case tag == fieldPayload && !payload:
			payload = true
			if err := checkBytes("payload", at, len(value), hermes.PayloadLimit); err != nil {
				return err
			}
		case tag == fieldKey && !key:
			key = true
			if err := checkBytes("key", at, len(value), hermes.KeyLimit); err != nil {
				return err
			}
		case tag == fieldHeaders:
			name, held, err := header(value, at)
			if err != nil {
				return err
			}
			if headers += len(name) + len(held); headers > headersLimit {
				return errHeaders(at, headers, headersLimit)
			}
		default:
			return status.Errorf(status.InvalidArgument, "message %d has field %d twice, or it is unknown here", at,
				tag>>3)
		}
		message = rest
	}
	return nil
}

// header reads a Header of the message at a place in its run.
func header(b []byte, at int) (name, value []byte, err error) {
	var seen [4]bool
	for len(b) > 0 {
		tag, held, rest, ok := field(b)
		if !ok || tag>>3 > 2 || seen[tag>>3] {
			return nil, nil, status.Errorf(status.InvalidArgument,
				"message %d has a header that is no Header of hermes.proto",
				at)
		}
		seen[tag>>3] = true
		switch tag {
		case fieldName:
			name = held
		case fieldValue:
			value = held
		default:
			return nil, nil, status.Errorf(status.InvalidArgument,
				"message %d has a header with field %d, which is unknown here", at, tag>>3)
		}
		b = rest
	}
	return name, value, checkName(name, at)
}

// checkName checks a header's name.
func checkName[T string | []byte](name T, at int) error {
	switch {
	case len(name) > hermes.HeaderNameLimit:
		return status.Errorf(status.InvalidArgument, "message %d has a header whose name has %d bytes; at most %d "+
			"are allowed", at, len(name), hermes.HeaderNameLimit)
	case len(name) == 0:
		return status.Errorf(status.InvalidArgument, "message %d has a header without a name", at)
	case !utf8.ValidString(string(name)):
		return status.Errorf(status.InvalidArgument, "message %d has a header whose name is not UTF-8", at)
	}
	return nil
}

// Messages yields what Check let pass, each as the bytes of one Message. It ends
// where the form does; so do Skip and Head.
func Messages(messages []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		for rest := messages; ; {
			tag, message, behind, ok := field(rest)
			if !ok || tag != fieldMessage || !yield(message) {
				return
			}
			rest = behind
		}
	}
}

// Skip leaves the first n messages away.
func Skip(messages []byte, n int) []byte {
	for ; n > 0; n-- {
		tag, _, rest, ok := field(messages)
		if !ok || tag != fieldMessage {
			return nil
		}
		messages = rest
	}
	return messages
}

// Head gives at most limit bytes of the messages, one message at least if there is any, and at most most
// messages; 0: any number.
func Head(messages []byte, most, limit int) (head []byte, count int) {
	end := 0
	for rest := messages; most == 0 || count < most; count++ {
		tag, _, behind, ok := field(rest)
		if !ok || tag != fieldMessage {
			break
		}
		next := len(messages) - len(behind)
		if count > 0 && next > limit {
			break
		}
		end, rest = next, behind
	}
	return messages[:end:end], count
}

// AppendMessage writes a message in that form. It does not check it.
func AppendMessage(dst []byte, m *hermes.Message) []byte {
	dst = binary.AppendUvarint(append(dst, fieldMessage), uint64(messageSize(m)))
	dst = appendField(dst, fieldPayload, m.Payload)
	dst = appendField(dst, fieldKey, m.Key)
	for i := range m.Headers {
		h := &m.Headers[i]
		dst = binary.AppendUvarint(append(dst, fieldHeaders), uint64(headerSize(h)))
		dst = appendField(dst, fieldName, h.Name)
		dst = appendField(dst, fieldValue, h.Value)
	}
	return dst
}

// appendField writes a field unless it is empty, as proto3 does.
func appendField[T string | []byte](dst []byte, tag byte, value T) []byte {
	if len(value) == 0 {
		return dst
	}
	dst = binary.AppendUvarint(append(dst, tag), uint64(len(value)))
	return append(dst, value...)
}

// messageSize is how many bytes a message has in its own form.
func messageSize(m *hermes.Message) int {
	size := sizeOf(m.Payload) + sizeOf(m.Key)
	for i := range m.Headers {
		n := headerSize(&m.Headers[i])
		size += 1 + uvarintSize(n) + n
	}
	return size
}

func headerSize(h *hermes.Header) int { return sizeOf(h.Name) + sizeOf(h.Value) }

func sizeOf[T string | []byte](value T) int {
	if len(value) == 0 {
		return 0
	}
	return 1 + uvarintSize(len(value)) + len(value)
}

func uvarintSize(n int) int {
	size := 1
	for ; n >= 0x80; n >>= 7 {
		size++
	}
	return size
}

// ReadMessage reads one of Messages, which is not copied: payload, key and headers' values are parts of it. m's
// Headers are used again. InvalidArgument is whatever is no Message, and m is then not to be used. Bounds are
// Check's alone: a dead letter has more headers than a publisher may send.
func ReadMessage(message []byte, m *hermes.Message) error {
	m.Payload, m.Key, m.Headers = nil, nil, m.Headers[:0]
	for len(message) > 0 {
		tag, value, rest, ok := field(message)
		switch {
		case ok && tag == fieldPayload:
			m.Payload = value
		case ok && tag == fieldKey:
			m.Key = value
		case ok && tag == fieldHeaders:
			name, held, err := header(value, 0)
			if err != nil {
				return err
			}
			m.Headers = append(m.Headers, hermes.Header{Name: string(name), Value: held})
		default:
			return status.Errorf(status.InvalidArgument,
				"what was stored is no Message of hermes.proto: a field is cut off, unknown or of another type")
		}
		message = rest
	}
	return nil
}
