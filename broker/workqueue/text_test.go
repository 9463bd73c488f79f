package workqueue_test

import (
	"strings"
	"testing"

	"wirelab"
	"wirelab/broker/workqueue"
)

func TestParseOptions(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]workqueue.Options{
		"":                              {Confirms: true, Persistent: true},
		"quorum":                        {Confirms: true, Persistent: true, Kind: workqueue.Quorum},
		"classic+unconfirmed+transient": {Kind: workqueue.Classic},
		"prefetch-1+stream":             {Confirms: true, Persistent: true, Kind: workqueue.Stream, Prefetch: 1},
	} {
		if got, err := workqueue.ParseOptions(text); err != nil || got != want {
			t.Errorf("%q is %+v, %v; want %+v", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"qourum":              "unknown word",
		"quorum+classic":      "twice",
		"transient+transient": "twice",
		"prefetch-0":          "1 to",
		"prefetch-x":          "1 to",
		"prefetch":            "unknown word",
		"+":                   "unknown word",
	} {
		if _, err := workqueue.ParseOptions(
			text,
		); wirelab.CodeOf(err) != wirelab.InvalidArgument ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// FuzzParseOptions checks that any text gives either valid options or InvalidArgument.
func FuzzParseOptions(f *testing.F) {
	f.Add("quorum+unconfirmed+transient+prefetch-64")
	f.Add("prefetch-99999999999999999999+")
	f.Add(strings.Repeat("\xff", 5000))
	f.Fuzz(func(t *testing.T, text string) {
		o, err := workqueue.ParseOptions(text)
		if err != nil {
			if wirelab.CodeOf(err) != wirelab.InvalidArgument || len(err.Error()) > 2000 {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		o.Name = "q"
		if err := o.Complete().Validate(); err != nil {
			t.Errorf("%q is %+v: %v", text, o, err)
		}
	})
}
