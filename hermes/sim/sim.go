// Package sim runs a cluster of replicas in one goroutine, with a network, a
// clock and disks that fail as a seed says, clients that publish and read, and
// checkers of the guarantees given to them. The same seed gives the same run. It knows the
// packages below the node (replica, core, record, wal, vfs) and no real time,
// network or disk.
//
// It cannot find mistakes in the goroutines and sockets of package node, which
// drives the same replica.
package sim

import (
	"container/heap"
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

// Options are a run's. The zero value of each but Seed is its default.
type Options struct {
	Seed      uint64
	Nodes     int           // that begin the cluster; 3
	Spare     int           // that may join it later
	Producers int           // 3
	Readers   int           // 2
	Workers   int           // of a group for each topic, who may be slow, and leave; none by default
	Topics    int           // 2
	Duration  time.Duration // of the part with faults, in simulated time; 6 s
	Faults    Faults        // how often each fault is drawn; none by default
	Every     time.Duration // between faults, on average; 300 ms
	Loss      float64       // of messages between nodes, from 0 to 1
	Disk      DiskKind
	Trace     io.Writer // nil: nothing is written
	// Sabotage breaks one promise on purpose, to see that a checker notices.
	Sabotage Sabotage
}

// DiskKind is what the nodes keep their logs on.
type DiskKind uint8

// The kinds.
const (
	Model DiskKind = iota // a list of writes, of which a power cut leaves a prefix
	WAL                   // package wal on vfs.Memory
)

// Sabotage is a broken promise.
type Sabotage uint8

// The sabotages.
const (
	Honest    Sabotage = iota
	NoSync             // disks say that they have synced, and have not (hb-D05)
	NoDedup            // producers do not number their runs (hb-D12)
	EarlyAck           // a publish is acknowledged when it was proposed (hb-D06)
	LocalRead          // reads ask no other node
	Unordered          // offsets are each node's own (hb-D08)
	Count              // a group's position is how much was acknowledged (hb-D01)
	StaleAck           // what was handed out before a seek is acknowledged after it
	Blame              // what a member had that left counts as tried, whether it was sent or not
	OwnClock           // each node believes its own clock
	Trusting           // a disk that was put back to an older copy is taken for what it was
)

// tick is a replica's, in simulated time.
const tick = 50 * time.Millisecond

// World is a run.
type World struct {
	options Options
	random  *rand.Rand
	noise   *rand.Rand // of what happens all the time: numbers drawn from it change nothing else
	now     time.Duration
	queue   events
	serial  uint64
	nodes   []*node // by id - 1
	network network
	clients []*producer
	readers []*reader
	acking  []*member
	crews   []*crew
	judge   judge
	faulty  bool // faults and clients' new work go on
	failure error
	steps   int
}

// event is something that happens at a time.
type event struct {
	at     time.Duration
	serial uint64 // of two at one time the one that was planned first
	do     func()
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	return e[i].at < e[j].at || e[i].at == e[j].at && e[i].serial < e[j].serial
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// New makes a world whose nodes are started.
func New(o Options) *World {
	set(&o.Nodes, 3)
	set(&o.Producers, 3)
	set(&o.Readers, 2)
	set(&o.Topics, 2)
	set(&o.Duration, 6*time.Second)
	set(&o.Every, 300*time.Millisecond)
	w := &World{
		options: o, random: rand.New(rand.NewPCG(o.Seed, 0x4865726d6573)), faulty: true,
		noise: rand.New(rand.NewPCG(o.Seed, 0x6e6f697365)),
	}
	w.judge = newJudge(w)
	w.network = newNetwork(w)
	for id := uint64(1); id <= uint64(o.Nodes+o.Spare); id++ {
		w.nodes = append(w.nodes, newNode(w, id))
	}
	for _, n := range w.nodes[:o.Nodes] {
		n.start()
	}
	return w
}

func set[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// after plans something.
func (w *World) after(d time.Duration, do func()) {
	w.serial++
	heap.Push(&w.queue, event{w.now + max(d, 0), w.serial, do})
}

// Run lets simulated time pass. It ends early when a promise is broken.
func (w *World) Run(d time.Duration) error {
	end := w.now + d
	for w.failure == nil && len(w.queue) > 0 && w.queue[0].at <= end {
		e := heap.Pop(&w.queue).(event)
		w.now = e.at
		w.steps++
		e.do()
	}
	w.now = max(w.now, end)
	return w.failure
}

// until lets time pass until something is so.
func (w *World) until(limit time.Duration, what string, so func() bool) error {
	for end := w.now + limit; !so(); {
		if w.now >= end {
			w.fail("after %v without faults, still not so: %s\n%s", limit, what, w.describe())
		}
		if err := w.Run(tick); err != nil {
			return err
		}
	}
	return nil
}

// fail ends the run. The first reason counts.
func (w *World) fail(format string, args ...any) {
	if w.failure == nil {
		w.failure = fmt.Errorf("seed %d, at %v: %s", w.options.Seed, w.now, fmt.Sprintf(format, args...))
		w.trace("FAIL %v", w.failure)
	}
}

func (w *World) trace(format string, args ...any) {
	if w.options.Trace != nil {
		fmt.Fprintf(w.options.Trace, "%11.6f "+format+"\n", append([]any{w.now.Seconds()}, args...)...)
	}
}

// between draws a duration evenly.
func (w *World) between(low, high time.Duration) time.Duration {
	return low + time.Duration(w.random.Int64N(int64(high-low)+1))
}

// chance is true as often as p says.
func (w *World) chance(p float64) bool { return w.random.Float64() < p }

// Report is what a run did, to see that it was worth running.
type Report struct {
	Steps, Acknowledged, Reads, Provisional, Duplicates int
	Acks                                                int    // of groups, and their seeks
	Seen                                                int    // operations on groups whose history was checked
	Elections                                           uint64 // the last term
	Index                                               uint64 // of the last entry
	Snapshots, Restarts                                 int
	Sealed, Cleaned, Dropped, Joined                    int // segments
	// Members that took too long, that left, and what all of them worked on.
	Slow, Left, Worked int
	Aged               int // times that messages were given up for their age
	// Disks that were put back to a copy, and what became of their nodes.
	PutBack, Refused, Regained int
	Fingerprint                uint64 // of the log
}

// Simulate runs a whole world: work under faults, then none, until all nodes and
// clients agree, then the checks.
func Simulate(o Options) (Report, error) {
	w := New(o)
	err := w.Prepare()
	if err == nil {
		w.Work()
		w.planFault()
		err = w.Run(w.options.Duration)
	}
	if err == nil {
		err = w.Settle()
	}
	return w.report(), err
}

// Settle ends the faults, heals everything and checks what must then be so.
func (w *World) Settle() error {
	w.faulty = false
	w.heal()
	const patience = 30 * time.Second
	if err := w.until(patience, "all publishes are answered", w.answered); err != nil {
		return err
	}
	if err := w.until(patience, "all messages are worked on", w.worked); err != nil {
		return err
	}
	if err := w.until(patience, "all members have the same log", w.agreed); err != nil {
		return err
	}
	w.judge.final()
	return w.failure
}

// Leader is the id of the node that leads in the greatest term; 0: none.
func (w *World) Leader() (id, term uint64) {
	for _, n := range w.nodes {
		if n.replica != nil && n.leader == n.id && n.term > term {
			id, term = n.id, n.term
		}
	}
	return id, term
}

func (w *World) report() Report {
	r := w.judge.report
	r.Steps = w.steps
	r.Index = uint64(len(w.judge.log))
	for _, n := range w.nodes {
		r.Elections = max(r.Elections, n.term)
		r.Restarts += n.life
	}
	r.Fingerprint = w.judge.fingerprint()
	return r
}

func (w *World) describe() string {
	text := ""
	for _, n := range w.nodes {
		text += n.describe() + "\n"
	}
	for _, c := range w.crews {
		text += fmt.Sprintf("crew of topic %d: %d done, in hand %+v\n", c.topic, len(c.done), c.assigned)
	}
	for _, p := range w.clients {
		text += p.describe() + "\n"
	}
	return text
}
