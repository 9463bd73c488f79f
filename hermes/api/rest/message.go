package rest

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"wirelab/hermes"
	"wirelab/hermes/record"
	"wirelab/wire/status"
)

// messageJSON is a message as JSON has it: bytes are a text if they are UTF-8,
// else base64. At most one of the two is set.
type messageJSON struct {
	Payload       *string      `json:"payload"`
	PayloadBase64 *[]byte      `json:"payload_base64"`
	Key           *string      `json:"key"`
	KeyBase64     *[]byte      `json:"key_base64"`
	Headers       []headerJSON `json:"headers"`
}

type headerJSON struct {
	Name        string  `json:"name"`
	Value       *string `json:"value"`
	ValueBase64 *[]byte `json:"value_base64"`
}

// either returns the bytes of a text or of base64, of which one at most is there.
func either(name string, text *string, bytes *[]byte) ([]byte, error) {
	switch {
	case text != nil && bytes != nil:
		return nil, status.Errorf(status.InvalidArgument, "%s and %s_base64 are both given: give one", name, name)
	case text != nil:
		return []byte(*text), nil
	case bytes != nil:
		return *bytes, nil
	}
	return nil, nil
}

// message makes it one of the log's. A payload may be empty, but not absent.
func (m *messageJSON) message() (out hermes.Message, err error) {
	if m.Payload == nil && m.PayloadBase64 == nil {
		return out, status.Errorf(status.InvalidArgument, "payload is missing: give payload, or payload_base64")
	}
	if out.Payload, err = either("payload", m.Payload, m.PayloadBase64); err != nil {
		return out, err
	}
	if out.Key, err = either("key", m.Key, m.KeyBase64); err != nil {
		return out, err
	}
	for i := range m.Headers {
		h := &m.Headers[i]
		value, err := either("value", h.Value, h.ValueBase64)
		if err != nil {
			return out, err
		}
		out.Headers = append(out.Headers, hermes.Header{Name: h.Name, Value: value})
	}
	return out, nil
}

// messages makes them a run's.
func messages(all []messageJSON) ([]byte, error) {
	if len(all) > hermes.RunMessages {
		return nil, status.Errorf(status.InvalidArgument, "%d messages in one run; at most %d are allowed", len(all),
			hermes.RunMessages)
	}
	var run []byte
	for i := range all {
		m, err := all[i].message()
		if err != nil {
			return nil, status.Errorf(status.CodeOf(err), "message %d: %s", i, status.Public(err).Message)
		}
		run = record.AppendMessage(run, &m)
	}
	return run, nil
}

// The headers of a request whose body is a payload.
const (
	headerKey   = "Hermes-Key"    // percent-encoded
	headerNamed = "Hermes-Header" // name=value, both percent-encoded; may be repeated
)

// rawMessage is a run of one message whose payload is a body.
func rawMessage(h http.Header, payload []byte) ([]byte, error) {
	m := hermes.Message{Payload: payload}
	if text := h.Get(headerKey); text != "" {
		key, err := url.PathUnescape(text)
		if err != nil {
			return nil, status.Errorf(status.InvalidArgument, "header %s has a broken escape", headerKey)
		}
		m.Key = []byte(key)
	}
	for _, text := range h.Values(headerNamed) {
		name, value, ok := strings.Cut(text, "=")
		name, err := url.PathUnescape(name)
		if err == nil {
			value, err = url.PathUnescape(value)
		}
		if err != nil || !ok {
			return nil, status.Errorf(status.InvalidArgument, "header %s is %.64q; want name=value, percent-encoded",
				headerNamed, text)
		}
		m.Headers = append(m.Headers, hermes.Header{Name: name, Value: []byte(value)})
	}
	return record.AppendMessage(nil, &m), nil
}

// place is where a message is that goes to a subscriber.
type place struct {
	topic   string
	offset  uint64
	time    int64
	attempt uint32 // 0: in performance mode
}

// appendDelivered appends a message as JSON. Bytes are text if they are UTF-8
// and text is not refused, else base64 (hb-D28).
func appendDelivered(dst []byte, at *place, m *hermes.Message, base64Only bool) []byte {
	dst = append(dst, `{"topic":`...)
	dst = appendText(dst, at.topic)
	if at.attempt > 0 { // else it is in no log
		dst = append(dst, `,"offset":`...)
		dst = strconv.AppendUint(dst, at.offset, 10)
	}
	dst = append(dst, `,"time":"`...)
	dst = appendTime(dst, at.time)
	dst = append(dst, `","attempt":`...)
	dst = strconv.AppendUint(dst, uint64(at.attempt), 10)
	dst = appendBytes(dst, "payload", m.Payload, base64Only)
	if len(m.Key) > 0 {
		dst = appendBytes(dst, "key", m.Key, base64Only)
	}
	if len(m.Headers) > 0 {
		dst = append(dst, `,"headers":[`...)
		for i := range m.Headers {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(dst, `{"name":`...)
			dst = appendText(dst, m.Headers[i].Name)
			dst = appendBytes(dst, "value", m.Headers[i].Value, base64Only)
			dst = append(dst, '}')
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// appendBytes appends a field, with a comma before it.
func appendBytes(dst []byte, name string, value []byte, base64Only bool) []byte {
	dst = append(append(dst, ',', '"'), name...)
	if base64Only || !utf8.Valid(value) {
		dst = append(dst, `_base64":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, value)
		return append(dst, '"')
	}
	return appendText(append(dst, '"', ':'), value)
}

// appendText appends a JSON text. Whatever is no UTF-8 must not come here.
func appendText[T string | []byte](dst []byte, text T) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := range len(text) {
		b := text[i]
		if b >= ' ' && b != '"' && b != '\\' {
			continue
		}
		dst = append(dst, text[from:i]...)
		from = i + 1
		switch b {
		case '"', '\\':
			dst = append(dst, '\\', b)
		case '\n':
			dst = append(dst, '\\', 'n')
		case '\r':
			dst = append(dst, '\\', 'r')
		case '\t':
			dst = append(dst, '\\', 't')
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[b>>4], hex[b&15])
		}
	}
	dst = append(dst, text[from:]...)
	return append(dst, '"')
}

// appendTime appends Unix nanoseconds as of RFC 3339, in UTC.
func appendTime(dst []byte, at int64) []byte {
	return time.Unix(0, at).UTC().AppendFormat(dst, time.RFC3339Nano)
}

// timeText is appendTime as a text; of 0, which stands for none, it is "".
func timeText(at int64) string {
	if at == 0 {
		return ""
	}
	return string(appendTime(nil, at))
}
