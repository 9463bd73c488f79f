// Package message defines the JSON form of a log entry in a message of a queue
// and in POST /log, once for writers and readers. It knows no path, no broker and
// no service.
//
//	{"id": "…", "name": "…", "data": "…"}
package message

import (
	"encoding/json"
	"unicode/utf8"

	"wirelab"
	"wirelab/broker/workqueue"
	"wirelab/wire/jsontext"
	"wirelab/workload/logging"
)

// body is an entry in JSON.
type body struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Data string `json:"data"`
}

// Encode returns the body that carries an entry. A body longer than [workqueue.BodyLimit] is InvalidArgument. The
// entry itself is not validated.
func Encode(entry logging.Entry) ([]byte, error) {
	var text written
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // < would take six bytes instead of one, without need
	if err := encoder.Encode(body(entry)); err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "the entry cannot be written as JSON")
	}
	text = text[:len(text)-1] // Encode's newline
	if len(text) > workqueue.BodyLimit {
		return nil, tooLong(len(text))
	}
	return text, nil
}

// published is an entry in the format of the published pipeline's queue.
type published struct {
	Name string `json:"name"`
	Data string `json:"data"`
}

// EncodePublished returns the body that the published pipeline puts into its queue: name and data, indented by
// tabs, with <, > and & escaped. It does not contain the id. A body longer than [workqueue.BodyLimit] is
// InvalidArgument.
func EncodePublished(entry logging.Entry) ([]byte, error) {
	text, err := json.MarshalIndent(published{Name: entry.Name, Data: entry.Data}, "", "\t")
	if err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "the entry cannot be written as JSON")
	}
	if len(text) > workqueue.BodyLimit {
		return nil, tooLong(len(text))
	}
	return text, nil
}

// tooLong returns the error for an entry that is too long for a queue.
func tooLong(size int) error {
	return wirelab.Errorf(wirelab.InvalidArgument, "the entry is %d bytes as JSON; want at most %d", size,
		workqueue.BodyLimit)
}

// written collects the output, without the doubling of bytes.Buffer.
type written []byte

// Write implements [io.Writer]. encoding/json writes once.
func (w *written) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}

// Decode reads the entry in a message: one JSON object of strings, whose id equals that of the message or is
// absent. Anything else is InvalidArgument, and never an empty entry (ms-D05) or an altered text. Unknown fields
// are ignored, as by the gateway.
func Decode(m workqueue.Message) (logging.Entry, error) {
	// The decoder would replace invalid UTF-8 and halves of surrogate pairs by U+FFFD, and so store another text
	// than was sent.
	if !utf8.Valid(m.Body) {
		return logging.Entry{}, notEntry("it is not UTF-8")
	}
	var b *body // a pointer, since null would otherwise decode as an empty entry
	if err := json.Unmarshal(m.Body, &b); err != nil || b == nil {
		return logging.Entry{}, notEntry(`want one JSON object {"id","name","data"} of strings`)
	}
	if jsontext.Half(m.Body) {
		return logging.Entry{}, notEntry("it escapes half a character")
	}
	switch b.ID {
	case m.ID:
	case "":
		b.ID = m.ID
	default:
		return logging.Entry{}, notEntry("its id is not the message's")
	}
	if b.ID == "" {
		// The logger would assign a new id with each attempt, and store the entry twice.
		return logging.Entry{}, notEntry("it has no id")
	}
	entry := logging.Entry(*b)
	return entry, entry.Validate()
}

// notEntry returns the error for a message that holds no entry.
func notEntry(why string) error {
	return wirelab.Errorf(wirelab.InvalidArgument, "the message holds no log entry: %s", why)
}

// HalfCharacter reports whether a valid JSON text escapes half a surrogate pair, which encoding/json would replace.
func HalfCharacter(text []byte) bool { return jsontext.Half(text) }
