package gate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	"wirelab/lab/result/words"
)

// Thresholds above which a part is called a limit.
const (
	// fullShare is the share of their time that cores must be busy to be called full. In a closed loop, a core that
	// is the limit works all the time, except for the edges of slices and what interrupts and other processes use,
	// some per cent each. At nine tenths, a queue is nine times as long as the work in service.
	fullShare = 0.9
	// queueShare is the share of a call's service time, spent waiting for a database connection, above which the pool
	// is reported as a queue.
	queueShare = 0.1
)

// Database describes the arm's database; it does nothing if no trial has data about one.
func (s *Subject) Database() {
	var use *result.DatabaseUse
	calls := uint64(0)
	for _, t := range s.Trials {
		if t.Database == nil {
			continue
		}
		use, calls = use.Add(*t.Database), calls+t.Calls()
	}
	if use == nil {
		return
	}
	d := &claim.DatabaseState{Within: use.Within, Counts: claim.CountsOf(use, calls)}
	d.Elsewhere = !use.Within && use.Processes == nil
	if use.Counts != nil {
		d.Checkpoints = use.Counts.Checkpoints
	}
	d.Saturation = s.saturation(d)
	s.State.Database = d
	if use.Within {
		return
	}
	s.Add(claim.Check{
		Gate: result.DatabaseSeen, OK: true, Limited: d.Elsewhere,
		Detail: words.Choose(!d.Elsewhere, "the database's processes were accounted for",
			"database not seen: its processes are not on this host, so it is not known what they used, or whether "+
				"they were the limit"),
		Fix: "--db with a PostgreSQL on this host, or none, for one of our own",
	})
}

// saturation says what limited the arm.
func (s *Subject) saturation(d *claim.DatabaseState) claim.Saturation {
	found := claim.Saturation{Busy: s.busy(), Pool: s.poolQueue()}
	groups := s.groups(found.Busy)
	full := slices.MaxFunc(append(groups, coreGroup{}),
		func(a, b coreGroup) int { return cmp.Compare(a.share(), b.share()) })
	queue := found.Pool != nil && found.Pool.Share >= queueShare
	switch {
	case full.share() >= fullShare:
		found.Limit, found.Says = full.limit()
		if queue {
			found.Says += "; the queue for it stood at the pool: " + found.Pool.Says()
		}
	case queue:
		found.Limit = claim.LimitPool
		found.Says = fmt.Sprintf("the pool of %d was the queue: %s a connection, while no cores were full: %s",
			found.Pool.Size, found.Pool.Queued(), listBusy(found.Busy, groups))
	default:
		found.Limit = claim.LimitNone
		found.Says = "neither cores nor pool were the limit: " + listBusy(found.Busy, groups)
		if found.Pool != nil {
			found.Says += "; " + found.Pool.Says()
		}
	}
	switch {
	case d.Elsewhere && found.Limit == claim.LimitNone:
		found.Limit = claim.LimitUnknown
		found.Says = strings.Replace(found.Says, "neither cores nor pool were the limit",
			"nothing that was seen was the limit", 1)
		fallthrough
	case d.Elsewhere:
		found.Says += "; what the database used is not known"
	case d.Within:
		found.Says += "; the database is inside the server"
	}
	if others := s.others(); others > neighbourShare && full.share() < fullShare {
		if found.Limit == claim.LimitNone {
			found.Limit = claim.LimitUnknown
		}
		found.Says += fmt.Sprintf("; other processes used %s of all CPUs in that time, and may have filled cores",
			words.Percent(others))
	}
	return found
}

// others is the share of all CPUs that other processes used, on average over the rounds. It is not known on which
// cores.
func (s *Subject) others() float64 {
	if len(s.Rounds) == 0 {
		return 0
	}
	sum := 0.0
	for _, n := range s.Rounds {
		sum += max(0, s.Result.Rounds[n].Noise.Others)
	}
	return claim.Finite(sum / float64(len(s.Rounds)))
}

// stretch is the duration of a trial's calls, from the begin of the first to the end of the last.
func stretch(t *result.Trial) time.Duration {
	if u := Used(t); u != nil {
		return time.Duration(u.Wall)
	}
	return time.Duration(max(t.Window, 0) + max(t.Drained, 0))
}

// atWork is how long what stands behind the calls was at work for them, which may be longer than they took.
func (s *Subject) atWork(t *result.Trial) time.Duration {
	if s.Manner.Behind == nil {
		return stretch(t)
	}
	return max(stretch(t), s.Manner.Behind(t))
}

