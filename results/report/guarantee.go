package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"wirelab/lab/result"
	"wirelab/lab/result/claim"
	"wirelab/lab/stat"
)

// Promise says what an arm's caller can rely on after a successful answer.
func Promise(r *result.Result, arm int) string {
	if arm < 0 || arm >= len(r.Arms) || r.Arms[arm].Guarantee == nil {
		return "delivers entries in a way that was not recorded"
	}
	a := &r.Arms[arm]
	h := a.Guarantee
	broker := cmp.Or(a.Broker, "a "+h.Broker+" that runs elsewhere")
	switch {
	case h.Broker == "" && a.Database == "":
		return "answers once the entry is in the logger's memory, and a restart loses it"
	case h.Broker == "":
		return "answers once the entry is stored in " + a.Database
	case !h.Confirms:
		return fmt.Sprintf("answers before %s has confirmed anything (%s): the caller does not learn of a loss", broker,
			QueueWords(h))
	case h.OnDisk():
		return fmt.Sprintf("answers once %s has the entry on disk (%s); it is stored later", broker, QueueWords(h))
	case h.Sync == result.SyncFirst:
		return fmt.Sprintf("answers once %s has the entry in memory (%s); it is stored later", broker, QueueWords(h))
	}
	return fmt.Sprintf("answers once %s has confirmed the entry (%s); whether that is on disk is not known; it is "+
		"stored later", broker, QueueWords(h))
}

// earlyWords says in a few words why an entry may not be durable when the caller is answered.
func earlyWords(r *result.Result, arm int) string {
	why := "how it delivers entries was not recorded"
	if arm < len(r.Arms) && r.Arms[arm].Guarantee != nil {
		h := r.Arms[arm].Guarantee
		if why = QueueWords(h); h.Broker == "" {
			why = "kept in memory"
		}
	}
	return "answers before the entry is durable (" + why + ")"
}

// QueueWords describes how a queue is used: "quorum queue, confirmed, fsync before it confirms". It returns "" if
// there is no queue.
func QueueWords(h *result.Guarantee) string {
	if h == nil || h.Broker == "" {
		return ""
	}
	kind := strings.TrimSpace(h.Queue + " queue")
	if h.Queue == "stream" {
		kind = "stream"
	}
	word, sync := "unconfirmed", ""
	if h.Confirms {
		word = "confirmed"
		switch {
		case h.OnDisk():
			sync = "fsync before it confirms"
		case h.Sync == result.SyncLater:
			sync = "fsync after it confirms"
		case h.Sync != result.SyncFirst:
			sync = "fsync policy not known"
		}
	}
	transient := ""
	if !h.Persistent {
		transient = "transient"
	}
	return strings.Join(filled(kind, word, transient, sync), ", ")
}

// conditions returns the conditions that hold for every row of a table.
func conditions(r *result.Result, a *claim.Analysis, l *claim.LoadAnalysis) []Fact {
	loop := "closed loop: each caller waits for its answer"
	if l.Open {
		loop = "open loop: entries come when they are due, answered or not"
	}
	var facts []Fact
	for _, f := range []Fact{
		{Name: "load", Text: LoadName(r.Plan, l.Load) + ", " + loop},
		{Name: "database", Text: cmp.Or(Database(r), "the logger's memory")},
		{Name: "brokers", Text: brokers(r)},
		{Name: "machine", Text: machine(r)},
		{Name: "network", Text: Network(r)},
		{Name: "run", Text: strings.Join(filled(run(r, a), r.ID, day(r.Began)), ", ")},
	} {
		if f.Text != "" {
			facts = append(facts, f)
		}
	}
	return facts
}

// brokers lists the brokers that arms use, each with its queue and the arms.
func brokers(r *result.Result) string {
	var who Groups[string, string]
	for i := range r.Arms {
		if text := through(r, i); text != "" {
			who.Add(text, r.ArmName(i))
		}
	}
	return strings.Join(who.Each(func(text string, arms []string) string { return text + " (" + List(arms) + ")" }),
		"; ")
}

// through returns the broker that an arm uses, with its queue; "" if it uses none.
func through(r *result.Result, arm int) string {
	a := &r.Arms[arm]
	switch h := a.Guarantee; {
	case h != nil && h.Broker != "":
		return cmp.Or(a.Broker, h.Broker+" elsewhere") + ", " + QueueWords(h)
	case h == nil:
		return a.Broker
	}
	return ""
}

// holds writes the conditions of a row in one line: the load, and the deployment of the ways that the row puts first.
// It is the load alone if the row puts none first.
func holds(r *result.Result, l *claim.LoadAnalysis, arms []int) string {
	var databases, queues []string
	for arm := range r.Arms {
		if !slices.Contains(arms, arm) {
			continue
		}
		if text := cmp.Or(r.Arms[arm].Database, "the logger's memory"); !slices.Contains(databases, text) {
			databases = append(databases, text)
		}
		if text := through(r, arm); text != "" && !slices.Contains(queues, text) {
			queues = append(queues, text)
		}
	}
	parts := []string{LoadName(r.Plan, l.Load), List(databases)}
	if c := r.Environment; c.CPUs > 0 {
		queues = append(queues, fmt.Sprintf("%d CPUs", c.CPUs))
	}
	return strings.Join(filled(append(parts, queues...)...), "; ")
}

// Practical returns the smallest difference that may be claimed, as a share.
func Practical(r *result.Result) float64 {
	if p := r.Plan.Practical; p > 0 && p < 10 {
		return p
	}
	return stat.DefaultPractical
}
