package api_test

import (
	"strings"
	"testing"

	"wirelab/hermes/broker"
	pb "wirelab/hermes/gen"
	"wirelab/wire/status"
)

// What retention took is reported before the first message behind it, and once; and an offset beyond the end is out
// of range, at any API.
func TestGapsAreTold(t *testing.T) {
	c := newCluster(t)
	admin := pb.NewAdminClient(newGRPC(c, c.members[0], "root").conn)
	c.everywhere(t, func(t *testing.T, at caller, name string) {
		topic := "gap." + strings.ReplaceAll(name, " ", "-")
		// As one is of which retention took the first ten.
		if _, err := admin.CreateTopic(newGRPC(c, c.members[0], "root").context(), &pb.TopicConfig{
			Name:  topic,
			First: 10,
		}); err != nil {
			t.Fatal(err)
		}
		publish(t, at, topic, 10, 2)
		for from, gap := range map[string]broker.Range{
			"3": {First: 3, Last: 9}, "0": {First: 0, Last: 9}, "10": {},
			"oldest": {},
		} {
			s := at.subscribe(start{topic: topic, from: from})
			all := reads(t, s, 10, 11)
			if all[0].gap != gap || all[1].gap != (broker.Range{}) {
				t.Errorf("from %s: gaps %v and %v, want %v once", from, all[0].gap, all[1].gap, gap)
			}
			s.leave()
		}
		s := at.subscribe(start{topic: topic, from: "13"})
		_, err := s.next()
		is(t, "beyond the end", err, status.InvalidArgument)
		says(t, "beyond the end", err, "out_of_range .*offset 13 is out of range: topic "+topic+" has none from 12 on")
	})
}
