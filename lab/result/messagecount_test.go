package result_test

import (
	"reflect"
	"testing"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
)

// A count that is missing from the table would not be added, shown or exported.
func TestMessageCounters(t *testing.T) {
	t.Parallel()
	of := reflect.TypeFor[result.MessageCounts]()
	all := result.MessageCounters()
	if len(all) != of.NumField() {
		t.Fatalf("%d counters of %d fields", len(all), of.NumField())
	}
	for i, c := range all {
		var counts result.MessageCounts
		*c.Of(&counts) = 7
		if name := of.Field(i).Tag.Get("json"); name != c.Name || reflect.ValueOf(counts).Field(i).Uint() != 7 {
			t.Errorf("counter %q stands where field %q is, or counts another", c.Name, name)
		}
		sum := counts
		sum.AddCounts(counts)
		if *c.Of(&sum) != 14 || sum.Faults() != map[bool]uint64{true: 14}[c.Fault != ""] {
			t.Errorf("%s: %d after 7 and 7, %d faults", c.Name, *c.Of(&sum), sum.Faults())
		}
	}
	for _, of := range []reflect.Type{reflect.TypeFor[result.Messages](), reflect.TypeFor[claim.MessageState]()} {
		if head := of.Field(0); !head.Anonymous || head.Type != reflect.TypeFor[result.MessageCounts]() {
			t.Errorf("%v does not begin with the counts: its JSON would have them elsewhere", of)
		}
	}
}
