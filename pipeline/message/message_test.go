package message_test

import (
	"strings"
	"testing"

	"wirelab"
	"wirelab/broker/workqueue"
	"wirelab/pipeline/message"
	"wirelab/workload/logging"
)

func of(id, text string) workqueue.Message { return workqueue.Message{ID: id, Body: []byte(text)} }

// Nothing but an entry is an entry: neither an empty record is stored for what
// cannot be read nor a name dropped without a word (ms-D05), and nothing is
// stored that was not sent.
func TestDecode(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", logging.NameLimit+1)
	cases := []struct {
		why     string
		message workqueue.Message
		want    logging.Entry // none: InvalidArgument
	}{
		{"an entry", of("a", `{"id":"a","name":"n","data":"d"}`), logging.Entry{ID: "a", Name: "n", Data: "d"}},
		{"its id is the message's", of("a", `{"name":"n","data":"d"}`), logging.Entry{ID: "a", Name: "n", Data: "d"}},
		{"no data", of("a", `{"id":"a","name":"n"}`), logging.Entry{ID: "a", Name: "n"}},
		{
			"the name that the origin dropped", of("a", `{"id":"a","name":"auth","data":"d"}`),
			logging.Entry{ID: "a", Name: "auth", Data: "d"},
		},
		{"more than we know", of("a", `{"id":"a","name":"n","level":3}`), logging.Entry{ID: "a", Name: "n"}},
		{"space around", of("a", " {\"name\":\"n\"}\n"), logging.Entry{ID: "a", Name: "n"}},
		{
			"a whole character, escaped", of("a", `{"name":"\uD83D\ude00\\ud800"}`),
			logging.Entry{ID: "a", Name: "😀\\ud800"},
		},
		{"a name twice: the last counts", of("a", `{"name":"m","name":"n"}`), logging.Entry{ID: "a", Name: "n"}},
		{"no JSON", of("a", "name=n"), logging.Entry{}},
		{"nothing", of("a", ""), logging.Entry{}},
		{"null", of("a", "null"), logging.Entry{}},
		{"a list", of("a", `[{"name":"n"}]`), logging.Entry{}},
		{"two values", of("a", `{"name":"n"}{"name":"m"}`), logging.Entry{}},
		{"half a value", of("a", `{"name":"n"`), logging.Entry{}},
		{"a mark before it", of("a", "\xef\xbb\xbf"+`{"name":"n"}`), logging.Entry{}},
		{"a number for a name", of("a", `{"name":1}`), logging.Entry{}},
		{"another id", of("a", `{"id":"b","name":"n"}`), logging.Entry{}},
		{"no id anywhere", of("", `{"name":"n"}`), logging.Entry{}},
		{"an id that is none", of("a b", `{"name":"n"}`), logging.Entry{}},
		{"no name", of("a", `{"id":"a","data":"d"}`), logging.Entry{}},
		{"too long a name", of("a", `{"name":"`+long+`"}`), logging.Entry{}},
		{"NUL", of("a", `{"name":"n","data":"a\u0000b"}`), logging.Entry{}},
		{"not UTF-8", of("a", "{\"name\":\"n\",\"data\":\"\xff\"}"), logging.Entry{}},
		{"half a character", of("a", `{"name":"n\ud800"}`), logging.Entry{}},
		{"half a character in an ignored field", of("a", `{"name":"n","x":"\udc00\ud800"}`), logging.Entry{}},
		{
			"nested too deep", of("a", `{"name":"n","x":`+strings.Repeat("[", 20_000)+strings.Repeat("]", 20_000)+`}`),
			logging.Entry{},
		},
	}
	for _, c := range cases {
		entry, err := message.Decode(c.message)
		switch {
		case c.want != logging.Entry{}:
			if err != nil || entry != c.want {
				t.Errorf("%s: %+v, %v, want %+v", c.why, entry, err, c.want)
			}
		case err == nil || wirelab.CodeOf(err) != wirelab.InvalidArgument:
			t.Errorf("%s: %+v, %v, want InvalidArgument", c.why, entry, err)
		}
	}
}

// TestEncode checks that an entry is written as short as JSON allows, and that one that becomes too long is
// refused.
func TestEncode(t *testing.T) {
	t.Parallel()
	text, err := message.Encode(logging.Entry{ID: "i", Name: "<n>", Data: "&\u2028"})
	if err != nil || string(text) != `{"id":"i","name":"<n>","data":"&\u2028"}` {
		t.Errorf("%s, %v", text, err)
	}
	fits := logging.Entry{ID: "i", Name: "n", Data: strings.Repeat("\"", logging.DataLimit-30)}
	if text, err := message.Encode(fits); err != nil || len(text) > workqueue.BodyLimit {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	_, err = message.Encode(logging.Entry{ID: "i", Name: "n", Data: strings.Repeat("\"", logging.DataLimit)})
	if err == nil || wirelab.CodeOf(err) != wirelab.InvalidArgument {
		t.Errorf("too long: %v", err)
	}
}

// Whatever is in a message is a valid entry or InvalidArgument, and an entry
// comes back as it was.
func FuzzDecode(f *testing.F) {
	f.Add("a", []byte(`{"id":"a","name":"n","data":"d"}`))
	f.Add("a", []byte(`{"name":"\ud800"}`))
	f.Add("a", []byte(`{"name":"\ud83d\ude00","\\":"\u0001"}`))
	f.Add("", []byte("[[[["))
	f.Fuzz(func(t *testing.T, id string, text []byte) {
		entry, err := message.Decode(workqueue.Message{ID: id, Body: text})
		if err != nil {
			if wirelab.CodeOf(err) != wirelab.InvalidArgument {
				t.Errorf("%v, want InvalidArgument", err)
			}
			return
		}
		if entry.ID != id || entry.Validate() != nil {
			t.Errorf("%q has id %q: %v", text, entry.ID, entry.Validate())
		}
		said := strings.ToLower(string(text))
		if strings.ContainsRune(entry.Name+entry.Data, '\uFFFD') && !strings.ContainsRune(said, '\uFFFD') &&
			!strings.Contains(said, `\ufffd`) {
			t.Errorf("%q became %+v", text, entry)
		}
		again, err := message.Encode(entry)
		if err != nil {
			return // too long, once its text is escaped
		}
		if back, err := message.Decode(workqueue.Message{ID: id, Body: again}); err != nil || back != entry {
			t.Errorf("%+v came back as %+v, %v", entry, back, err)
		}
	})
}

// The published body is to the byte what the published services put into their queue.
func TestEncodePublished(t *testing.T) {
	t.Parallel()
	const want = "{\n\t\"name\": \"event\",\n\t\"data\": \"some \\u003ckind\\u003e of data\"\n}"
	body, err := message.EncodePublished(logging.Entry{ID: "an-id", Name: "event", Data: "some <kind> of data"})
	if err != nil || string(body) != want {
		t.Errorf("%s, %v", body, err)
	}
	entry, err := message.Decode(workqueue.Message{ID: "an-id", Body: body})
	if want := (logging.Entry{ID: "an-id", Name: "event", Data: "some <kind> of data"}); err != nil || entry != want {
		t.Errorf("%+v, %v", entry, err)
	}
	long := logging.Entry{Name: "event", Data: strings.Repeat("<", workqueue.BodyLimit/3)}
	if _, err := message.EncodePublished(long); wirelab.CodeOf(err) != wirelab.InvalidArgument {
		t.Errorf("too long: %v", err)
	}
}
