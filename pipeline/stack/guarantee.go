package stack

import (
	"cmp"

	"wirelab/broker/kinds"
	"wirelab/broker/workqueue"
	"wirelab/lab/result"
)

// GuaranteeOf is how a path through one of brokers hands an entry on; through
// none of them, where the list is empty. Of several the first counts.
func GuaranteeOf(brokers []Broker) *result.Guarantee {
	if len(brokers) == 0 {
		return &result.Guarantee{}
	}
	b := brokers[0]
	h := &result.Guarantee{
		Confirms: b.Queue.Confirms, Persistent: b.Queue.Persistent,
		// All servers, as planBroker starts them, have what they confirm on disk:
		// RabbitMQ and Hermes always so, NATS since SyncEvery is left at 0.
		Sync: result.SyncFirst,
	}
	if kind, err := kinds.Find(b.Kind); err == nil {
		h.Broker, h.Queue = kind.Product, string(cmp.Or(b.Queue.Kind, kind.Queues[0]))
	}
	if b.PublishedTopology {
		h.Queue, h.Confirms, h.Persistent = string(workqueue.Classic), false, false
	}
	if b.URL != "" {
		h.Sync = result.SyncUnknown
	}
	return h
}
