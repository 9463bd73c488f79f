package result

import (
	"slices"

	"wirelab/lab/result/words"
)

// Guarantee is how an arm that is a pipeline hands an entry on, and so what it
// means that a caller was told that all is well. The zero value is a pipeline
// without a broker, or none at all: what is told is the word of the one who stores.
type Guarantee struct {
	// Broker is the product that entries pass through, "RabbitMQ"; "" is none.
	Broker string `json:"broker,omitempty"`
	// Queue is the kind of its queue: "quorum", "classic" or "stream".
	Queue string `json:"queue,omitempty"`
	// Confirms tells whether a caller is answered only after the broker's word,
	// Persistent whether the broker is asked to write an entry to its file first.
	Confirms   bool `json:"confirms"`
	Persistent bool `json:"persistent"`
	// Sync is when the broker brings what it wrote to the disk by fsync.
	Sync Sync `json:"sync,omitempty"`
	// Alone tells that, of a cluster's nodes, one keeps an entry, and no other has a copy.
	Alone bool `json:"alone,omitempty"`
}

// Sync is a broker's policy of fsync.
type Sync string

// The policies. One that runs elsewhere was not asked for its own.
const (
	SyncFirst   Sync = "before it confirms"
	SyncLater   Sync = "after it confirms"
	SyncUnknown Sync = "not known"
)

// quorumQueue is the kind that is on disk whatever a publisher asks for.
const quorumQueue = "quorum"

// OnDisk reports whether the broker has an entry on disk before it confirms it.
func (h *Guarantee) OnDisk() bool {
	return h.Broker != "" && h.Sync == SyncFirst && (h.Persistent || h.Queue == quorumQueue)
}

// Durable reports whether an arm's caller is told that all is well only once the
// entry would outlive a power cut: with the broker on disk and confirmed, or
// stored in a database. False too where that was not recorded.
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

// DurableOf are those of arms that are [Result.Durable].
func (r *Result) DurableOf(arms []int) []int {
	return slices.DeleteFunc(slices.Clone(arms), func(a int) bool { return !r.Durable(a) })
}

// Early is what there is to know of a broker that acknowledges a message before a
// quorum has it on disk; "" of one that does not, and of what is no broker of
// messages. Its figures are of less than another's, so that no report may put it
// beside others without a mark.
func (r *Result) Early(arm int) string {
	if !r.Plan.Messaging() {
		return ""
	}
	return Early(r.Arm(arm))
}

// Early says of a broker that acknowledges before a message is durable that it does.
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
