package access_test

import (
	"testing"

	"wirelab"
	"wirelab/hermes/access"
	"wirelab/hermes/broker"
)

// Whoever reads everything must be allowed to read and to manage it; whoever brings it back, to publish.
func TestArchiveRights(t *testing.T) {
	p, all := policy(t, `principals:
  - {name: reader, tokens: [$reader], subscribe: ["*"]}
  - {name: maker, tokens: [$maker], admin: ["*"]}
  - {name: some, tokens: [$some], subscribe: ["a*"], admin: ["a*"], publish: ["a*"]}
  - {name: keeper, tokens: [$keeper], subscribe: ["*"], admin: ["*"]}
`)
	b := access.Wrap(memory(t, "abc", "other"), p)
	for _, c := range []struct {
		who    string
		topics []string
		code   wirelab.Code
	}{
		{"reader", nil, wirelab.PermissionDenied},
		{"reader", []string{"abc"}, wirelab.PermissionDenied},
		{"maker", []string{"abc"}, wirelab.PermissionDenied},
		{"some", nil, wirelab.PermissionDenied},
		{"some", []string{"abc", "other"}, wirelab.PermissionDenied},
		{"some", []string{"abc"}, 0},
		{"keeper", nil, 0},
	} {
		cut, err := b.Cut(all.as(t.Context(), c.who), c.topics)
		if c.code == 0 && err != nil || c.code != 0 && wirelab.CodeOf(err) != c.code {
			t.Errorf("%s backs %q up: %v", c.who, c.topics, err)
		}
		if err == nil {
			if _, err := cut.Next(all.as(t.Context(), "reader"), 1); wirelab.CodeOf(err) != wirelab.PermissionDenied {
				t.Errorf("%s goes on with another's: %v", c.who, err)
			}
			cut.Close()
		}
	}
	for who, topics := range map[string]map[string]bool{
		"keeper": {"new": false}, "maker": {"new": false}, "some": {"anew": true, "new": false},
	} {
		for topic, may := range topics {
			_, err := b.Restore(all.as(t.Context(), who), broker.Restore{ID: 1, Step: broker.StepBegin, Topic: broker.Topic{Name: topic}})
			if may != (err == nil) || !may && wirelab.CodeOf(err) != wirelab.PermissionDenied {
				t.Errorf("%s restores %s: %v", who, topic, err)
			}
		}
	}
}
