package cluster

import (
	"testing"

	"wirelab/broker"
	"wirelab/broker/drivers"
	"wirelab/lab/result"
)

// A report shows the promise of an acknowledgement next to the figures.
func TestGuarantees(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		options Options
		about   string
		sync    result.Sync
		alone   bool
	}{
		{Options{Kind: drivers.Hermes, Nodes: 3}, "Hermes, 3 nodes", result.SyncFirst, false},
		{Options{Kind: drivers.Hermes, Nodes: 3, Variant: "eventual"}, "Hermes, 3 nodes", result.SyncLater, false},
		{
			Options{Kind: drivers.NATS, Nodes: 3, Durability: broker.Synced},
			"NATS JetStream 2.15.2", result.SyncFirst,
			false,
		},
		{
			Options{Kind: drivers.NATS, Nodes: 3, Durability: broker.VendorDefault},
			"NATS JetStream 2.15.2",
			result.SyncLater, false,
		},
		{Options{Kind: drivers.RabbitMQ, Nodes: 3}, "RabbitMQ 4.1.0", result.SyncFirst, false},
		{
			Options{Kind: drivers.RabbitMQ, Nodes: 3, Variant: string(broker.Classic)},
			"RabbitMQ 3.10.8",
			result.SyncFirst, true,
		},
		{
			Options{Kind: drivers.RabbitMQ, Nodes: 1, Variant: string(broker.Classic)},
			"RabbitMQ 3.10.8",
			result.SyncFirst, false,
		},
		{
			Options{Kind: drivers.RabbitMQ, Nodes: 1, Variant: string(broker.Classic)},
			"RabbitMQ 4.1.0", result.SyncLater,
			false,
		},
	} {
		if h := guaranteeOf(c.options, c.about); h.Sync != c.sync || h.Alone != c.alone || h.Queue == "" {
			t.Errorf("%+v of %s promises %+v", c.options, c.about, h)
		}
	}
}
