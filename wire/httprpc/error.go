package httprpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"wirelab/wire/status"
)

// Statuses of the origin's RPC style that HTTP does not name. Its clients take
// any status outside their set for one of the infrastructure between, and do
// not look for a message in it.
const (
	statusClientError   = 452
	statusRequestFailed = 453
	statusTransport     = 512
	statusContent       = 513
)

// statuses is the error table of every HTTP wire: the status each code travels as. Read backwards (first match)
// it only serves replies that do not name their code, which are someone else's.
var statuses = [...]int{
	status.Internal:          http.StatusInternalServerError,
	status.InvalidArgument:   http.StatusBadRequest,
	status.NotFound:          http.StatusNotFound,
	status.Conflict:          http.StatusConflict,
	status.PermissionDenied:  http.StatusForbidden,
	status.Unauthenticated:   http.StatusUnauthorized,
	status.ResourceExhausted: http.StatusTooManyRequests,
	status.DeadlineExceeded:  statusRequestFailed,
	status.Canceled:          statusClientError,
	// Outside the origin's set on purpose: going away is what its clients
	// mean by infrastructure, and the one failure they may try again.
	status.Unavailable:   http.StatusServiceUnavailable,
	status.Unimplemented: http.StatusNotImplemented,
}

// statusOf is the status a code travels as.
func statusOf(code status.Code) int {
	if int(code) < len(statuses) {
		return statuses[code]
	}
	return http.StatusInternalServerError
}

// CodeOf is the code of a reply that names none, by its status alone.
func CodeOf(httpStatus int) status.Code { return codeOfStatus(httpStatus) }

// codeOfStatus guesses the code of a reply that names none.
func codeOfStatus(httpStatus int) status.Code {
	for code, s := range statuses {
		if s == httpStatus {
			return status.Code(code)
		}
	}
	switch httpStatus {
	case http.StatusMethodNotAllowed:
		return status.Unimplemented
	case http.StatusRequestEntityTooLarge:
		return status.ResourceExhausted
	case http.StatusNotAcceptable, http.StatusUnsupportedMediaType, statusContent:
		return status.InvalidArgument
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return status.DeadlineExceeded
	case http.StatusBadGateway, statusTransport:
		return status.Unavailable
	}
	return status.Internal
}

// refusal is a failure that HTTP has its own status for.
type refusal struct {
	status int
	told   error // always a *status.Error
}

func (r *refusal) Error() string { return r.told.Error() }

// Unwrap makes a refusal what it tells for CodeOf and Public.
func (r *refusal) Unwrap() error { return r.told }

func refuse(httpStatus int, code status.Code, format string, args ...any) error {
	return &refusal{status: httpStatus, told: status.Errorf(code, format, args...)}
}

// detailCode is the key in details under which a code travels by name.
const detailCode = "wirelab.code"

// errorBody is the body of a failed call, and the value of an error line.
type errorBody struct {
	Error   bool              `json:"error,omitempty"` // see [Handler.Enveloped]; in JSON alone
	Code    int               `json:"code"`            // the HTTP status
	Message string            `json:"message"`
	Details map[string]string `json:"details,omitempty"`
}

// bodyOf is what the peer receives of err. The message is made valid UTF-8, which both encodings demand.
func bodyOf(err error) errorBody {
	public := status.Public(err)
	httpStatus := statusOf(public.Code)
	var refused *refusal
	if errors.As(err, &refused) {
		httpStatus = refused.status
	}
	return errorBody{
		Code:    httpStatus,
		Message: strings.ToValidUTF8(public.Message, "\uFFFD"),
		Details: map[string]string{detailCode: public.Code.String()},
	}
}

// encode renders the body. In protobuf it is the message {int32 code = 1;
// string message = 2; map<string,string> details = 3}, written by hand: a
// generated type would be registered under the origin's name, and a process
// that also links the origin's client would not start. For Avro see avro.go.
func (b errorBody) encode(e Encoding) []byte {
	switch e {
	case Proto:
		return b.encodeProto()
	case Avro:
		return b.encodeAvro()
	}
	data, err := json.Marshal(b)
	if err != nil {
		panic("httprpc: " + err.Error()) // strings and an int always marshal
	}
	return data
}

