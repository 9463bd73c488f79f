// Package message is the form in which a log entry travels as JSON, in a queue's
// message and in POST /log: who writes it and who reads it say it here, once. It
// knows no path, no broker and no service.
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

// body is an entry as JSON has it.
type body struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Data string `json:"data"`
}

// Encode returns the body that carries an entry. One that is longer than
// [workqueue.BodyLimit] is InvalidArgument; the entry itself is not checked.
func Encode(entry logging.Entry) ([]byte, error) {
	var text written
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // < would be six bytes instead of one, for nobody's good
	if err := encoder.Encode(body(entry)); err != nil {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "the entry cannot be written as JSON")
	}
	text = text[:len(text)-1] // Encode's newline
	if len(text) > workqueue.BodyLimit {
		return nil, tooLong(len(text))
	}
	return text, nil
}

// published is an entry as the published pipeline has it in its queue.
type published struct {
	Name string `json:"name"`
	Data string `json:"data"`
}

// EncodePublished returns the body that the published pipeline puts into its
// queue: the name and the data, indented by tabs, with <, > and & escaped. The id
// is not in it. One that is longer than [workqueue.BodyLimit] is InvalidArgument.
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

// tooLong is what is told of an entry that a queue has no room for.
func tooLong(size int) error {
	return wirelab.Errorf(wirelab.InvalidArgument, "the entry is %d bytes as JSON; want at most %d", size,
		workqueue.BodyLimit)
}

// written keeps what is written, without bytes.Buffer's doubling.
type written []byte

// Write implements [io.Writer]. encoding/json writes once.
func (w *written) Write(p []byte) (int, error) {
	*w = append(*w, p...)
	return len(p), nil
}

// Decode reads the entry in a message: one JSON object of strings, whose id is
// the message's, or absent. What is not one is InvalidArgument, never an empty
// entry (ms-D05), and never another text than was sent. Unknown fields are let
// pass, as at the gateway.
func Decode(m workqueue.Message) (logging.Entry, error) {
	// The decoder would write U+FFFD for what is not UTF-8, and for half a
	// character, and so store something else than was sent.
	if !utf8.Valid(m.Body) {
		return logging.Entry{}, notEntry("it is not UTF-8")
	}
	var b *body // a body of null would pass for an empty entry otherwise
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
		// The logger would make another with each attempt, and store it twice.
		return logging.Entry{}, notEntry("it has no id")
	}
	entry := logging.Entry(*b)
	return entry, entry.Validate()
}

// notEntry is why a message holds no entry.
func notEntry(why string) error {
	return wirelab.Errorf(wirelab.InvalidArgument, "the message holds no log entry: %s", why)
}

// HalfCharacter reports whether a JSON text, known to be one, escapes half a
// character, which encoding/json would replace.
func HalfCharacter(text []byte) bool { return jsontext.Half(text) }
