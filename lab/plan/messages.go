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
	Slow      = "slow"      // each reader needs some time for a message
	Disk      = "disk"      // readers start only after the last send
	Late      = "late"      // readers start at half of the window
	Crash     = "crash"     // at half of the window the reader process is killed, and later another one starts
	Isolation = "isolation" // two topics, each read by its own group
	Fanout    = "fanout"    // many groups read the same topic
	Sustained = "sustained" // for a long time, with memory and disk measured

	LeaderKill     = "leader-kill"     // the node that leads the topic is killed
	FollowerKill   = "follower-kill"   // a node that does not lead the topic is killed
	Partition      = "partition"       // the leader's links to the other nodes are cut, and later restored
	Pause          = "pause"           // the leader is stopped by SIGSTOP, and later continued
	DiskFull       = "disk-full"       // the disk that all nodes share fills up, and is later freed
	RollingRestart = "rolling-restart" // each node is stopped and started, one after the other
)

// Scenarios returns the scenarios in the order in which help shows them.
func Scenarios() []string {
	return append([]string{Live, Slow, Disk, Late, Crash, Isolation, Fanout, Sustained}, Faults()...)
}

// Faults returns the scenarios that inject a fault into the broker.
func Faults() []string {
	return []string{LeaderKill, FollowerKill, Partition, Pause, DiskFull, RollingRestart}
}

// The bounds of loads of messages. Brokers, the account of messages and the workload have the same ones; a test of
// lab/messaging/bench checks that.
const (
	MessageMin = 36 // bytes: the stamp by which a message is tracked
	MessageMax = 1 << 20
	BatchMax   = 1000
	GroupsMax  = 64
	NodesMax   = 7 // of a cluster
	delayMin   = Duration(time.Microsecond)
	delayMax   = Duration(time.Second) // readers must handle prefetched messages before brokers take them for dead
	// sustainedMax is the longest slice of scenario sustained. The driver's memory does not grow with it, but the
	// brokers' disks must hold its messages.
	sustainedMax  = Duration(24 * time.Hour)
	BatchBytesMax = 3 << 20 // bytes of a batch
	// behindMax is how long slow readers may still read after a slice. A driver waits a little longer for them.
	behindMax = Duration(15 * time.Minute)
)

// The defaults of loads of messages.
const (
	defaultMessage       = 100 // bytes
	defaultBatch         = 100
	defaultFanout        = 4
	DefaultNodes         = 3
	defaultPublishers    = 60   // as in the published benchmark
	defaultFaultRate     = 1000 // per second: a steady rate shows how long nothing was acknowledged
	defaultSustainedRate = 10_000
	defaultDelay         = Duration(2 * time.Millisecond) // as in the published benchmark
	defaultSliceMessages = Duration(5 * time.Second)
	// RabbitMQ needs ten seconds to start next to two other nodes on one core.
	defaultSliceFaults    = Duration(30 * time.Second)
	defaultSliceRolling   = Duration(75 * time.Second) // here each node restarts in turn
	defaultSliceCrash     = Duration(15 * time.Second)
	defaultWarmUpMessages = Duration(time.Second)
)

// The durabilities: what an acknowledgement must guarantee.
const (
	DurabilityFsync   = "fsync"
	DurabilityDefault = "default"
)

// The operations other than the sending of one message: sending several at once, and having messages delivered.
const (
	BatchOperation   = "PublishBatch"
	DeliverOperation = "Deliver"
)

