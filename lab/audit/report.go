// Package audit reads what other people's load generators print, and says how
// it stands beside the truth. It knows each tool's words, options and output,
// how to run one, and the arithmetic of the comparison. It knows no protocol,
// starts no server, and is told what the truth is: that comes from whoever
// runs the service whose answer times are known.
package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"wirelab"
)

// Level is a quantile in tenths of a percent: 999 is the p99.9.
type Level int

// The levels that are looked at. Those that no tool prints by default are of
// no use beside others'.
const (
	P50  Level = 500
	P75  Level = 750
	P90  Level = 900
	P95  Level = 950
	P99  Level = 990
	P999 Level = 999
)

// Levels returns them all, lowest first.
func Levels() []Level { return []Level{P50, P75, P90, P95, P99, P999} }

// String returns the level as people write it, such as p99.9.
func (l Level) String() string {
	if l%10 == 0 {
		return fmt.Sprintf("p%d", l/10)
	}
	return fmt.Sprintf("p%d.%d", l/10, l%10)
}

// MarshalText implements [encoding.TextMarshaler].
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// Share returns the level as a share, 0 to 1.
func (l Level) Share() float64 { return float64(l) / 1000 }

// levelOf returns the level of a percentage, such as 99.9. Others than those
// of [Levels] are not ok.
func levelOf(percent float64) (Level, bool) {
	for _, l := range Levels() {
		if difference := percent*10 - float64(l); difference > -1e-6 && difference < 1e-6 {
			return l, true
		}
	}
	return 0, false
}

// Report is what a tool says of its run. What it does not say is nil.
type Report struct {
	// Count is the requests that got an answer, right or wrong, or failed.
	Count *uint64 `json:"count,omitempty"`
	// Errors are those of Count that did not get a right answer, as far as
	// the tool can tell. Invariant: Errors <= Count.
	Errors *uint64 `json:"errors,omitempty"`
	// Dropped are requests that were due and that the tool says it left out.
	Dropped *uint64 `json:"dropped,omitempty"`
	// Rate is requests per second as the tool counts them.
	Rate *float64 `json:"rate,omitempty"`
	// Elapsed is how long it says it took.
	Elapsed *time.Duration `json:"elapsed_ns,omitempty"`
	Mean    *time.Duration `json:"mean_ns,omitempty"`
	Max     *time.Duration `json:"max_ns,omitempty"`
	// Quantiles are those of the answer times.
	Quantiles map[Level]time.Duration `json:"quantiles_ns,omitempty"`
	// Remarks are the tool's own words of doubt about the run.
	Remarks []string `json:"remarks,omitempty"`
}

// at returns a quantile, nil if it is not reported, or r is nil.
func (r *Report) at(l Level) *time.Duration {
	if r == nil {
		return nil
	}
	if d, ok := r.Quantiles[l]; ok {
		return &d
	}
	return nil
}

// quantile notes one, if it is of a level that is looked at.
func (r *Report) quantile(percent float64, d time.Duration) {
	l, ok := levelOf(percent)
	if !ok {
		return
	}
	if r.Quantiles == nil {
		r.Quantiles = map[Level]time.Duration{}
	}
	r.Quantiles[l] = d
}

// checked returns the report if there is anything in it to compare.
func (r Report) checked(tool string) (Report, error) {
	none := len(r.Quantiles) == 0 && r.Mean == nil
	if none && r.Count != nil && r.Errors != nil && *r.Count > 0 && *r.Count == *r.Errors {
		return Report{}, wirelab.Errorf(wirelab.InvalidArgument, "none of the %d requests of %s was answered", *r.Count,
			tool)
	}
	if none {
		return Report{}, wirelab.Errorf(wirelab.InvalidArgument, "no answer time is in the output of %s", tool)
	}
	if r.Count == nil {
		return Report{}, wirelab.Errorf(wirelab.InvalidArgument, "no number of requests is in the output of %s", tool)
	}
	if r.Errors != nil && *r.Errors > *r.Count {
		// Where failed requests are counted apart from answered ones.
		r.Count = ptr(*r.Errors)
	}
	return r, nil
}

func ptr[T any](v T) *T { return &v }

