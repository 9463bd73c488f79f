package resulttest

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/stat"
)

// mover is an arm that sends messages, with the true figures of its broker.
type mover struct {
	name, protocol  string
	product, queue  string
	sync            result.Sync
	rate            float64       // messages acknowledged per second, with 60 sends under way
	alone           float64       // messages that the driver sends per second to a broker that does nothing
	behind          time.Duration // median, from acknowledgement to arrival at a reader
	cpu, client     time.Duration // per message
	written, sent   uint64        // bytes per message: to disk, over the network
	away, restarted time.Duration // after its leader dies: until it acknowledges again, until the node is back
	again, turned   uint64        // delivered again then, and out of order
}

// movers returns four arms: three brokers that acknowledge when a quorum has a message on disk, and one that
// acknowledges sooner, and so is the fastest.
func movers() []mover {
	return []mover{
		{
			name: "hermes-grpc-stream", protocol: "hermes-grpc-stream", product: "Hermes", queue: "log",
			sync: result.SyncFirst, rate: 4800, alone: 31_000, behind: 900 * time.Microsecond,
			cpu: 58 * time.Microsecond, client: 21 * time.Microsecond, written: 940, sent: 1210,
			away: 620 * time.Millisecond, restarted: 1600 * time.Millisecond, again: 3,
		},
		{
			name: "nats-jetstream", protocol: "nats-jetstream", product: "NATS", queue: "stream",
			sync: result.SyncFirst,
			rate: 3100, alone: 24_500, behind: 700 * time.Microsecond, cpu: 95 * time.Microsecond,
			client: 18 * time.Microsecond, written: 1310, sent: 1490, away: 2400 * time.Millisecond,
			restarted: 1900 * time.Millisecond, again: 12, turned: 5,
		},
		{
			name: "rabbitmq", protocol: "rabbitmq", product: "RabbitMQ", queue: "quorum", sync: result.SyncFirst,
			rate: 2100, alone: 13_200, behind: 1400 * time.Microsecond, cpu: 240 * time.Microsecond,
			client: 26 * time.Microsecond, written: 2480, sent: 1900, away: 5100 * time.Millisecond,
			restarted: 7300 * time.Millisecond, again: 118, turned: 40,
		},
		{
			name: "rabbitmq-default", protocol: "rabbitmq", product: "RabbitMQ", queue: "quorum",
			sync: result.SyncLater,
			rate: 5900, alone: 13_200, behind: 1300 * time.Microsecond, cpu: 120 * time.Microsecond,
			client: 25 * time.Microsecond, written: 610, sent: 1880, away: 4900 * time.Millisecond,
			restarted: 7000 * time.Millisecond, again: 97, turned: 33,
		},
	}
}

// Messages returns a result of messages through four brokers with 60 sends under way, 12 rounds, each message
// delivered once. Two brokers have a published rate.
func Messages() *result.Result {
	r := moved("example-messages", "How many messages does each broker take and deliver?", 0x3e55,
		plan.Load{Scenario: plan.Live})
	r.Plan.Published = []plan.Published{
		{
			Source: "an example write-up, table 2", Machine: "three machines of 2 cores", Arm: "rabbitmq", Rate: 2944,
			PlusMinus: 131, Flaws: []string{"ms-M01"},
		},
		{
			Source: "an example write-up, table 2", Machine: "three machines of 2 cores", Arm: "nats-jetstream",
			Rate: 4011, PlusMinus: 97,
		},
	}
	return r
}

// MessageScenarios returns a result of the same brokers under three scenarios at 1,000/s: live, disk, in which all
// messages wait to be read, and leader-kill, in which each broker delivers messages again and refuses some.
func MessageScenarios() *result.Result {
	return moved("example-scenarios", "What does each broker do when all is well, and when its leader dies?", 0x3e56,
		plan.Load{Scenario: plan.Live, Rate: 1000}, plan.Load{Scenario: plan.Disk, Rate: 1000},
		plan.Load{Scenario: plan.LeaderKill})
}

