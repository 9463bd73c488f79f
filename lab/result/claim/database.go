package claim

import (
	"fmt"
	"time"

	"wirelab/lab/result"
	"wirelab/lab/result/metric"
	"wirelab/lab/result/words"
)

// Count is something that a database did, on average for each call. Counts are shown but never compared, because they
// may be 0, and others may have caused them.
type Count struct {
	ID        string           `json:"id"` // "database-wal"; unlike a metric's id, a plan cannot name it
	Title     string           `json:"title"`
	Dimension metric.Dimension `json:"dimension"`
	Value     float64          `json:"value,omitempty"` // for each call, in the dimension's unit
	// Refused is set instead if no figure of the arm is valid.
	Refused *Refused `json:"refused,omitempty"`
}

// Counts returns what a trial's database did for each call, if that is known.
func Counts(t *result.Trial) []Count { return CountsOf(t.Database, t.Calls()) }

// CountsOf returns what a database did, for each of a number of calls.
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

// The limits. LimitNone means that no observed part was the limit. LimitUnknown means the same, but the database
// could not be observed.
const (
	LimitDatabase Limit = "database"
	LimitServer   Limit = "server"
	LimitClient   Limit = "client"
	LimitRelay    Limit = "relay"        // of the emulated network
	LimitCores    Limit = "shared cores" // several of the parts filled cores that they share
	LimitPool     Limit = "pool"
	LimitNone     Limit = "none"
	LimitUnknown  Limit = "unknown"
)

// Saturation says how close an arm's parts were to their maximum, and so what limited the arm. It is computed from
// stored totals:
//
//   - The number of busy cores is CPU time divided by the wall time of the calls, over all rounds. A set of
//     cores is full if the parts that may run only there used at least nine tenths of it. A full set is the
//     limit: more concurrent calls would only wait.
//   - A pool was a queue if calls spent a tenth of their service time or more waiting for a connection. It is
//     the limit if nothing is full. Only then can a larger pool help, and even then it need not, since its
//     connections may wait for a disk or a lock. Otherwise it is only where the queue was.
//   - The use by other processes is known only for all CPUs together. If that is more than a tenth, and nothing
//     else is full, the limit is left open.
//
// It is no fault if nothing was the limit: with one call in flight, or at a rate well below the maximum, that is
// expected.
type Saturation struct {
	Limit Limit `json:"limit"`
	// Says describes the limit in words, with the figures.
	Says string `json:"says"`
	// Busy are the parts whose CPU time is known.
	Busy []Busy `json:"busy"`
	// Pool is the use of the server's pool; nil if it has none.
	Pool *PoolQueue `json:"pool,omitempty"`
}

// Busy is the CPU time of a part as a number of cores, of those it may run on.
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
	Waited float64 `json:"waited"` // the share of requests for a connection that found none free
	Wait   float64 `json:"wait"`   // ns per call, on average over all calls
	Call   float64 `json:"call"`   // ns, the mean service time
	Share  float64 `json:"share"`  // Wait divided by Call
}

// DatabaseState describes an arm's database under a load.
type DatabaseState struct {
	// Within reports that it runs inside the server, whose cost includes it. Elsewhere reports that its processes
	// could not be observed, so their use is unknown.
	Within     bool       `json:"within,omitempty"`
	Elsewhere  bool       `json:"elsewhere,omitempty"`
	Counts     []Count    `json:"counts"` // what it did for each call
	Saturation Saturation `json:"saturation"`
	// Checkpoints is the number of checkpoints that started during slices.
	Checkpoints uint64 `json:"checkpoints,omitempty"`
}

// Says describes the queue in a sentence.
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