// Asked is what a command asks a tool to do, as far as its options tell.
// Zero values are what is not known.
type Asked struct {
	Rate     float64       `json:"rate,omitempty"`     // requests per second in all; 0: as many as are answered
	Requests uint64        `json:"requests,omitempty"` // how many in all
	For      time.Duration `json:"for_ns,omitempty"`   // how long
}

// Planned returns how many requests were to be sent, 0 if no number follows
// from what was asked.
func (a Asked) Planned() uint64 {
	if a.Rate <= 0 {
		return 0
	}
	if a.Requests > 0 {
		return a.Requests
	}
	return uint64(a.Rate*a.For.Seconds() + 0.5)
}

// Parser knows one tool.
type Parser struct {
	// Name of the tool, which is its command's too.
	Name string
	// ours reports whether a text bears the tool's marks.
	ours func(text string) bool
	// parse reads a text of the tool's.
	parse func(text string) (Report, error)
	// asked reads the options of a command line. May be nil.
	asked func(words []string) Asked
	// remarks finds the tool's doubts in everything it printed. May be nil.
	remarks func(all string) []string
}

// Parsers returns all, in order of name.
func Parsers() []Parser {
	return []Parser{
		fortioParser(), ghzParser(), h2loadParser(), heyParser(), k6Parser(),
		ohaParser(), vegetaParser(), wrkParser(), wrk2Parser(),
	}
}

// Names returns the names of the tools that are known.
func Names() []string {
	var names []string
	for _, p := range Parsers() {
		names = append(names, p.Name)
	}
	return names
}

// Output is all that a tool left behind.
type Output struct {
	File           string // what it wrote to the file that it was given, "" if none
	Stdout, Stderr string
	Cut            bool // it printed more than was kept
}

// texts are the places where a report may be, the likeliest first.
func (o Output) texts() []string { return []string{o.File, o.Stdout, o.Stderr} }

// ParserNamed returns the parser of a name.
func ParserNamed(name string) (Parser, error) {
	all := Parsers()
	if i := slices.IndexFunc(all, func(p Parser) bool { return p.Name == name }); i >= 0 {
		return all[i], nil
	}
	return Parser{}, wirelab.UnknownName("parser", name, Names())
}

// ParserOf returns the parser for a command line: that of the first word that
// is a known tool's name, wherever it is installed.
func ParserOf(words []string) (Parser, bool) {
	for i, w := range words {
		p, err := ParserNamed(w[strings.LastIndexByte(w, '/')+1:])
		if err != nil {
			continue
		}
		// Both are installed as wrk; only one has a rate, and must have it.
		if p.Name == "wrk" && optionOf(ownWords(words[i:]), "-R", "--rate") != "" {
			return wrk2Parser(), true
		}
		return p, true
	}
	return Parser{}, false
}

// ownWords are the words up to the end of a simple command.
func ownWords(words []string) []string {
	if end := slices.IndexFunc(words, func(w string) bool { return w == "|" || w == ";" || w == "&" }); end >= 0 {
		return words[:end]
	}
	return words
}

// ParserOfOutput returns the parser whose marks are in the output.
func ParserOfOutput(o Output) (Parser, bool) {
	for _, text := range o.texts() {
		for _, p := range Parsers() {
			if p.ours(text) {
				return p, true
			}
		}
	}
	return Parser{}, false
}

// Parse reads what the tool reports. The error says what is wrong with it.
func (p Parser) Parse(o Output) (Report, error) {
	for _, text := range o.texts() {
		if !p.ours(text) {
			continue
		}
		r, err := p.parse(text)
		if err != nil {
			return Report{}, err
		}
		if p.remarks != nil {
			r.Remarks = p.remarks(strings.Join(o.texts(), "\n"))
		}
		return r.checked(p.Name)
	}
	return Report{}, wirelab.Errorf(wirelab.InvalidArgument, "the output is not as %s prints it", p.Name)
}

// Reads reports whether the tool's marks are in the output.
func (p Parser) Reads(o Output) bool { return slices.ContainsFunc(o.texts(), p.ours) }

// Asked reads what a command line asks the tool to do: of the options after
// the first word that is a known tool's name, or all if none is.
func (p Parser) Asked(words []string) Asked {
	if p.asked == nil {
		return Asked{}
	}
	for i := range words {
		if _, ok := ParserOf(words[i : i+1]); ok {
			return p.asked(ownWords(words[i:]))
		}
	}
	return p.asked(words)
}
