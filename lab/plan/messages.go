package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"wirelab"
)

// The scenarios: what happens while messages are sent through a broker.
const (
	Live      = "live"      // each group reads from the beginning
	Slow      = "slow"      // each reader takes its time for a message
	Disk      = "disk"      // nobody reads until nothing is sent any more
	Late      = "late"      // readers come at half the time
	Crash     = "crash"     // at half the time the reader's process is killed, and another comes later
	Isolation = "isolation" // two topics, each read by a group of its own
	Fanout    = "fanout"    // many groups read the same topic
	Sustained = "sustained" // for as long as is wanted, watching memory and disk

	LeaderKill     = "leader-kill"     // the node that leads the topic is killed
	FollowerKill   = "follower-kill"   // one that does not
	Partition      = "partition"       // the leader's links to the others are cut, and mended
	Pause          = "pause"           // the leader is stopped by SIGSTOP, and goes on
	DiskFull       = "disk-full"       // the disk that all nodes share fills up, and is freed
	RollingRestart = "rolling-restart" // each node is stopped and started, one after the other
)

// Scenarios returns the scenarios in the order in which they are told.
func Scenarios() []string {
	return append([]string{Live, Slow, Disk, Late, Crash, Isolation, Fanout, Sustained}, Faults()...)
}

// Faults returns the scenarios in which something is done to the broker.
func Faults() []string {
	return []string{LeaderKill, FollowerKill, Partition, Pause, DiskFull, RollingRestart}
}

// The bounds of loads of messages: those of brokers, of their account and of the
// workload too, to which a test of lab/messaging/bench holds them.
const (
	MessageMin = 36 // bytes: what a message says of itself, so that it can be followed
	MessageMax = 1 << 20
	BatchMax   = 1000
	GroupsMax  = 64
	NodesMax   = 7 // of a cluster
	delayMin   = Duration(time.Microsecond)
	delayMax   = Duration(time.Second) // what a reader has ahead must be dealt with before a broker takes it for dead
	// sustainedMax is the longest slice of scenario sustained. What is over takes no memory
	// of the driver's; the brokers' disks are what it must fit on.
	sustainedMax  = Duration(24 * time.Hour)
	BatchBytesMax = 3 << 20 // bytes of a batch
	// behindMax is how long after a slice slow readers may have to read on: a driver waits
	// for them a little longer.
	behindMax = Duration(15 * time.Minute)
)

// The defaults of loads of messages.
const (
	defaultMessage       = 100 // bytes
	defaultBatch         = 100
	defaultFanout        = 4
	DefaultNodes         = 3
	defaultPublishers    = 60   // the published one
	defaultFaultRate     = 1000 // per second: what is steady shows how long nothing went
	defaultSustainedRate = 10_000
	defaultDelay         = Duration(2 * time.Millisecond) // the published one
	defaultSliceMessages = Duration(5 * time.Second)
	// RabbitMQ takes ten seconds to start beside two others on a core
	defaultSliceFaults    = Duration(30 * time.Second)
	defaultSliceRolling   = Duration(75 * time.Second) // and here each node does in turn
	defaultSliceCrash     = Duration(15 * time.Second)
	defaultWarmUpMessages = Duration(time.Second)
)

// The durabilities: what an acknowledgement is to promise.
const (
	DurabilityFsync   = "fsync"
	DurabilityDefault = "default"
)

// The operations that are more than to send one message: to send several at once, and to
// have what was sent delivered.
const (
	BatchOperation   = "PublishBatch"
	DeliverOperation = "Deliver"
)

// The metrics of loads of messages beside those of calls, each of which is a send
// of a message, or of a batch. Times are from when a message was due.
const (
	MessageRate    = "message-rate"    // messages acknowledged per second; closed loop
	DeliveredRate  = "delivered-rate"  // messages delivered per second
	AcceptedP50    = "accepted-p50"    // until the broker's client had taken it
	AcceptedP99    = "accepted-p99"    //
	DeliveredP50   = "delivered-p50"   // until a reader had it
	DeliveredP90   = "delivered-p90"   //
	DeliveredP99   = "delivered-p99"   //
	DeliveredP999  = "delivered-p99.9" //
	SendOutage     = "send-outage"     // the longest time without an acknowledgement
	DeliveryOutage = "delivery-outage" // the longest time without a delivery
	DrainRate      = "drain-rate"      // messages per second read after the window
	// bytes written to the device of the brokers' data, whoever wrote, per message
	DiskPerMessage = "disk-written"
	// bytes all broker processes and the driver sent over the network, per message
	NetworkPerMessage = "network"
)

// MessageMetricIDs returns the ids of the metrics of messages, in the order in
// which reports show them.
func MessageMetricIDs() []string {
	return []string{
		MessageRate, DeliveredRate, AcceptedP50, AcceptedP99, DeliveredP50, DeliveredP90, DeliveredP99, DeliveredP999,
		SendOutage, DeliveryOutage, DrainRate, DiskPerMessage, NetworkPerMessage,
	}
}

