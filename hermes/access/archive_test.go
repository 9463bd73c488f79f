package access_test

import (
	"testing"

	"wirelab/hermes/access"
	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

// Reading everything needs the right to read and to manage it; restoring needs the right to publish.
func TestArchiveRights(t *testing.T) {
	p, all := policy(t, `principals:
  - {name: reader, tokens: [$reader], subscribe: ["*"]}
  - {name: maker, tokens: [$maker], admin: ["*"]}
  - {name: some, tokens: [$some], subscribe: ["a*"], admin: ["a*"], publish: ["a*"]}
  - {name: archivist, tokens: [$archivist], subscribe: ["*"], admin: ["*"]}
`)
	b := access.Wrap(memory(t, "abc", "other"), p)
	for _, c := range []struct {
		who    string
		topics []string
		code   status.Code
	}{
		{"reader", nil, status.PermissionDenied},
		{"reader", []string{"abc"}, status.PermissionDenied},
		{"maker", []string{"abc"}, status.PermissionDenied},
		{"some", nil, status.PermissionDenied},
		{"some", []string{"abc", "other"}, status.PermissionDenied},
		{"some", []string{"abc"}, 0},
		{"archivist", nil, 0},
	} {
		cut, err := b.Cut(all.as(t.Context(), c.who), c.topics)
		if c.code == 0 && err != nil || c.code != 0 && status.CodeOf(err) != c.code {
			t.Errorf("%s backs %q up: %v", c.who, c.topics, err)
		}
		if err == nil {
			if _, err := cut.Next(all.as(t.Context(), "reader"), 1); status.CodeOf(err) != status.PermissionDenied {
				t.Errorf("%s continues with another's: %v", c.who, err)
			}
			cut.Close()
		}
	}
	for who, topics := range map[string]map[string]bool{
		"archivist": {"new": false}, "maker": {"new": false}, "some": {"anew": true, "new": false},
	} {
		for topic, may := range topics {
			_, err := b.Restore(all.as(t.Context(), who),
				broker.Restore{ID: 1, Step: broker.StepBegin, Topic: broker.Topic{
					Name: topic,
				}})
			if may != (err == nil) || !may && status.CodeOf(err) != status.PermissionDenied {
				t.Errorf("%s restores %s: %v", who, topic, err)
			}
		}
	}
}
