package hermes_test

import (
	"strings"
	"testing"

	"wirelab/hermes"
	"wirelab/wire/status"
)

// Names that would mean two things somewhere are refused everywhere (hb-D27).
func TestNames(t *testing.T) {
	for _, good := range []string{"a", "orders", "A.b_c-9", hermes.DeadLetters, strings.Repeat("x", hermes.NameLimit)} {
		if err := hermes.CheckTopic(good); err != nil {
			t.Errorf("topic %.20q: %v", good, err)
		}
		if err := hermes.CheckGroup(good); err != nil {
			t.Errorf("group %.20q: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", ".a", "a b", "a\x00b", "a:b", "a/b", "ä", "a\xff", "*",
		strings.Repeat("x", hermes.NameLimit+1),
	} {
		for what, check := range map[string]func(string) error{"topic": hermes.CheckTopic, "group": hermes.CheckGroup} {
			err := check(bad)
			if err == nil || status.CodeOf(err) != status.InvalidArgument || !strings.Contains(err.Error(), what) {
				t.Errorf("%s %.20q: %v", what, bad, err)
			}
		}
	}
	if err := hermes.CheckTopic(hermes.Replay); err != nil {
		t.Errorf("a topic may have that name: %v", err)
	}
	if err := hermes.CheckGroup(hermes.Replay); err == nil || status.CodeOf(err) != status.InvalidArgument {
		t.Errorf("group %s: %v", hermes.Replay, err)
	}
}
