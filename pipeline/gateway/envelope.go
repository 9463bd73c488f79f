package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"wirelab"
	"wirelab/pipeline/message"
	"wirelab/pipeline/path"
	"wirelab/workload/logging"
)

// BodyLimit is the maximum length of a request body in bytes, as in the published service.
const BodyLimit = 1 << 20

// bodyClaim is how many bytes are allocated in advance on the word of Content-Length alone.
const bodyClaim = 16 << 10

// actionLog is the only known action.
const actionLog = "log"

// request is the body of a POST: ms-F12. Unknown fields are ignored.
type request struct {
	Action string `json:"action"`
	Log    struct {
		ID   string `json:"id"`
		Name string `json:"name"`
		Data string `json:"data"`
	} `json:"log"`
}

// readEntry reads the entry of a request. dispatch says whether the action is required. Every fault of the request
// is InvalidArgument.
func readEntry(w http.ResponseWriter, r *http.Request, dispatch bool) (logging.Entry, error) {
	if err := checkType(r.Header); err != nil {
		return logging.Entry{}, err
	}
	body, err := readBody(w, r)
	if err != nil {
		return logging.Entry{}, err
	}
	return decode(body, dispatch)
}

// checkType accepts JSON, and requests without a content type, as the published service did. It rejects form
// encodings, which any web page can make a browser send.
func checkType(header http.Header) error {
	if encoding := header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return wirelab.Errorf(wirelab.InvalidArgument,
			"content encoding %.32q is not supported; send the body without encoding", encoding)
	}
	said := header.Values("Content-Type")
	if len(said) == 0 || len(said) == 1 && (said[0] == "application/json" || said[0] == "") {
		return nil
	}
	media, parameters, err := mime.ParseMediaType(said[0])
	charset := parameters["charset"]
	if err != nil || len(said) > 1 || media != "application/json" ||
		charset != "" && !strings.EqualFold(charset, "utf-8") {
		return wirelab.Errorf(wirelab.InvalidArgument, "content type %.64q; want application/json, or none",
			strings.Join(said, ", "))
	}
	return nil
}

// readBody reads a body to its end. If the body is too long, the connection is closed after the reply, as in
// net/http, because the rest is never read.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	limited := http.MaxBytesReader(w, r.Body, BodyLimit)
	var body bytes.Buffer
	if r.ContentLength > 0 {
		// Content-Length is only a claim, so the allocation made for it is bounded. bytes.Buffer needs MinRead
		// bytes beyond the end to detect the end.
		body.Grow(int(min(r.ContentLength, bodyClaim)) + bytes.MinRead)
	}
	_, err := body.ReadFrom(limited)
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "the body is longer than %d bytes", BodyLimit)
	case err != nil:
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "the body did not arrive whole")
	}
	return body.Bytes(), nil
}

// decode reads the single JSON value of a body as an entry and validates it.
func decode(body []byte, dispatch bool) (logging.Entry, error) {
	if !utf8.Valid(body) {
		return logging.Entry{}, wirelab.Errorf(wirelab.InvalidArgument, "the body is not UTF-8")
	}
	asked, read := plain(body)
	if !read {
		var err error
		if asked, err = unmarshal(body); err != nil {
			return logging.Entry{}, err
		}
	}
	if asked.Action != actionLog && (dispatch || asked.Action != "") {
		return logging.Entry{},
			wirelab.Errorf(wirelab.InvalidArgument, "unknown action %.64q; known: %q", asked.Action, actionLog)
	}
	entry := logging.Entry(asked.Log)
	return entry, path.Check(entry)
}

// unmarshal reads a request as encoding/json does.
func unmarshal(body []byte) (asked request, err error) {
	if err := json.Unmarshal(body, &asked); err != nil {
		return asked, wirelab.Errorf(wirelab.InvalidArgument, "%s", mistake(body, err))
	}
	if message.HalfCharacter(body) {
		return asked, wirelab.Errorf(wirelab.InvalidArgument,
			"the body escapes half a character: a surrogate without its other half")
	}
	return asked, nil
}

// mistake describes why a body is not one JSON value of the right form. The messages of encoding/json name types of
// this source, so they are not shown to callers.
func mistake(body []byte, err error) string {
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		if kind.Field == "" {
			return "the body is a JSON " + kind.Value + "; want an object"
		}
		want := "text"
		if kind.Field == "log" {
			want = "an object"
		}
		return "field " + kind.Field + " is a JSON " + kind.Value + "; want " + want
	}
	if len(bytes.TrimSpace(body)) == 0 {
		return "the body is empty; want one JSON value"
	}
	first := json.NewDecoder(bytes.NewReader(body))
	var value json.RawMessage
	switch first := first.Decode(&value); {
	case first == nil:
		return "the body holds more than one JSON value"
	case errors.Is(first, io.ErrUnexpectedEOF):
		return "the body ends within its JSON value"
	}
	return "the body is not JSON"
}
