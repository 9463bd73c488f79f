package api_test

import (
	"fmt"
	"testing"

	"wirelab/wire/status"
)

// One who may have two groups and two producers takes no more of what all share, at any API of any node: one
// group more is refused, and one producer more costs him one of his own.
func TestSharesOfPools(t *testing.T) {
	c := newCluster(t)
	made := 0
	root := newGRPC(c, c.members[0], "root")
	c.everywhere(t, func(t *testing.T, at caller, name string) {
		topic := topic(t, at, "shares."+name, 0)
		once := func(producer string) (string, error) {
			reply, _, err := at.ask(want{call: "publish", runs: []run{{
				topic: topic, payloads: [][]byte{[]byte("m")},
				producer: number(producer), sequence: 1,
			}}})
			return reply, err
		}
		victim := ok(t, root, want{call: "producer"})
		if _, err := once(victim); err != nil {
			t.Fatal(err)
		}
		small := at.as("small")
		var group error
		until(t, "the cluster is raised, and a group is one too many", func() bool {
			made++
			s := small.subscribe(start{topic: topic, group: fmt.Sprint("g", made)})
			defer s.leave()
			until(t, "it is made, or refused", func() bool {
				if _, _, err := root.ask(want{call: "group", topic: topic, group: fmt.Sprint("g", made)}); err == nil {
					return true
				}
				_, group = s.next()
				return true
			})
			return group != nil
		})
		is(t, "a third group", group, status.ResourceExhausted)
		says(t, "a third group", group, "small has 2 groups; at most 2 are allowed")
		var own []string
		for range 4 {
			own = append(own, ok(t, small, want{call: "producer"}))
		}
		if _, err := once(own[1]); err == nil || status.CodeOf(err) != status.NotFound {
			t.Errorf("a producer beyond the share: %v", err)
		}
		for _, p := range own[2:] {
			if _, err := once(p); err != nil {
				t.Errorf("a producer of the share: %v", err)
			}
		}
		if reply, err := once(victim); err != nil || reply != "1 at 0 again" {
			t.Errorf("another's producer: %q, %v", reply, err)
		}
	})
}
