package report

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"wirelab/lab/plan"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/metric"
	phrases "wirelab/lab/result/words"
)

// Word writes a verdict in one or two words, with the arm as the subject: "cheaper", "slower", "equivalent",
// "undecided".
func Word(m metric.Metric, v claim.Verdict) string {
	switch v {
	case claim.Better:
		return m.Gain
	case claim.Worse:
		return m.Loss
	case claim.Inconclusive:
		return "undecided"
	}
	return string(v)
}

// Verdict writes a verdict with its margin or with the number of missing rounds: "equivalent ±3 %", "undecided, +22
// rounds".
func Verdict(m metric.Metric, d *claim.Difference) string {
	word := Word(m, d.Verdict)
	switch {
	case d.Verdict == claim.Equivalent && !d.Exact:
		return word + " " + Margin(d.Margin)
	case d.Verdict == claim.Equivalent:
		return "the same"
	case d.Verdict == claim.Inconclusive:
		return fmt.Sprintf("%s, %s", word, MoreRounds(d.More))
	}
	return word
}

// Place writes an arm's place under a load: "2", "2=" if it shares the place, [Absent] if it has none.
func Place(l *claim.LoadAnalysis, arm int) string {
	at, sharing := l.Arms[arm].Place, 0
	if at == 0 {
		return Absent
	}
	for _, other := range l.Arms {
		if other.Place == at {
			sharing++
		}
	}
	if sharing > 1 {
		return fmt.Sprintf("%d=", at)
	}
	return fmt.Sprint(at)
}

// Rounds writes a number of rounds: "1 round", "12 rounds".
func Rounds(n int) string {
	if n == 1 {
		return "1 round"
	}
	return phrases.Thousands(uint64(max(n, 0))) + " rounds"
}

// manyRounds is the number from which a precise number is no longer useful.
const manyRounds = 1000

// MoreRounds writes how many rounds are missing: "+22 rounds".
func MoreRounds(n int) string {
	switch {
	case n == 1:
		return "+1 round"
	case n > manyRounds:
		return "+1,000s of rounds"
	}
	return fmt.Sprintf("+%s rounds", phrases.Thousands(uint64(max(n, 0))))
}

// Load names a load at the beginning of a sentence: "With 1 call in flight"; if the plan has several operations, "Of
// GetPerson with 1 call in flight".
func Load(p plan.Plan, load int) string {
	pace := "with " + paceName(p.Loads[load])
	switch l, shape := p.Loads[load], ShapeOf(p.Loads[load].Kind()); {
	case shape.under != nil:
		pace = shape.under(l)
	case l.Open() && shape.Calls:
		pace = "at " + paceName(l)
	}
	if operation := severalOf(p, load); operation != "" {
		return "Of " + operation + " " + pace
	}
	return strings.ToUpper(pace[:1]) + pace[1:]
}

// LoadName names a load: "50 calls in flight", "2,000/s Poisson"; if the plan has several operations, "GetPerson, 50
// calls in flight".
func LoadName(p plan.Plan, load int) string {
	if operation := severalOf(p, load); operation != "" {
		return operation + ", " + paceName(p.Loads[load])
	}
	return paceName(p.Loads[load])
}

// severalOf returns a load's operation if the plan has others, or if the load chooses its requests in another way.
func severalOf(p plan.Plan, load int) string {
	l := p.Loads[load]
	switch {
	case l.Requests != "" && (l.Operation != "" || len(p.Loads) > 1):
		return strings.TrimSpace(p.OperationOf(l) + " (" + l.Requests + ")")
	case len(p.Operations()) > 1:
		return p.OperationOf(l)
	}
	return ""
}

func paceName(l plan.Load) string {
	paced := ShapeOf(l.Kind()).paced
	switch {
	case paced != nil:
		return paced(l)
	case len(l.Stages) > 0:
		return l.Pace()
	case l.Open():
		return rate(l.Rate) + " " + l.LawWords()
	case l.InFlight <= 1:
		return "1 call in flight"
	}
	return phrases.Thousands(uint64(l.InFlight)) + " calls in flight"
}

func rate(perSecond float64) string {
	if perSecond == float64(uint64(perSecond)) {
		return phrases.Thousands(uint64(perSecond)) + "/s"
	}
	return Significant(perSecond, 3) + "/s"
}

// worded has the words that compare one arm's figure with another's.
type worded struct {
	of         string // after a value: "24.1 µs" + " of server CPU per request"
	best       string // "is cheapest on the server"
	more, less string // "costs 32 % more"; %s is the percentage
}