// The metrics that loads of messages have in addition to those of calls. A call is a send of one message or of a
// batch. Times are from when a message was due.
const (
	MessageRate    = "message-rate"    // messages acknowledged per second; closed loop
	DeliveredRate  = "delivered-rate"  // messages delivered per second
	AcceptedP50    = "accepted-p50"    // until the broker's client accepted the message
	AcceptedP99    = "accepted-p99"    //
	DeliveredP50   = "delivered-p50"   // until a reader received the message
	DeliveredP90   = "delivered-p90"   //
	DeliveredP99   = "delivered-p99"   //
	DeliveredP999  = "delivered-p99.9" //
	SendOutage     = "send-outage"     // the longest time without an acknowledgement
	DeliveryOutage = "delivery-outage" // the longest time without a delivery
	DrainRate      = "drain-rate"      // messages per second read after the window
	// Bytes written to the device that holds the brokers' data, by any process, per message.
	DiskPerMessage = "disk-written"
	// Bytes that all broker processes and the driver sent over the network, per message.
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

// Fails reports whether the load's scenario injects a fault.
func (l Load) Fails() bool { return slices.Contains(Faults(), l.Scenario) }

// Fails reports whether one of the plan's loads injects a fault into a broker.
func (p Plan) Fails() bool { return slices.ContainsFunc(p.Loads, Load.Fails) }

// Plays reports whether one of the plan's loads has a scenario.
func (p Plan) Plays(scenario string) bool {
	return slices.ContainsFunc(p.Loads, func(l Load) bool { return l.Scenario == scenario })
}

// DurabilityOf is what an acknowledgement of an arm's broker must guarantee.
func (p Plan) DurabilityOf(a Arm) string {
	if a.Durability != "" {
		return a.Durability
	}
	return p.Durability
}

// strayMessages refuses what only a load of messages says.
func (l Load) strayMessages(field string) error {
	const left = "left out unless the load has a scenario"
	switch {
	case l.Size != 0:
		return bad(field+".size", l.Size, left)
	case l.Batch != 0:
		return bad(field+".batch", l.Batch, left)
	case l.Groups != 0:
		return bad(field+".groups", l.Groups, left)
	case l.Delay != 0:
		return bad(field+".delay", l.Delay, left)
	}
	return nil
}

// checkMessages checks the fields of a load that concern messages.
func (l Load) checkMessages(field string) error {
	switch {
	case streamTraits().is(l):
		return bad(field+".streams", l.Streams, "left out with a scenario: messages are sent, and no streams held")
	case len(l.Stages) > 0:
		return outside(field+".stages", fmt.Sprintf("%d stages", len(l.Stages)),
			"left out with a scenario, which has one rate")
	case l.Replays():
		return bad(field+".arrivals", l.Arrivals, Sampled+" with a scenario, whose slice has a fixed length")
	case l.Requests != "":
		return bad(field+".requests", l.Requests, "left out with a scenario: size describes its messages")
	case l.Delay != 0 && l.Scenario != Slow && !l.Fails():
		return bad(field+".delay", l.Delay,
			"left out unless the scenario is "+Slow+" or one that injects a fault")
	}
	return first(
		oneOf(field+".scenario", l.Scenario, Scenarios()...),
		inRange(field+".size", l.Size, MessageMin, MessageMax),
		inRange(field+".batch", l.Batch, 1, BatchMax),
		inRange(field+".groups", l.Groups, 1, GroupsMax),
		inRange(field+".delay", l.Delay, delayMin, delayMax),
	)
}

// paced reports whether a scenario is meaningful only at a rate.
func (l Load) paced() bool {
	return l.Scenario == Sustained || l.Scenario == Slow || l.Scenario == Crash || l.Fails()
}

// messagesOpen reports whether loads of messages without a given pace send at a rate. They do if any load of the plan
// does, since a plan cannot mix closed and open loops.
func (p Plan) messagesOpen() bool {
	return slices.ContainsFunc(p.Loads,
		func(l Load) bool { return l.Open() || l.InFlight == 0 && l.paced() })
}

// fillMessages fills in what a load of messages leaves out.
func (p Plan) fillMessages(l *Load) {
	setDefault(&l.Size, defaultMessage)
	setDefault(&l.Batch, choose(p.OperationOf(*l) == BatchOperation, defaultBatch, 1))
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
	case p.messagesOpen():
		l.Rate = defaultFaultRate
	default:
		l.InFlight = defaultPublishers
	}
}

// completeMessaging fills in the defaults of a plan with loads of messages.
func (p *Plan) completeMessaging() {
	setDefault(&p.Slices, 1)
	setDefault(&p.Slice, p.messagesSlice())
	setDefault(&p.WarmUp, defaultWarmUpMessages)
	setDefault(&p.Floor, FloorAuto)
	setDefault(&p.Durability, DurabilityFsync)
	setDefault(&p.Nodes, DefaultNodes)
}

