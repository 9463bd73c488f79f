package claim

import (
	"fmt"
	"time"

	"wirelab/lab/result"
	"wirelab/lab/result/metric"
	"wirelab/lab/result/words"
)

// Count is something that a database did for each call, on average: shown, and
// never compared, since there may be none of it and others may have caused it.
type Count struct {
	ID        string           `json:"id"` // "database-wal"; unlike a metric's no plan may name it
	Title     string           `json:"title"`
	Dimension metric.Dimension `json:"dimension"`
	Value     float64          `json:"value,omitempty"` // a call, in the dimension's unit
	// Refused is set instead where no figure of the arm is valid.
	Refused *Refused `json:"refused,omitempty"`
}

// Counts returns what a trial's database did for each call, as far as it is known.
func Counts(t *result.Trial) []Count { return CountsOf(t.Database, t.Calls()) }

// CountsOf returns what a database did for each of so many calls.
func CountsOf(d *result.DatabaseUse, calls uint64) []Count {
	all := []Count{}
	if d == nil || calls == 0 {
		return all
	}
	add := func(id, title string, in metric.Dimension, n uint64) {
		all = append(all, Count{ID: "database-" + id, Title: title, Dimension: in, Value: float64(n) / float64(calls)})
	}
	if d.Processes != nil && d.Processes.Storage != nil {
		add("read", "database read", metric.Size, d.Processes.Storage.Read)
		add("written", "database written", metric.Size, d.Processes.Storage.Written)
	}
	if c := d.Counts; c != nil {
		add("wal", "database log", metric.Size, c.WALBytes)
		add("blocks-read", "database blocks read", metric.Number, c.BlocksRead)
		add("blocks-hit", "database blocks cached", metric.Number, c.BlocksHit)
		add("commits", "database commits", metric.Number, c.Commits)
		add("rollbacks", "database rollbacks", metric.Number, c.Rollbacks)
	}
	return all
}

// Limit is what limited an arm under a load.
type Limit string

// The limits. LimitNone: nothing that was looked at. LimitUnknown: nothing
// that was looked at, and the database could not be.
const (
	LimitDatabase Limit = "database"
	LimitServer   Limit = "server"
	LimitClient   Limit = "client"
	LimitRelay    Limit = "relay"        // of the network
	LimitCores    Limit = "shared cores" // several of those filled cores that they share
	LimitPool     Limit = "pool"
	LimitNone     Limit = "none"
	LimitUnknown  Limit = "unknown"
)

// Saturation is how near an arm's parts were to what they could do at most,
// and so what limited it. All of it is arithmetic on stored totals:
//
//   - cores busy is CPU time by the wall time of the calls, over all rounds. A
//     set of cores is full if those that may run there only used at least nine
//     tenths of it. What is full limits: more calls at once would only wait.
//   - a pool was a queue if calls spent a tenth of their service time or more
//     waiting for a connection. It limits if nothing is full: only then can a
//     larger one help, and then it need not, since what its connections wait
//     for may be a disk or a lock. Otherwise it is where the queue stood.
//   - what neighbours used is known of all CPUs together only. Where that is
//     more than a tenth, and nothing else is full, what limited is left open.
//
// That nothing limited is no fault: with one call in flight, or at a rate well
// below what is possible, nothing should.
type Saturation struct {
	Limit Limit `json:"limit"`
	// Says says it in words, with the figures.
	Says string `json:"says"`
	// Busy are the parts whose CPU time is known.
	Busy []Busy `json:"busy"`
	// Pool is how the server's pool was used; nil where it has none.
	Pool *PoolQueue `json:"pool,omitempty"`
}

// Busy is how many cores' time a part used, of those it may run on.
type Busy struct {
	Who   string  `json:"who"`  // "database", "server", "client", "relay"
	Used  float64 `json:"used"` // cores, on average over the calls' wall time
	Cores int     `json:"cores"`
	// Background is the part of Used that served no connection.
	Background float64 `json:"background,omitempty"`

	CPUs []int `json:"-"` // nil: any
}

// PoolQueue is the queue for a server's connections to its database.
type PoolQueue struct {
	Size   int     `json:"size"`
	Waited float64 `json:"waited"` // share of the times that one was taken in which none was free
	Wait   float64 `json:"wait"`   // ns a call, on average over all calls
	Call   float64 `json:"call"`   // ns, the mean service time
	Share  float64 `json:"share"`  // Wait by Call
}

// DatabaseState is what is known of an arm's database under a load.
type DatabaseState struct {
	// Within: it runs inside the server, and its cost is in the server's.
	// Elsewhere: its processes could not be seen, so what they used is unknown.
	Within     bool       `json:"within,omitempty"`
	Elsewhere  bool       `json:"elsewhere,omitempty"`
	Counts     []Count    `json:"counts"` // what it did for each call
	Saturation Saturation `json:"saturation"`
	// Checkpoints is how many began while slices ran.
	Checkpoints uint64 `json:"checkpoints,omitempty"`
}

// Says is the queue in a sentence.
func (q *PoolQueue) Says() string {
	if q.Wait <= 0 {
		return fmt.Sprintf("no call waited for one of the pool's %d connections", q.Size)
	}
	return fmt.Sprintf("%s one of its %d connections", q.Queued(), q.Size)
}

// Queued says how much of their time calls waited for a connection.
func (q *PoolQueue) Queued() string {
	return fmt.Sprintf("calls waited %v of %v for", words.Brief(time.Duration(q.Wait)),
		words.Brief(time.Duration(q.Call)))
}
