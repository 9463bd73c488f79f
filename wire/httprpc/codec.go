package httprpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"wirelab/wire/endpoint"
	"wirelab/wire/jsontext"
)

// MessageLimit is the size in bytes above which no message is taken, in any
// encoding, by either side.
const MessageLimit = endpoint.MessageLimit

// Encoding is how a message becomes bytes.
type Encoding uint8

// The encodings.
const (
	JSON Encoding = iota + 1
	Proto
	Avro // binary, without its schema: both sides know it; the codec is made elsewhere

	encodingsEnd // one past the last
)

// String returns the encoding's name.
func (e Encoding) String() string {
	switch e {
	case Proto:
		return "Protocol Buffers"
	case Avro:
		return "Avro"
	}
	return "JSON"
}

// The media types of bodies.
const (
	MediaJSON   = "application/json"
	MediaProto  = "application/protobuf"
	MediaAvro   = "avro/binary"
	MediaNDJSON = "application/x-ndjson"
	MediaEvents = "text/event-stream"

	mediaProtoX = "application/x-protobuf" // an older name of MediaProto, still sent by many
	mediaAvroX  = "application/avro"       // what some send for MediaAvro; neither is registered
)

// mediaType is the name an encoding is asked for by.
func (e Encoding) mediaType() string {
	switch e {
	case Proto:
		return MediaProto
	case Avro:
		return MediaAvro
	}
	return MediaJSON
}

// bare strips parameters from a media type and lowers its case.
func bare(mediaType string) string {
	if i := strings.IndexByte(mediaType, ';'); i >= 0 {
		mediaType = mediaType[:i]
	}
	return strings.ToLower(strings.TrimSpace(mediaType))
}

// encodingOf tells the encoding a media type names and its bare name. The
// encoding is 0 if it names none.
func encodingOf(mediaType string) (Encoding, string) {
	switch mediaType { // as our own clients write it, so without a copy
	case MediaJSON:
		return JSON, MediaJSON
	case MediaProto:
		return Proto, MediaProto
	case MediaAvro:
		return Avro, MediaAvro
	}
	switch name := bare(mediaType); name {
	case MediaJSON:
		return JSON, name
	case MediaProto, mediaProtoX:
		return Proto, name
	case MediaAvro, mediaAvroX:
		return Avro, name
	default:
		return 0, name
	}
}

// anything reports whether a bare media type is a wildcard that covers ours.
func anything(name string) bool { return name == "*/*" || name == "application/*" }

// wildcard returns the media type that a wildcard stands for: otherwise if it
// covers that, else the first offered that it covers.
func wildcard(name, otherwise string, offered offer) (string, bool) {
	kind, ok := strings.CutSuffix(name, "*")
	if !ok || (kind != "*/" && strings.Count(kind, "/") != 1) {
		return "", false
	}
	if kind == "*/" || strings.HasPrefix(otherwise, kind) {
		return otherwise, true
	}
	for e := JSON; e < encodingsEnd; e++ {
		if offered.has(e) && strings.HasPrefix(e.mediaType(), kind) {
			return e.mediaType(), true
		}
	}
	return "", false
}

// accepted chooses a reply's media type: the first of accept that is offered,
// or otherwise, which must be, where it is absent or a wildcard. Weights other
// than 0 are not weighed: a client that knows two encodings can read either.
func accepted(accept, otherwise string, offered offer) (name string, ok bool) {
	if accept == "" || accept == otherwise {
		return otherwise, true
	}
	for choice := range strings.SplitSeq(accept, ",") {
		if refusedByWeight(choice) {
			continue
		}
		encoding, name := encodingOf(choice)
		if offered.has(encoding) {
			return name, true
		}
		if name, ok := wildcard(name, otherwise, offered); ok {
			return name, true
		}
	}
	return "", false
}

// covers reports whether accept has mediaType or a wildcard for it.
func covers(accept, mediaType string) bool {
	if accept == mediaType {
		return true
	}
	kind, _, _ := strings.Cut(mediaType, "/")
	for choice := range strings.SplitSeq(accept, ",") {
		name := bare(choice)
		if (name == mediaType || name == "*/*" || name == kind+"/*") && !refusedByWeight(choice) {
			return true
		}
	}
	return false
}

// refusedByWeight reports whether a member of Accept carries the weight 0.
func refusedByWeight(choice string) bool {
	_, parameters, _ := strings.Cut(choice, ";")
	for p := range strings.SplitSeq(parameters, ";") {
		if q, ok := strings.CutPrefix(strings.ToLower(strings.TrimSpace(p)), "q="); ok {
			return strings.Trim(q, "0.") == ""
		}
	}
	return false
}

