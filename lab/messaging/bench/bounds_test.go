package bench_test

import (
	"strings"
	"testing"

	"wirelab"
	"wirelab/broker"
	"wirelab/lab/messaging/account"
	"wirelab/lab/plan"
	"wirelab/workload/messaging"
)

// Rooms that must not know each other have the same bounds: what a plan may ask for is
// what can be sent, followed and served.
func TestBoundsAgree(t *testing.T) {
	t.Parallel()
	for name, all := range map[string][]int{
		"least bytes of a message": {plan.MessageMin, account.StampSize},
		"most bytes of a message":  {plan.MessageMax, account.SizeLimit, broker.BodyLimit, messaging.BodyLimit},
		"messages of a batch":      {plan.BatchMax, broker.BatchLimit, messaging.BatchLimit},
		"bytes of a batch":         {plan.BatchBytesMax, broker.BatchBytes, messaging.BatchBytes},
		"groups of a topic":        {plan.GroupsMax, broker.GroupsLimit},
		"bytes of a name":          {broker.NameLimit, messaging.NameLimit},
	} {
		for _, n := range all[1:] {
			if n != all[0] {
				t.Errorf("%s: %v", name, all)
			}
		}
	}
	for name, all := range map[string][]string{
		"synced":     {plan.DurabilityFsync, string(broker.Synced)},
		"as shipped": {plan.DurabilityDefault, string(broker.VendorDefault)},
	} {
		if all[0] != all[1] {
			t.Errorf("durability %s: %q", name, all)
		}
	}
}

// The workload takes the names that brokers take.
func TestNamesAgree(t *testing.T) {
	t.Parallel()
	names := []string{
		"",
		strings.Repeat("n", broker.NameLimit),
		strings.Repeat("n", broker.NameLimit+1),
		"a b",
		"a.b",
		"aé",
		"a\x00",
	}
	for b := range 256 {
		names = append(names, string([]byte{byte(b)}), string([]byte{'a', byte(b), 'z'}))
	}
	for _, name := range names {
		sent := messaging.Message{Topic: name, Body: []byte("b")}.Validate()
		read := messaging.Reading{Topic: "t", Group: name, Count: 1}.Validate()
		for what, err := range map[string]error{
			"a broker's topic": broker.Topic{Name: name}.Validate(),
			"a broker's group": broker.Topic{Name: "t", Groups: []string{name}}.Validate(), "a reading": read,
		} {
			if (err == nil) != (sent == nil) || err != nil && wirelab.CodeOf(err) != wirelab.CodeOf(sent) {
				t.Errorf("%q: a message: %v; %s: %v", name, sent, what, err)
			}
		}
	}
}