func (b errorBody) encodeProto() []byte {
	data := protowire.AppendTag(nil, 1, protowire.VarintType)
	data = protowire.AppendVarint(data, uint64(b.Code))
	data = protowire.AppendTag(data, 2, protowire.BytesType)
	data = protowire.AppendString(data, b.Message)
	for key, value := range b.Details {
		entry := protowire.AppendTag(nil, 1, protowire.BytesType)
		entry = protowire.AppendString(entry, key)
		entry = protowire.AppendTag(entry, 2, protowire.BytesType)
		entry = protowire.AppendString(entry, value)
		data = protowire.AppendTag(data, 3, protowire.BytesType)
		data = protowire.AppendBytes(data, entry)
	}
	return data
}

// err returns the error that a body describes, which came with status.
func (b errorBody) err(httpStatus int) error {
	code, ok := status.ParseCode(b.Details[detailCode])
	if !ok {
		code = codeOfStatus(httpStatus)
	}
	return &status.Error{Code: code, Message: b.Message}
}

// decodeError reads the body of a failed call. A body that is not ours is
// quoted, shortened, in the message.
func decodeError(httpStatus int, mediaType string, data []byte) error {
	var body errorBody
	var err error
	switch encoding, _ := encodingOf(mediaType); encoding {
	case JSON:
		// Code is left out: later versions of the origin write it as text,
		// and the status tells the same.
		var read struct {
			Message *string           `json:"message"`
			Details map[string]string `json:"details"`
		}
		if err = json.Unmarshal(data, &read); err == nil && read.Message == nil && read.Details == nil {
			err = fmt.Errorf("no message in it")
		} else if err == nil {
			body.Details = read.Details
			if read.Message != nil {
				body.Message = *read.Message
			}
		}
	case Proto:
		body, err = decodeProtoError(data)
	case Avro:
		body, err = decodeAvroError(data)
	default:
		err = fmt.Errorf("content type %q", mediaType)
	}
	if err != nil {
		const quoted = 200 // bytes
		return status.Caused(status.StatusCause(httpStatus), codeOfStatus(httpStatus),
			"status %d without an error body: %.*q",
			httpStatus, quoted, data[:min(len(data), quoted)])
	}
	return body.err(httpStatus)
}

// decodeProtoError reads the protobuf form of an errorBody. Unknown fields are skipped.
func decodeProtoError(data []byte) (body errorBody, err error) {
	err = eachField(data, func(field protowire.Number, kind protowire.Type, value []byte) error {
		switch {
		case field == 2 && kind == protowire.BytesType:
			body.Message = string(value)
		case field == 3 && kind == protowire.BytesType:
			var entry [2]string
			err := eachField(value, func(field protowire.Number, kind protowire.Type, value []byte) error {
				if (field == 1 || field == 2) && kind == protowire.BytesType {
					entry[field-1] = string(value)
				}
				return nil
			})
			if err != nil {
				return err
			}
			if body.Details == nil {
				body.Details = map[string]string{}
			}
			body.Details[entry[0]] = entry[1]
		}
		return nil
	})
	return body, err
}

// eachField calls visit for every field of a protobuf message. value is the
// content of fields of BytesType and nil for the others.
func eachField(data []byte, visit func(protowire.Number, protowire.Type, []byte) error) error {
	for len(data) > 0 {
		field, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		var value []byte
		if kind == protowire.BytesType {
			value, n = protowire.ConsumeBytes(data)
		} else {
			n = protowire.ConsumeFieldValue(field, kind, data)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		data = data[n:]
		if err := visit(field, kind, value); err != nil {
			return err
		}
	}
	return nil
}

// EncodeError returns the error body for err, in JSON.
func EncodeError(err error) []byte { return bodyOf(err).encode(JSON) }

// DecodeError is the inverse of [EncodeError], for a body that did not come
// with a status.
func DecodeError(data []byte) error {
	return decodeError(http.StatusInternalServerError, MediaJSON, data)
}