// Codec turns values of a domain type into bytes and back in one encoding. Make one with [JSONOf] or [ProtoOf];
// one of [Avro] is its Encoding, Encode and Decode, from anyone who knows the library.
type Codec[T any] struct {
	Encoding Encoding
	Encode   func(T) ([]byte, error)
	Decode   func([]byte) (T, error) // keeps no part of its argument

	// The line forms, set for JSON alone; see frame.
	encodeLine func(*json.Encoder, T) error
	decodeLine func([]byte) (frame[T], error)
}

// Forms is a type's codec in every encoding a server offers. One left zero is not offered: it is refused like
// an encoding the outcome is unknown.
type Forms[T any] struct{ JSON, Proto, Avro Codec[T] }

// offers tells which encodings there are.
func (f *Forms[T]) offers() offer {
	var o offer
	for e := JSON; e < encodingsEnd; e++ {
		if c := f.In(e); c.Encode != nil && c.Decode != nil {
			o |= 1 << e
		}
	}
	return o
}

// offer is a set of encodings.
type offer uint8

// everything is what failures can be told in.
const everything = offer(1<<JSON | 1<<Proto | 1<<Avro)

func (o offer) has(e Encoding) bool { return o&(1<<e) != 0 } // nothing has 0, the unknown one

// first is the encoding that comes first of those there are.
func (o offer) first() Encoding {
	for e := JSON; e < encodingsEnd; e++ {
		if o.has(e) {
			return e
		}
	}
	return JSON
}

// String lists the media types.
func (o offer) String() string {
	var names []string
	for e := JSON; e < encodingsEnd; e++ {
		if o.has(e) {
			names = append(names, e.mediaType())
		}
	}
	return strings.Join(names, ", ")
}

// In is the codec of an encoding, the zero value where there is none.
func (f *Forms[T]) In(e Encoding) *Codec[T] {
	switch e {
	case Proto:
		return &f.Proto
	case Avro:
		return &f.Avro
	}
	return &f.JSON
}

// errNotUTF8 is a JSON text that is none: encoding/json would replace the
// wrong bytes and so alter the message.
var errNotUTF8 = errors.New("not valid UTF-8")

// errHalf is a text that escapes half a character, which it would replace, too.
var errHalf = errors.New("half a character")

// decodeJSON reads one JSON value and nothing after it. Unknown names are
// ignored, so that a client may be newer than its server.
func decodeJSON(data []byte, into any) error {
	if !utf8.Valid(data) {
		return errNotUTF8
	}
	if err := json.Unmarshal(data, into); err != nil {
		return err
	}
	if jsontext.Half(data) {
		return errHalf
	}
	return nil
}

// JSONOf is the JSON codec of T through the transfer object D.
func JSONOf[T, D any](to func(T) D, from func(D) T) Codec[T] {
	return CheckedJSONOf(to, func(d D) (T, error) { return from(d), nil })
}

// CheckedJSONOf is [JSONOf] where an object can be none of T, as one with a
// text that is to be a time.
func CheckedJSONOf[T, D any](to func(T) D, from func(D) (T, error)) Codec[T] {
	return Codec[T]{
		Encoding: JSON,
		Encode:   func(v T) ([]byte, error) { return json.Marshal(to(v)) },
		Decode: func(data []byte) (v T, err error) {
			var d D
			if err := decodeJSON(data, &d); err != nil {
				return v, err
			}
			return from(d)
		},
		encodeLine: func(e *json.Encoder, v T) error {
			return e.Encode(resultLine[D]{to(v)})
		},
		decodeLine: func(data []byte) (f frame[T], err error) {
			var l anyLine[D]
			if err := decodeJSON(data, &l); err != nil {
				return f, err
			}
			switch {
			case l.Result != nil && l.Error == nil && !l.End:
				f.item, err = from(*l.Result)
			case l.Result == nil && l.Error != nil && !l.End:
				f.err = l.Error.err(l.Error.Code)
			case l.Result == nil && l.Error == nil && l.End:
				f.end = true
			default:
				return f, fmt.Errorf("a line is one of result, error and end")
			}
			return f, err
		},
	}
}

// ProtoOf is the protobuf codec of T through the message M.
func ProtoOf[T, M any, P interface {
	*M
	proto.Message
}](to func(T) P, from func(P) T,
) Codec[T] {
	return CheckedProtoOf(to, func(m P) (T, error) { return from(m), nil })
}

// CheckedProtoOf is [ProtoOf] where a message can be none of T, as one with a
// text that is to be a time.
func CheckedProtoOf[T, M any, P interface {
	*M
	proto.Message
}](to func(T) P, from func(P) (T, error),
) Codec[T] {
	return Codec[T]{
		Encoding: Proto,
		Encode:   func(v T) ([]byte, error) { return proto.Marshal(to(v)) },
		Decode: func(data []byte) (v T, err error) {
			m := P(new(M))
			if err := proto.Unmarshal(data, m); err != nil {
				return v, err
			}
			return from(m)
		},
	}
}