// Messaging reports whether the load sends messages through a broker.
func (l Load) Messaging() bool { return l.Kind() == Messages }

// Fails reports whether something is done to the broker meanwhile.
func (l Load) Fails() bool { return slices.Contains(Faults(), l.Scenario) }

// Messaging reports whether the plan's loads send messages. Trials are then whole:
// one arm's after another's, each with a broker of its own, since what one broker
// does behind its acknowledgements would be in another's figures (docs/concepts/claims.md).
func (p Plan) Messaging() bool { return len(p.Loads) > 0 && p.Loads[0].Messaging() }

// Fails reports whether something is done to a broker of the plan's.
func (p Plan) Fails() bool { return slices.ContainsFunc(p.Loads, Load.Fails) }

// Plays reports whether a load of the plan's is of a scenario.
func (p Plan) Plays(scenario string) bool {
	return slices.ContainsFunc(p.Loads, func(l Load) bool { return l.Scenario == scenario })
}

// DurabilityOf is what an acknowledgement of an arm's broker is to promise.
func (p Plan) DurabilityOf(a Arm) string {
	if a.Durability != "" {
		return a.Durability
	}
	return p.Durability
}

// checkMessages checks what a load says of messages by itself.
func (l Load) checkMessages(field string) error {
	if l.Scenario == "" {
		switch {
		case l.Size != 0:
			return bad(field+".size", l.Size, "left out unless the load has a scenario")
		case l.Batch != 0:
			return bad(field+".batch", l.Batch, "left out unless the load has a scenario")
		case l.Groups != 0:
			return bad(field+".groups", l.Groups, "left out unless the load has a scenario")
		case l.Delay != 0:
			return bad(field+".delay", l.Delay, "left out unless the load has a scenario")
		}
		return nil
	}
	switch {
	case l.Streams != 0:
		return bad(field+".streams", l.Streams, "left out with a scenario: messages are sent, and no streams held")
	case len(l.Stages) > 0:
		return outside(field+".stages", fmt.Sprintf("%d stages", len(l.Stages)),
			"left out with a scenario, whose rate is one")
	case l.Replays():
		return bad(field+".arrivals", l.Arrivals, Sampled+" with a scenario, whose slice has a length of its own")
	case l.Requests != "":
		return bad(field+".requests", l.Requests, "left out with a scenario: size says what messages are like")
	case l.Delay != 0 && l.Scenario != Slow && !l.Fails():
		return bad(field+".delay", l.Delay,
			"left out unless the scenario is "+Slow+" or one in which something is done to the broker")
	}
	return first(
		oneOf(field+".scenario", l.Scenario, Scenarios()...),
		inRange(field+".size", l.Size, MessageMin, MessageMax),
		inRange(field+".batch", l.Batch, 1, BatchMax),
		inRange(field+".groups", l.Groups, 1, GroupsMax),
		inRange(field+".delay", l.Delay, delayMin, delayMax),
	)
}

// paced reports whether a scenario shows what it is about at a rate only.
func (l Load) paced() bool {
	return l.Scenario == Sustained || l.Scenario == Slow || l.Scenario == Crash || l.Fails()
}

// messagesOpen reports whether loads of messages that say nothing of how fast they send
// send at a rate: where any of the plan's does, since closed and open loops do not mix.
func (p Plan) messagesOpen() bool {
	return slices.ContainsFunc(p.Loads,
		func(l Load) bool { return l.Messaging() && (l.Open() || l.InFlight == 0 && l.paced()) })
}

// completeMessages fills in what a load of messages leaves out; operation is the
// one it calls, open whether it sends at a rate if it does not say.
func (l *Load) completeMessages(operation string, open bool) {
	if !l.Messaging() {
		return
	}
	setDefault(&l.Size, defaultMessage)
	setDefault(&l.Batch, choose(operation == BatchOperation, defaultBatch, 1))
	setDefault(&l.Groups, choose(l.Scenario == Fanout, defaultFanout, 1))
	if l.Scenario == Slow {
		setDefault(&l.Delay, defaultDelay)
	}
	if l.InFlight != 0 || l.Open() {
		return
	}
	switch {
	case l.Scenario == Sustained:
		l.Rate = defaultSustainedRate
	case open:
		l.Rate = defaultFaultRate
	default:
		l.InFlight = defaultPublishers
	}
}

// completeMessaging fills in what a plan of messages leaves out.
func (p *Plan) completeMessaging() {
	setDefault(&p.Slices, 1)
	setDefault(&p.Slice, p.messagesSlice())
	setDefault(&p.WarmUp, defaultWarmUpMessages)
	setDefault(&p.Floor, FloorAuto)
	setDefault(&p.Durability, DurabilityFsync)
	setDefault(&p.Nodes, DefaultNodes)
}

// messagesSlice is how long a slice is by default: long enough for the slowest to be seen
// to its end.
func (p Plan) messagesSlice() Duration {
	switch {
	case p.Plays(RollingRestart):
		return defaultSliceRolling
	case p.Fails():
		return defaultSliceFaults
	case p.Plays(Crash):
		return defaultSliceCrash
	}
	return defaultSliceMessages
}

