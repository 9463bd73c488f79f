package broker_test

import (
	"testing"

	"wirelab/broker"
)

// A cluster of one has "1 node", not "1 nodes".
func TestNodesName(t *testing.T) {
	t.Parallel()
	for members, want := range map[int]string{0: "Kafka, 0 brokers", 1: "Kafka, 1 broker", 3: "Kafka, 3 brokers"} {
		if got := broker.NodesName("Kafka", members, "broker"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
