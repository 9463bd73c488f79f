package result

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Limits on what is called a limit.
const (
	// fullShare of their time is what busy cores must use to be called full. A
	// closed loop keeps a core that limits it at work all the time but for the
	// slices' edges and what interrupts and neighbours take of it, some per
	// cent each; at nine tenths a queue is nine times as long as what is served.
	fullShare = 0.9
	// queueShare of a call's service time, spent waiting for a connection to
	// the database, makes the pool a queue that is worth naming.
	queueShare = 0.1
)

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

	cpus []int // nil: any
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

// database says what is known of the arm's database; nothing where no trial
// tells of one.
func (s *subject) database() {
	var use *DatabaseUse
	calls := uint64(0)
	for _, t := range s.trials {
		if t.Database == nil {
			continue
		}
		use, calls = use.Add(*t.Database), calls+t.Calls()
	}
	if use == nil {
		return
	}
	d := &DatabaseState{Within: use.Within, Counts: countsOf(use, calls)}
	d.Elsewhere = !use.Within && use.Processes == nil
	if use.Counts != nil {
		d.Checkpoints = use.Counts.Checkpoints
	}
	d.Saturation = s.saturation(d)
	s.state.Database = d
	if use.Within {
		return
	}
	s.add(Check{
		Gate: DatabaseSeen, OK: true, Limited: d.Elsewhere,
		Detail: choose(!d.Elsewhere, "the database's processes were accounted for",
			"database not seen: its processes are not on this host, so what they used is not known, nor whether they were the limit"),
		Fix: "--db with a PostgreSQL on this host, or none, for one of our own",
	})
}

// saturation says what limited the arm.
func (s *subject) saturation(d *DatabaseState) Saturation {
	found := Saturation{Busy: s.busy(), Pool: s.poolQueue()}
	groups := s.groups(found.Busy)
	full := slices.MaxFunc(append(groups, coreGroup{}), func(a, b coreGroup) int { return cmp.Compare(a.share(), b.share()) })
	queue := found.Pool != nil && found.Pool.Share >= queueShare
	switch {
	case full.share() >= fullShare:
		found.Limit, found.Says = full.limit()
		if queue {
			found.Says += "; the queue for it stood at the pool: " + found.Pool.says()
		}
	case queue:
		found.Limit = LimitPool
		found.Says = fmt.Sprintf("the pool of %d was the queue: %s a connection, while no cores were full: %s",
			found.Pool.Size, found.Pool.waited(), listBusy(found.Busy, groups))
	default:
		found.Limit = LimitNone
		found.Says = "neither cores nor pool were the limit: " + listBusy(found.Busy, groups)
		if found.Pool != nil {
			found.Says += "; " + found.Pool.says()
		}
	}
	switch {
	case d.Elsewhere && found.Limit == LimitNone:
		found.Limit = LimitUnknown
		found.Says = strings.Replace(found.Says, "neither cores nor pool were the limit", "nothing that was seen was the limit", 1)
		fallthrough
	case d.Elsewhere:
		found.Says += "; what the database used is not known"
	case d.Within:
		found.Says += "; the database is inside the server"
	}
	if others := s.others(); others > neighbourShare && full.share() < fullShare {
		if found.Limit == LimitNone {
			found.Limit = LimitUnknown
		}
		found.Says += fmt.Sprintf("; other processes used %s of all CPUs meanwhile, and may have filled cores", percent(others))
	}
	return found
}

// others is the share of all CPUs that other processes used, on average over
// the rounds; whose cores those were is not known.
func (s *subject) others() float64 {
	if len(s.rounds) == 0 {
		return 0
	}
	sum := 0.0
	for _, n := range s.rounds {
		sum += max(0, s.result.Rounds[n].Noise.Others)
	}
	return finite(sum / float64(len(s.rounds)))
}

// stretch is how long a trial's calls took, the first one's begin to the last one's end.
func stretch(t *Trial) time.Duration {
	if u := used(t); u != nil {
		return time.Duration(u.Wall)
	}
	return time.Duration(max(t.Window, 0) + max(t.Drained, 0))
}

// untilStored is how long what stands behind the calls was at work for them: of
// entries that were followed until the last was stored, since CPU time was read
// then. By the calls' time alone a queue's parts would have used more than the
// cores that they had.
func untilStored(t *Trial) time.Duration {
	stored := 0
	if t.Followed != nil {
		for _, slice := range t.Followed.Backlog {
			stored += len(slice)
		}
	}
	return max(stretch(t), time.Duration(stored)*BacklogEvery)
}

// busy is what the parts used over all rounds, of those known in every round.
func (s *subject) busy() []Busy {
	place := s.result.Placement
	parts := []struct {
		who  string
		cpus []int
		wall func(*Trial) time.Duration
		take func(*Trial) (float64, bool)
	}{
		{"database", place.DatabaseCPUs, untilStored, databaseCPU},
		{"server", s.result.serverCPUs(s.arm), untilStored, func(t *Trial) (float64, bool) { return cpu(t.Server) }},
		{"client", place.DriverCPUs, stretch, func(t *Trial) (float64, bool) { return cpu(t.Driver) }},
		{"relay", place.RelayCPUs, stretch, func(t *Trial) (float64, bool) {
			if t.Relay == nil {
				return 0, false
			}
			return float64(t.Relay.CPU), true
		}},
	}
	all := []Busy{}
	for _, p := range parts {
		one := Busy{Who: p.who, cpus: p.cpus}
		wall, known := time.Duration(0), true
		for _, t := range s.trials {
			v, ok := p.take(t)
			known = known && ok && p.wall(t) > 0
			if !known {
				break
			}
			one.Used += v
			wall += p.wall(t)
			if p.who == "database" {
				one.Background += float64(t.Database.Processes.Background)
				if one.cpus == nil {
					one.cpus = t.Database.Processes.CPUs
				}
			}
		}
		if !known || wall <= 0 {
			continue
		}
		one.Used, one.Background = finite(one.Used/float64(wall)), finite(one.Background/float64(wall))
		if len(one.cpus) >= s.result.Environment.CPUs {
			one.cpus = nil
		}
		if one.Cores = s.cores(one.cpus); one.Cores > 0 {
			all = append(all, one)
		}
	}
	return all
}