func words(m metric.Metric) worded {
	if w, ok := messageWords(m); ok {
		return w
	}
	times := worded{best: "is fastest", more: "takes %s longer", less: "takes %s less time"}
	switch {
	case m.ID == plan.ServerCPU:
		return worded{" of CPU per request", "is cheapest on the server", "costs %s more", "costs %s less"}
	case m.ID == plan.EventServerCPU:
		return worded{" of CPU per event", "is cheapest on the server", "costs %s more", "costs %s less"}
	case m.ID == plan.EventClientCPU:
		return worded{" of CPU per event", "is cheapest on the client", "costs %s more", "costs %s less"}
	case m.ID == plan.EventRate:
		return worded{" delivered in all", "is ahead", "delivers %s more events", "delivers %s fewer events"}
	case m.ID == plan.ClientCPU:
		return worded{" of CPU per request", "is cheapest on the client", "costs %s more", "costs %s less"}
	case m.ID == plan.EventDatabaseCPU:
		return worded{" of CPU per event", "is cheapest on the database", "costs %s more", "costs %s less"}
	case m.ID == plan.DatabaseCPU:
		return worded{" of CPU per request", "is cheapest on the database", "costs %s more", "costs %s less"}
	case m.ID == plan.BackendCPU:
		return worded{
			" of CPU per request", "is cheapest on server and database together", "costs %s more",
			"costs %s less",
		}
	case m.ID == plan.PoolWait:
		return worded{
			" of waiting for a connection per request", "is soonest served by the database",
			"waits %s longer", "waits %s less",
		}
	case m.ID == plan.Throughput:
		return worded{"", "is fastest", "answers %s more calls", "answers %s fewer calls"}
	case m.Dimension == metric.Size:
		return worded{" " + m.Title, "is smallest on the wire", "moves %s more", "moves %s less"}
	case m.Dimension == metric.Number:
		return worded{" " + m.Title, "is sparest with allocations", "makes %s more", "makes %s fewer"}
	}
	times.of = " " + m.Title
	return times
}

// With writes an estimate with its unit: "24.1 µs", "15,900/s".
func With(e claim.Estimate, u Unit) string {
	text := Value(e, u)
	if text == Absent { // no unit without a number
		return text
	}
	if value, refused := IsRefused(text); refused && u.Name != "" {
		return Refused(strings.TrimSpace(value + map[bool]string{true: "", false: " "}[u.Name[0] == '/'] + u.Name))
	}
	if !e.Known || u.Name == "" || u.Name[0] == '/' {
		return text + strings.TrimSpace(u.Name)
	}
	return text + " " + u.Name
}

// phrase describes how an arm differs from the first: "grpc costs 32 % more (95 % CI 31.6 to 33.2)". If there is no
// claim, it says so.
func phrase(w worded, name string, d *claim.Difference) string {
	switch d.Verdict {
	case claim.Better, claim.Worse:
		more, low, high := d.Ratio > 1, d.Low, d.High
		form := w.less
		if more {
			form = w.more
		} else {
			low, high = high, low
		}
		n := decimals(d)
		amount := unsigned(d.Ratio, n)
		if d.Exact {
			return fmt.Sprintf("%s %s (exact)", name, fmt.Sprintf(form, amount+" %"))
		}
		return fmt.Sprintf("%s %s (95 %% CI %s to %s)", name, fmt.Sprintf(form, amount+" %"), unsigned(low, n),
			unsigned(high, n))
	case claim.Equivalent:
		if d.Exact {
			return name + " is the same"
		}
		return fmt.Sprintf("%s is equivalent within %s", name, Margin(d.Margin))
	case claim.Inconclusive:
		if !Bounded(d) {
			return fmt.Sprintf("%s is undecided: %s, %s for %s", name, Interval(d), MoreRounds(d.More),
				Margin(d.Margin))
		}
		return fmt.Sprintf("%s is undecided: %s %%, interval %s, %s for %s",
			name, change(d.Ratio, decimals(d)), strings.Trim(Interval(d), "[]"), MoreRounds(d.More), Margin(d.Margin))
	case claim.TooFew:
		return fmt.Sprintf("nothing is claimed about %s yet: %s", name, d.Why)
	case claim.Unmeasured:
		return fmt.Sprintf("%s is not measured: %s", name, d.Why)
	case claim.Unsteady:
		return fmt.Sprintf("%s has %s", name, d.Why)
	}
	return fmt.Sprintf("%s is invalid: %s", name, d.Why)
}

// unsigned writes a ratio as a change in percent without its sign.
func unsigned(ratio float64, decimals int) string {
	return strings.TrimLeft(change(ratio, decimals), "+−")
}

// Titled puts a capital at the beginning of a text, unless the first word has a fixed spelling: "p99 response time"
// stays.
func Titled(text string) string {
	first, size := utf8.DecodeRuneInString(text)
	if next, _ := utf8.DecodeRuneInString(text[size:]); unicode.IsDigit(next) {
		return text
	}
	return string(unicode.ToUpper(first)) + text[size:]
}
