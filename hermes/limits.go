package hermes

import "time"

// Bounds that hold on every API.
const (
	PayloadLimit    = 1 << 20 // bytes of a message's payload
	KeyLimit        = 1 << 10 // bytes of a message's key
	HeaderNameLimit = 128     // bytes of a header's name
	HeadersLimit    = 8 << 10 // bytes of a message's headers, names and values
	RunMessages     = 4096    // messages of one run: one topic's part of a batch or frame
	RunLimit        = 4 << 20 // bytes of one run
	NameLimit       = 249     // bytes of a topic's or a group's name
	TopicsLimit     = 100_000
	GroupsLimit     = 100_000 // over all topics
	ProducersLimit  = 100_000 // the one silent for longest goes first
	// ProducerRuns is how many of a producer's last runs on a topic are known again.
	ProducerRuns = 64
	// GroupRanges is how many separate acknowledged ranges a group may have above its
	// floor; beyond it nothing further is delivered until the gap is dealt with.
	GroupRanges = 10_000
)

// Defaults of a group, and of a topic.
const (
	AckTimeout  = 30 * time.Second
	MaxAttempts = 5
	InFlight    = 1024 // messages with one member, unless it asks for fewer
)

// The topic that holds dead letters, and what makes a subscriber start at the
// oldest message and go on with the live ones: the origin's name for it.
const (
	DeadLetters = "hermes.dlq"
	Replay      = "__REPLAY__"
)
