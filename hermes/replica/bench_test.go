package replica_test

import (
	"testing"

	"wirelab/hermes"
	"wirelab/hermes/record"
)

// What three replicas cost together, with disks and a network that take no time:
// runs of 100 messages of 100 bytes.
func BenchmarkPropose(b *testing.B) {
	c := start(b, 3)
	n := c.elect(1)
	r := record.Run{Topic: 1, Count: 100}
	for range r.Count {
		r.Messages = record.AppendMessage(r.Messages, &hermes.Message{Payload: make([]byte, 100)})
	}
	run := record.AppendRun(nil, r)
	b.ResetTimer()
	for i := range b.N {
		n.Propose(run, 1, int64(i), false)
		if i%50 == 49 {
			c.settle()
			for _, one := range c.nodes { // the log is dropped as a busy node's would be
				one.verdicts, one.applied = nil, nil
				if err := one.storage.Compact(one.Droppable()); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	c.settle()
	b.ReportMetric(float64(b.N)*100/b.Elapsed().Seconds(), "messages/s")
}
