package workqueue_test

import (
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/broker/workqueue"
)

// Messages that violate the contract are refused before any broker sees them, so that every broker refuses the same
// ones.
func TestMessageValidate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		message workqueue.Message
		valid   bool
	}{
		"the shortest": {workqueue.Message{ID: "!", Body: []byte{0}}, true},
		"the longest": {workqueue.Message{
			ID:   strings.Repeat("~", 128),
			Body: make([]byte, workqueue.BodyLimit),
		}, true},
		"no id":                 {workqueue.Message{Body: []byte("x")}, false},
		"an id too long":        {workqueue.Message{ID: strings.Repeat("a", 129), Body: []byte("x")}, false},
		"a space, which trims":  {workqueue.Message{ID: "a ", Body: []byte("x")}, false},
		"a line's end":          {workqueue.Message{ID: "a\r\nb", Body: []byte("x")}, false},
		"NUL":                   {workqueue.Message{ID: "a\x00", Body: []byte("x")}, false},
		"DEL":                   {workqueue.Message{ID: "\x7f", Body: []byte("x")}, false},
		"not ASCII":             {workqueue.Message{ID: "é", Body: []byte("x")}, false},
		"no body":               {workqueue.Message{ID: "a"}, false},
		"a body a byte too big": {workqueue.Message{ID: "a", Body: make([]byte, workqueue.BodyLimit+1)}, false},
	} {
		check(t, name, workqueue.Check(c.message), c.valid)
	}
}

func TestOptionsValidate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options workqueue.Options
		valid   bool
	}{
		"a name alone": {workqueue.Options{Name: "log-entries_2"}, true},
		"the largest": {workqueue.Options{
			Name: strings.Repeat("q", 100), Kind: workqueue.Quorum,
			Prefetch: 65_535, Attempts: 1000, Retry: 24 * time.Hour, Buffer: 1 << 20,
		}, true},
		"no name":              {workqueue.Options{}, false},
		"a name too long":      {workqueue.Options{Name: strings.Repeat("q", 101)}, false},
		"a dot, NATS's own":    {workqueue.Options{Name: "a.b"}, false},
		"a star":               {workqueue.Options{Name: "a*"}, false},
		"an unknown kind":      {workqueue.Options{Name: "a", Kind: "topic"}, false},
		"less than no message": {workqueue.Options{Name: "a", Prefetch: -1}, false},
		"more than AMQP takes": {workqueue.Options{Name: "a", Prefetch: 65_536}, false},
		"less than no attempt": {workqueue.Options{Name: "a", Attempts: -1}, false},
		"less than no waiting": {workqueue.Options{Name: "a", Buffer: -1}, false},
		"a retry in the past":  {workqueue.Options{Name: "a", Retry: -time.Second}, false},
		"a retry for ever":     {workqueue.Options{Name: "a", Retry: 25 * time.Hour}, false},
	} {
		check(t, name, c.options.Complete().Validate(), c.valid)
	}
}

func check(t *testing.T, name string, err error, valid bool) {
	t.Helper()
	switch {
	case valid && err != nil:
		t.Errorf("%s: %v", name, err)
	case !valid && err == nil:
		t.Errorf("%s: is taken", name)
	case !valid && wirelab.CodeOf(err) != wirelab.InvalidArgument:
		t.Errorf("%s: %v, want invalid_argument", name, err)
	}
}

// TestComplete checks that the defaults are those that the comments of the fields name, and that other values are
// kept.
func TestComplete(t *testing.T) {
	t.Parallel()
	want := workqueue.Options{Name: "a", Prefetch: 512, Attempts: 5, Retry: 200 * time.Millisecond, Buffer: 1024}
	if got := (workqueue.Options{Name: "a"}).Complete(); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	said := workqueue.Options{
		Name:       "a",
		Kind:       workqueue.Classic,
		Confirms:   true,
		Persistent: true,
		Prefetch:   1,
		Attempts:   1,
		Retry:      time.Second,
		Buffer:     1,
	}
	if got := said.Complete(); got != said {
		t.Errorf("got %+v, want %+v", got, said)
	}
}
