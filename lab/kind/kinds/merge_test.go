package kinds_test

import (
	"reflect"
	"testing"

	"wirelab/lab/kind/kinds"
	"wirelab/lab/result"
	"wirelab/lab/stat"
)

// What a slice tells of its kind would be lost if no kind added it to the trial.
func TestEachParticularIsMerged(t *testing.T) {
	t.Parallel()
	more := result.Particulars{
		Streams:  &result.Streams{Jitter: stat.NewHistogram(), Missing: 2, Duplicated: 3},
		Followed: &result.Followed{ConfirmedAfter: stat.NewHistogram(), StoredAfter: stat.NewHistogram()},
		Messages: &result.Messages{MessageCounts: result.MessageCounts{Missing: 4, Duplicated: 5, Redelivered: 6}},
		Told:     &result.Told{},
		Steps:    []result.Step{{Name: "a"}},
	}
	var trial result.Trial
	for _, k := range kinds.All() {
		if k.Merge != nil {
			k.Merge(&trial, more)
		}
	}
	all := reflect.ValueOf(more)
	for i := range all.NumField() {
		name := all.Type().Field(i).Name
		if all.Field(i).IsNil() {
			t.Errorf("the test lacks %s", name)
		}
		if reflect.ValueOf(trial).FieldByName(name).IsNil() {
			t.Errorf("no kind adds %s to a trial", name)
		}
	}
	for name, c := range map[string]struct {
		trial          result.Trial
		missing, again uint64
		ok             bool
	}{
		"calls":    {result.Trial{}, 0, 0, false},
		"streams":  {result.Trial{Streams: trial.Streams}, 2, 3, true},
		"messages": {result.Trial{Messages: trial.Messages}, 4, 11, true},
		"entries":  {result.Trial{Followed: trial.Followed}, 0, 0, true},
	} {
		if missing, again, ok := kinds.Followed(&c.trial); missing != c.missing || again != c.again || ok != c.ok {
			t.Errorf("%s: %d missing, %d again, %v", name, missing, again, ok)
		}
	}
}