// coreGroup is cores and the parts that may run there and nowhere else.
type coreGroup struct {
	cores int
	parts []Busy
}

func (g coreGroup) used() (sum float64) {
	for _, b := range g.parts {
		sum += b.Used
	}
	return sum
}

func (g coreGroup) share() float64 {
	if g.cores == 0 {
		return 0
	}
	return g.used() / float64(g.cores)
}

// groups are the sets of cores that parts were given, with who is bound to
// each: of a part that may run elsewhere too it is not known where it did.
func (s *subject) groups(all []Busy) []coreGroup {
	var groups []coreGroup
	for _, of := range all {
		g := coreGroup{cores: of.Cores}
		for _, b := range all {
			if within(b.cpus, of.cpus) {
				g.parts = append(g.parts, b)
			}
		}
		groups = append(groups, g)
	}
	return groups
}

// within reports whether one set of cores is part of another; nil is all.
func within(part, whole []int) bool {
	if whole == nil {
		return true
	}
	return part != nil && !slices.ContainsFunc(part, func(cpu int) bool { return !slices.Contains(whole, cpu) })
}

// limit says that a group's cores were full. Who used next to nothing of them
// is not named as having filled them.
func (g coreGroup) limit() (Limit, string) {
	const little = 0.05
	of := fmt.Sprintf("the %d cores", g.cores)
	if g.cores == 1 {
		of = "the 1 core"
	}
	var filled []Busy
	for _, b := range g.parts {
		if b.Used >= little*g.used() {
			filled = append(filled, b)
		}
	}
	if len(filled) == 1 {
		return Limit(filled[0].Who), fmt.Sprintf("the %s was the limit: it used %s of %s it had", filled[0].Who, cores(filled[0].Used), of)
	}
	names := coreGroup{parts: filled}.names()
	if g.cores > 1 {
		of = fmt.Sprintf("the %d", g.cores)
	}
	return LimitCores, fmt.Sprintf("%s filled %s they share: %s, %s in all", and(names), strings.Replace(of, "the 1 core", "the one core", 1), usedBy(filled), cores(g.used()))
}

func (q *PoolQueue) says() string {
	if q.Wait <= 0 {
		return fmt.Sprintf("no call waited for one of the pool's %d connections", q.Size)
	}
	return fmt.Sprintf("%s one of its %d connections", q.waited(), q.Size)
}

func (q *PoolQueue) waited() string {
	return fmt.Sprintf("calls waited %v of %v for", brief(time.Duration(q.Wait)), brief(time.Duration(q.Call)))
}

// poolQueue is how the pool was used over all rounds; nil where a round does
// not tell.
func (s *subject) poolQueue() *PoolQueue {
	if s.manner.Streamed {
		return nil // an event's time begins when it is due, and not with the wait for a row
	}
	var sum *PoolUse
	calls := uint64(0)
	for _, t := range s.trials {
		if t.Pool == nil {
			return nil
		}
		sum, calls = sum.Add(*t.Pool), calls+t.Calls()
	}
	mean := s.service().Mean()
	if sum == nil || calls == 0 || !(mean > 0) {
		return nil
	}
	q := &PoolQueue{Size: sum.Size, Wait: float64(max(0, sum.Waiting)) / float64(calls), Call: mean}
	q.Share = finite(q.Wait / mean)
	if sum.Taken > 0 {
		q.Waited = min(1, float64(sum.Waited)/float64(sum.Taken))
	}
	return q
}

// cores writes a number of cores.
func cores(n float64) string { return fmt.Sprintf("%.2f", n) }

// usedBy lists what parts used.
func usedBy(all []Busy) string {
	texts := make([]string, len(all))
	for i, b := range all {
		texts[i] = b.Who + " " + cores(b.Used)
	}
	return strings.Join(texts, ", ")
}

// listBusy lists what parts used of what they had, and of what they shared.
func listBusy(all []Busy, groups []coreGroup) string {
	var texts []string
	for i, b := range all {
		text := fmt.Sprintf("the %s used %s of %d", b.Who, cores(b.Used), b.Cores)
		if i == 0 {
			text += map[bool]string{true: " core", false: " cores"}[b.Cores == 1]
		}
		texts = append(texts, text)
	}
	if len(texts) == 0 {
		return "no CPU time is known"
	}
	shared := map[string]bool{}
	for _, g := range groups {
		if names := and(g.names()); len(g.parts) > 1 && !shared[names] {
			shared[names] = true
			texts = append(texts, fmt.Sprintf("%s together %s of the %d", names, cores(g.used()), g.cores))
		}
	}
	return strings.Join(texts, ", ")
}

func (g coreGroup) names() []string {
	all := make([]string, len(g.parts))
	for i, b := range g.parts {
		all[i] = b.Who
	}
	return all
}