// messagePrimary is the metric that decides by default: none where scenarios are
// judged by different ones, and then each load's own decides under it.
func (p Plan) messagePrimary() string {
	primary := p.MessagePrimary(p.Loads[0])
	for _, l := range p.Loads[1:] {
		if p.MessagePrimary(l) != primary {
			return ""
		}
	}
	return primary
}

// MessagePrimary is the metric that decides under a load of messages by default. Each
// message is sent and delivered whatever the operation, which tells what is asked of it.
func (p Plan) MessagePrimary(l Load) string {
	delivers := p.OperationOf(l) == DeliverOperation
	switch {
	case l.Fails() && delivers:
		return DeliveryOutage
	case l.Fails():
		return SendOutage
	case l.Open() && l.Scenario == Disk:
		return DrainRate // times until delivery are as long as the slice is
	case l.Open():
		return DeliveredP99
	case delivers:
		return DeliveredRate
	}
	return MessageRate
}

// checkMessaging checks what messages allow of the rest of a plan.
func (p Plan) checkMessaging() error {
	messaging := p.Messaging()
	for i, l := range p.Loads {
		if l.Messaging() != messaging {
			return bad(fmt.Sprintf("loads[%d]", i), l,
				"with a scenario or without as loads[0]: their metrics are others, and so is what a trial is")
		}
		if l.Batch*l.Size > BatchBytesMax {
			return outside(fmt.Sprintf("loads[%d].batch", i), fmt.Sprintf("%d messages of %d bytes", l.Batch, l.Size),
				fmt.Sprintf("at most %d bytes together", BatchBytesMax))
		}
		if behind := l.readTime(p.SliceOf(l)) - p.SliceOf(l); behind > behindMax {
			return bad(fmt.Sprintf("loads[%d].delay", i), l.Delay,
				fmt.Sprintf("so short that readers end within %v after a slice; at this rate they need %v more",
					behindMax, behind))
		}
		if l.Fails() && p.Nodes < 2 {
			return bad("nodes", p.Nodes, "2 or more with scenario "+l.Scenario+", which takes one away")
		}
	}
	if !messaging {
		switch {
		case p.Durability != "":
			return bad("durability", p.Durability, "left out unless the loads have a scenario, which needs a broker")
		case p.Nodes != 0:
			return bad("nodes", p.Nodes, "left out unless the loads have a scenario, which needs a broker")
		}
		return nil
	}
	if p.Network != "" {
		return bad("network", p.Network,
			"left out with a scenario: clients reach the nodes of a broker directly, each by the address that it tells")
	}
	if whole := len(p.Loads); p.Plays(DiskFull) &&
		slices.ContainsFunc(p.Loads, func(l Load) bool { return l.Scenario != DiskFull }) {
		return outside("loads", fmt.Sprintf("%s among %d loads", DiskFull, whole),
			"alone in a plan: its brokers' disk is of memory, so that it can be filled, and would be so for the "+
				"others too")
	}
	for i, a := range p.Arms {
		if a.Raw() {
			return bad(fmt.Sprintf("arms[%d].driver", i), a.Driver,
				"client with a scenario: no raw driver speaks to a broker")
		}
		if a.Target != "" && p.Fails() {
			return wirelab.Errorf(wirelab.InvalidArgument,
				"arms[%d].target is a broker that wirelab did not start, and wirelab does nothing to it: leave out "+
					"the target, or take a scenario without a fault", i)
		}
	}
	return nil
}

// readTime is how long a group's reader takes at least for a slice's messages at a rate.
func (l Load) readTime(slice Duration) Duration {
	return Duration(l.Rate * float64(l.Batch) * time.Duration(slice).Seconds() * float64(l.Delay))
}

// SendPace is how fast a load of messages sends, and what is unusual about its
// messages, in words: "60 sends under way, 1,024 bytes each".
func (l Load) SendPace() string {
	text := "1 send under way"
	switch {
	case l.Open():
		text = l.speed() + " " + l.LawWords()
		if l.Rate == float64(uint64(l.Rate)) {
			text = Thousands(uint64(l.Rate)) + "/s " + l.LawWords()
		}
	case l.InFlight > 1:
		text = Thousands(uint64(l.InFlight)) + " sends under way"
	}
	if l.Size != 0 && l.Size != defaultMessage {
		text += fmt.Sprintf(", %s bytes each", Thousands(uint64(l.Size)))
	}
	if l.Batch > 1 {
		text += fmt.Sprintf(", batches of %d", l.Batch)
	}
	if l.Groups > 1 {
		text += fmt.Sprintf(", %d groups", l.Groups)
	}
	if l.Delay != 0 {
		delay := l.Delay.String() // of one unit: it is at most a second
		unit := strings.TrimLeft(delay, ".0123456789")
		text += fmt.Sprintf(", readers take %s %s", strings.TrimSuffix(delay, unit), unit)
	}
	return text
}