// busy is what the parts used over all rounds, for parts that are known in every round.
func (s *Subject) busy() []claim.Busy {
	place := s.Result.Placement
	parts := []struct {
		who  string
		cpus []int
		wall func(*result.Trial) time.Duration
		take func(*result.Trial) (float64, bool)
	}{
		{"database", place.DatabaseCPUs, s.atWork, metric.DatabaseCPU},
		{
			"server", s.Result.ServerCPUs(s.Arm), s.atWork,
			func(t *result.Trial) (float64, bool) { return metric.CPU(t.Server) },
		},
		{"client", place.DriverCPUs, stretch, func(t *result.Trial) (float64, bool) { return metric.CPU(t.Driver) }},
		{"relay", place.RelayCPUs, stretch, func(t *result.Trial) (float64, bool) {
			if t.Relay == nil {
				return 0, false
			}
			return float64(t.Relay.CPU), true
		}},
	}
	all := []claim.Busy{}
	for _, p := range parts {
		one := claim.Busy{Who: p.who, CPUs: p.cpus}
		wall, known := time.Duration(0), true
		for _, t := range s.Trials {
			v, ok := p.take(t)
			known = known && ok && p.wall(t) > 0
			if !known {
				break
			}
			one.Used += v
			wall += p.wall(t)
			if p.who == "database" {
				one.Background += float64(t.Database.Processes.Background)
				if one.CPUs == nil {
					one.CPUs = t.Database.Processes.CPUs
				}
			}
		}
		if !known || wall <= 0 {
			continue
		}
		one.Used, one.Background = claim.Finite(one.Used/float64(wall)), claim.Finite(one.Background/float64(wall))
		if len(one.CPUs) >= s.Result.Environment.CPUs {
			one.CPUs = nil
		}
		if one.Cores = s.Cores(one.CPUs); one.Cores > 0 {
			all = append(all, one)
		}
	}
	return all
}

// coreGroup is a set of cores and the parts that may run only there.
type coreGroup struct {
	cores int
	parts []claim.Busy
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

// groups returns the sets of cores that parts were given, with the parts that are restricted to each. If a part may
// run elsewhere too, it is not known where it ran.
func (s *Subject) groups(all []claim.Busy) []coreGroup {
	var groups []coreGroup
	for _, of := range all {
		g := coreGroup{cores: of.Cores}
		for _, b := range all {
			if within(b.CPUs, of.CPUs) {
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

// limit says that a group's cores were full. Parts that used almost nothing of them are not named.
func (g coreGroup) limit() (claim.Limit, string) {
	const little = 0.05
	of := fmt.Sprintf("the %d cores", g.cores)
	if g.cores == 1 {
		of = "the 1 core"
	}
	var filled []claim.Busy
	for _, b := range g.parts {
		if b.Used >= little*g.used() {
			filled = append(filled, b)
		}
	}
	if len(filled) == 1 {
		return claim.Limit(filled[0].Who),
			fmt.Sprintf("the %s was the limit: it used %s of %s it had", filled[0].Who, cores(filled[0].Used), of)
	}
	names := coreGroup{parts: filled}.names()
	if g.cores > 1 {
		of = fmt.Sprintf("the %d", g.cores)
	}
	return claim.LimitCores, fmt.Sprintf("%s filled %s they share: %s, %s in all", words.And(names),
		strings.Replace(of, "the 1 core", "the one core", 1), usedBy(filled), cores(g.used()))
}

// poolQueue is the use of the pool over all rounds; nil if a round does not record it.
func (s *Subject) poolQueue() *claim.PoolQueue {
	if s.Manner.Streamed {
		return nil // an event's time begins when it is due, and not with the wait for a row
	}
	var sum *result.PoolUse
	calls := uint64(0)
	for _, t := range s.Trials {
		if t.Pool == nil {
			return nil
		}
		sum, calls = sum.Add(*t.Pool), calls+t.Calls()
	}
	mean := s.service().Mean()
	if sum == nil || calls == 0 || !(mean > 0) {
		return nil
	}
	q := &claim.PoolQueue{Size: sum.Size, Wait: float64(max(0, sum.Waiting)) / float64(calls), Call: mean}
	q.Share = claim.Finite(q.Wait / mean)
	if sum.Taken > 0 {
		q.Waited = min(1, float64(sum.Waited)/float64(sum.Taken))
	}
	return q
}

// cores writes a number of cores.
func cores(n float64) string { return fmt.Sprintf("%.2f", n) }

// usedBy lists what parts used.
func usedBy(all []claim.Busy) string {
	texts := make([]string, len(all))
	for i, b := range all {
		texts[i] = b.Who + " " + cores(b.Used)
	}
	return strings.Join(texts, ", ")
}

// listBusy lists what parts used of their cores, and of the cores that they shared.
func listBusy(all []claim.Busy, groups []coreGroup) string {
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
		if names := words.And(g.names()); len(g.parts) > 1 && !shared[names] {
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
