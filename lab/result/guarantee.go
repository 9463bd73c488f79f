package result

import (
	"slices"

	"wirelab/lab/result/words"
)

// Guarantee is a delivery guarantee: how an arm that is a pipeline hands an entry on, and so what a success
// guarantees to the caller. The zero value is a pipeline without a broker, or no pipeline: the success then comes from
// the service that stores the entry.
type Guarantee struct {
	// Broker is the product that entries pass through, such as "RabbitMQ"; "" is none.
	Broker string `json:"broker,omitempty"`
	// Queue is the kind of its queue: "quorum", "classic" or "stream".
	Queue string `json:"queue,omitempty"`
	// Confirms reports whether a caller gets a reply only after the broker's confirmation. Persistent reports whether
	// the broker is asked to write an entry to its file first.
	Confirms   bool `json:"confirms"`
	Persistent bool `json:"persistent"`
	// Sync says when the broker brings written data to disk by fsync.
	Sync Sync `json:"sync,omitempty"`
	// Alone reports that only one node of the cluster keeps an entry, without a copy on another.
	Alone bool `json:"alone,omitempty"`
}

// Sync is a broker's fsync policy.
type Sync string

// The policies. The policy of a broker that wirelab did not start is unknown.
const (
	SyncFirst   Sync = "before it confirms"
	SyncLater   Sync = "after it confirms"
	SyncUnknown Sync = "not known"
)

// quorumQueue is the kind of queue that is on disk whatever a publisher requests.
const quorumQueue = "quorum"

// OnDisk reports whether the broker has an entry on disk before it confirms it.
func (h *Guarantee) OnDisk() bool {
	return h.Broker != "" && h.Sync == SyncFirst && (h.Persistent || h.Queue == quorumQueue)
}

// Durable reports whether an arm's caller gets a success only when the entry would survive a power failure: confirmed
// by a broker that has it on disk, or stored in a database. It is false if this was not recorded.
func (r *Result) Durable(arm int) bool {
	if arm < 0 || arm >= len(r.Arms) {
		return false
	}
	switch a := &r.Arms[arm]; {
	case a.Guarantee == nil:
		return false
	case a.Guarantee.Broker == "":
		return a.Database != ""
	default:
		return a.Guarantee.Confirms && a.Guarantee.OnDisk()
	}
}

// DurableOf returns the arms that are [Result.Durable].
func (r *Result) DurableOf(arms []int) []int {
	return slices.DeleteFunc(slices.Clone(arms), func(a int) bool { return !r.Durable(a) })
}

// Early is what there is to know of a broker that acknowledges a message before a
// quorum has it on disk; "" of one that does not. Its figures are of less than another's, so that no report may put it
// next to others without a mark.
func Early(arm *Arm) string {
	if arm == nil || arm.Guarantee == nil {
		return "when its acknowledgements are durable is not known"
	}
	if arm.Guarantee.Confirms && arm.Guarantee.OnDisk() {
		return words.Choose(arm.Guarantee.Alone, "acknowledges when one node of several has a message on disk", "")
	}
	if arm.Guarantee.Sync == SyncUnknown {
		return "when its acknowledgements are durable is not known"
	}
	return "acknowledges before a message is on disk"
}