// moved makes the results of the movers under loads.
func moved(name, about string, seed uint64, loads ...plan.Load) *result.Result {
	const rounds = 12
	p := plan.Plan{
		Name: name, About: about, Workload: "messaging", Operation: "Publish", Loads: loads, Seed: seed,
		Rounds: plan.Rounds{Min: rounds, Max: 100},
	}
	for _, m := range movers() {
		a := plan.Arm{Name: m.name, Protocol: m.protocol}
		if m.sync == result.SyncLater {
			a.Durability = plan.DurabilityDefault
		}
		p.Arms = append(p.Arms, a)
	}
	p, err := p.Complete()
	if err != nil {
		panic(fmt.Sprintf("resulttest: %v", err)) // all plans are made in this package
	}
	r := &result.Result{
		Schema: result.Schema, Minor: result.Minor, ID: fmt.Sprintf("r-20261121-140512-%04x", seed&0xffff),
		Began: began, Plan: p,
		Environment: environment(), Ending: result.RoundsDone, Ended: began.Add(time.Hour),
		Command:   "wirelab messages " + name,
		Placement: result.Placement{ServerCPUs: []int{0}, DriverCPUs: []int{1}},
	}
	for _, m := range movers() {
		r.Arms = append(r.Arms, result.Arm{
			Name: m.name, Protocol: m.protocol, Transport: "TCP", Encoding: "bytes", Multiplexed: true,
			Server: m.product, Client: m.product, Driver: plan.DriverClient, Style: "idiomatic",
			Broker: m.product + " 9.8.7",
			Guarantee: &result.Guarantee{
				Broker: m.product, Queue: m.queue, Confirms: true, Persistent: true,
				Sync: m.sync,
			},
		})
	}
	random := rand.New(rand.NewPCG(seed, 1))
	for n := range rounds {
		round := result.Round{
			Began: began.Add(time.Duration(n) * 4 * time.Minute),
			Noise: result.Noise{Others: 0.01 * random.Float64(), CPUPressure: 0.2},
		}
		drift := math.Exp(0.02 * random.NormFloat64())
		for a, m := range movers() {
			for l := range loads {
				t := m.trial(p, l, drift, random)
				t.Arm, t.Load, t.Order = a, l, []int{len(round.Trials)}
				round.Trials = append(round.Trials, t)
			}
		}
		r.Rounds = append(r.Rounds, round)
	}
	return r
}

// trial makes one slice of a load.
func (m mover) trial(p plan.Plan, load int, drift float64, random *rand.Rand) result.Trial {
	l, slice := p.Loads[load], time.Duration(p.Slice)
	own := func() float64 { return drift * math.Exp(0.02*random.NormFloat64()) }
	t := emptyTrial()
	t.Wake, t.Warmed, t.Errors = nil, p.WarmUp, nil
	rate, window := l.Rate, slice
	median := float64(l.InFlight) / m.rate * 1e9 * own()
	if l.Open() {
		window, median = slice-slice/10, 2.5e9/m.rate*own()
		t.Planned = uint64(rate*window.Seconds() + math.Sqrt(rate*window.Seconds())*random.NormFloat64())
		t.Sent, t.OK = t.Planned, t.Planned
		t.Gaps = gaps(t.Sent, false)
		t.Punctual = &stat.Histogram{}
	} else {
		rate = float64(l.InFlight) / times(&stat.Histogram{}, 1000, median, 1) * 1e9
		t.Sent = uint64(rate * window.Seconds())
		t.OK = t.Sent
	}
	t.Window = plan.Duration(window)
	away := time.Duration(0)
	if l.Fails() {
		away = time.Duration(float64(m.away) * own())
		refused := uint64(rate * away.Seconds() / 10)
		t.OK, t.Errors = t.OK-refused, map[string]uint64{"unavailable": refused}
	}
	waited := uint64(rate * away.Seconds() * 9 / 10)
	times(t.Response, t.OK-waited, median, 1)
	for i := range waited {
		t.Response.Record(int64(median) + int64(away)*int64(i)/int64(waited))
	}
	t.Service = t.Response.Clone()
	if t.Punctual != nil {
		t.Punctual = t.Response.Clone()
	}
	if l.Open() {
		times(t.Lag, t.OK, 4e3, 1)
		t.Watched = t.OK + t.OK/9
	}
	t.Completed = t.OK
	m.account(&t, l, slice, rate, median, away, random)
	n := float64(t.Calls())
	t.Server = &result.Usage{CPU: plan.Duration(n * float64(m.cpu) * own()), ResidentBytes: 610 << 20}
	t.Driver = &result.Usage{
		CPU: plan.Duration(n * float64(m.client) * own()), Allocations: new(11 * t.Calls()),
		ResidentBytes: 44 << 20,
	}
	for _, u := range []*result.Usage{t.Server, t.Driver} {
		u.Wall, u.Waited, u.PauseP99 = plan.Duration(slice+slice/10), t.Window/50, plan.Duration(30*time.Microsecond)
	}
	t.Driver.Others = t.Window / 100
	t.WireSent, t.WireReceived = t.Calls()*164, t.Calls()*38
	if p.Floor == plan.FloorAuto {
		t.Floor = m.floor(l, own())
	}
	return t
}