// messagesSlice is the default length of a slice. It is long enough to see the slowest scenario to its end.
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

// messagePrimary is the default primary metric. It is empty if the scenarios have different ones: then each load is
// judged by its own.
func (p Plan) messagePrimary() string {
	primary := p.MessagePrimary(p.Loads[0])
	for _, l := range p.Loads[1:] {
		if p.MessagePrimary(l) != primary {
			return ""
		}
	}
	return primary
}

// MessagePrimary is the default primary metric of a load of messages. Every message is sent and delivered whatever
// the operation; the operation says which of the two is judged.
func (p Plan) MessagePrimary(l Load) string {
	delivers := p.OperationOf(l) == DeliverOperation
	switch {
	case l.Fails() && delivers:
		return DeliveryOutage
	case l.Fails():
		return SendOutage
	case l.Open() && l.Scenario == Disk:
		return DrainRate // times until delivery depend on the length of the slice
	case l.Open():
		return DeliveredP99
	case delivers:
		return DeliveredRate
	}
	return MessageRate
}

// strayMessaging refuses what only a plan of messages says.
func (p Plan) strayMessaging() error {
	switch {
	case p.Durability != "":
		return bad("durability", p.Durability, "left out unless the loads have a scenario, which needs a broker")
	case p.Nodes != 0:
		return bad("nodes", p.Nodes, "left out unless the loads have a scenario, which needs a broker")
	}
	return nil
}

// checkMessaging checks the fields of a plan that messages restrict.
func (p Plan) checkMessaging() error {
	for i, l := range p.Loads {
		if l.Batch*l.Size > BatchBytesMax {
			return outside(fmt.Sprintf("loads[%d].batch", i), fmt.Sprintf("%d messages of %d bytes", l.Batch, l.Size),
				fmt.Sprintf("at most %d bytes together", BatchBytesMax))
		}
		if behind := l.readTime(p.SliceOf(l)) - p.SliceOf(l); behind > behindMax {
			return bad(fmt.Sprintf("loads[%d].delay", i), l.Delay,
				fmt.Sprintf("so short that readers finish within %v after a slice; at this rate they need %v more",
					behindMax, behind))
		}
		if l.Fails() && p.Nodes < 2 {
			return bad("nodes", p.Nodes, "2 or more with scenario "+l.Scenario+", which stops one of them")
		}
	}
	if p.Network != "" {
		return bad("network", p.Network,
			"left out with a scenario: clients reach the nodes of a broker directly, each by the address that it advertises")
	}
	if whole := len(p.Loads); p.Plays(DiskFull) &&
		slices.ContainsFunc(p.Loads, func(l Load) bool { return l.Scenario != DiskFull }) {
		return outside("loads", fmt.Sprintf("%s among %d loads", DiskFull, whole),
			"alone in a plan: its brokers keep their data in memory, so that the disk can be filled, and would do so for "+
				"the other loads too")
	}
	for i, a := range p.Arms {
		if a.Raw() {
			return bad(fmt.Sprintf("arms[%d].driver", i), a.Driver,
				"client with a scenario: there is no raw driver for brokers")
		}
		if a.Target != "" && p.Fails() {
			return wirelab.Errorf(wirelab.InvalidArgument,
				"arms[%d].target is a broker that wirelab did not start, and wirelab injects no faults into it: leave out "+
					"the target, or choose a scenario without a fault", i)
		}
	}
	return nil
}

// readTime is the minimum time that a group's reader needs for the messages of a slice.
func (l Load) readTime(slice Duration) Duration {
	return Duration(l.Rate * float64(l.Batch) * time.Duration(slice).Seconds() * float64(l.Delay))
}

// SendPace describes how fast a load of messages sends, and unusual properties of its messages:
// "60 sends under way, 1,024 bytes each".
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
		delay := l.Delay.String() // a single unit, since it is at most a second
		unit := strings.TrimLeft(delay, ".0123456789")
		text += fmt.Sprintf(", readers take %s %s", strings.TrimSuffix(delay, unit), unit)
	}
	return text
}