// floor makes what the driver does against a broker that does nothing: in the closed loop its maximum, at a rate the
// same rate, but much faster.
func (m mover) floor(l plan.Load, slower float64) *result.Floor {
	const window = 500 * time.Millisecond
	rate := m.alone / slower
	f := &result.Floor{Window: plan.Duration(window), Service: &stat.Histogram{}}
	median := 180e3 * slower
	if l.Open() {
		rate = l.Rate
	} else {
		median = float64(l.InFlight) / rate * 1e9
	}
	f.Completed = uint64(rate * window.Seconds())
	f.Calls = f.Completed
	f.DriverCPU = plan.Duration(float64(f.Calls) * float64(m.client) * 0.7 * slower)
	times(f.Service, f.Completed, median, 1)
	return f
}

// account makes the counts of a trial's messages.
func (m mover) account(t *result.Trial, l plan.Load, slice time.Duration, rate, median float64, away time.Duration,
	random *rand.Rand,
) {
	behind := float64(m.behind)
	if l.Scenario == plan.Disk {
		behind = 0.9e9 * slice.Seconds()
	}
	refused, head, groups := t.Sent-t.OK, t.Calls()-t.OK, uint64(max(l.Groups, 1))
	w := &result.Messages{
		MessageCounts: result.MessageCounts{
			Sent: t.Sent + head, Acknowledged: t.OK + head, Unsure: refused, Kept: refused / 3,
		},
		Groups:               int(groups),
		AcknowledgedInWindow: t.OK, DeliveredInWindow: t.OK * groups, AcceptedAfter: &stat.Histogram{},
		DeliveredAfter: &stat.Histogram{},
		SendOutage:     plan.Duration(median / 3), DeliveryOutage: plan.Duration(median / 2),
	}
	w.Expected = w.Acknowledged * groups
	w.Delivered = w.Expected
	times(w.AcceptedAfter, t.OK, median/20, 1)
	late := uint64(rate * away.Seconds())
	times(w.DeliveredAfter, (t.OK-late)*groups, median+behind, 1)
	for i := range late * groups {
		w.DeliveredAfter.Record(int64(median+behind) + int64(away)*int64(i)/int64(late*groups))
	}
	w.Broker = &result.BrokerUse{
		Written: w.Sent * m.written, Network: w.Sent * m.sent, Memory: 610 << 20,
		Disk: 90 << 20, Samples: int(slice.Seconds()), MemoryGrowth: 4096,
	}
	began := slice / 2
	if away > 0 {
		w.SendOutage, w.DeliveryOutage = plan.Duration(away), plan.Duration(away+40*time.Millisecond)
		w.Redelivered, w.Displaced = m.again+random.Uint64N(3), m.turned
		w.Done = []result.Disturbance{{
			What: l.Scenario, Who: fmt.Sprintf("node %d", 1+random.IntN(3)),
			Began: plan.Duration(began), Over: plan.Duration(began + m.restarted),
			Again: plan.Duration(began + m.restarted + 40*time.Millisecond),
		}}
	}
	w.Backlog = [][]int64{m.backlog(l, slice, rate, slice-time.Duration(t.Window)+began+away, random)}
	if l.Scenario == plan.Disk {
		w.DeliveredInWindow, w.DrainedMessages = 0, w.Delivered
		w.Drained = plan.Duration(float64(w.Delivered) / (4 * m.rate) * 1e9 * math.Exp(0.02*random.NormFloat64()))
	}
	t.Messages = w
}

// backlog is the number of waiting messages, every [result.BacklogEvery]: a few; in scenario disk all of them until
// the last send; and many after an outage.
func (m mover) backlog(l plan.Load, slice time.Duration, rate float64, back time.Duration, random *rand.Rand) []int64 {
	var all []int64
	few := rate * m.behind.Seconds()
	for at := result.BacklogEvery; ; at += result.BacklogEvery {
		waits := few * (0.7 + 0.6*random.Float64())
		switch since := (at - back).Seconds(); {
		case l.Scenario == plan.Disk && at > slice:
			waits = rate*slice.Seconds() - 4*m.rate*(at-slice).Seconds()
		case l.Scenario == plan.Disk:
			waits = rate * at.Seconds()
		case l.Fails() && since >= 0 && since < 1:
			waits += float64(cmp.Or(m.again, 1)+20) * (1 - since)
		case at > slice:
			waits = 0
		}
		all = append(all, int64(max(0, waits)))
		if waits <= 0 {
			return all
		}
	}
}
