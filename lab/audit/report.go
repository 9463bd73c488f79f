// Package audit reads the output of other load generators and compares it with the true response times. It knows the
// words, options and output of each tool, how to run one, and the arithmetic of the comparison. It knows no protocol
// and starts no server. The caller runs a service with known response times, and says what they are.
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

// The levels that are compared. At least one tool prints each of them by default.
const (
	P50  Level = 500
	P75  Level = 750
	P90  Level = 900
	P95  Level = 950
	P99  Level = 990
	P999 Level = 999
)

// Levels returns all of them, lowest first.
func Levels() []Level { return []Level{P50, P75, P90, P95, P99, P999} }

// String returns the usual notation of a level, such as p99.9.
func (l Level) String() string {
	if l%10 == 0 {
		return fmt.Sprintf("p%d", l/10)
	}
	return fmt.Sprintf("p%d.%d", l/10, l%10)
}

// MarshalText implements [encoding.TextMarshaler].
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// Share returns the level as a share from 0 to 1.
func (l Level) Share() float64 { return float64(l) / 1000 }

// levelOf returns the level of a percentage such as 99.9. ok is false if [Levels] does not have it.
func levelOf(percent float64) (Level, bool) {
	for _, l := range Levels() {
		if difference := percent*10 - float64(l); difference > -1e-6 && difference < 1e-6 {
			return l, true
		}
	}
	return 0, false
}

// Report is what a tool reports about its run. A value that it does not report is nil.
type Report struct {
	// Count is how many requests were answered, correctly or not, or failed.
	Count *uint64 `json:"count,omitempty"`
	// Errors is how many requests of Count did not get a correct reply, as far as the tool can tell. Invariant: Errors
	// <= Count.
	Errors *uint64 `json:"errors,omitempty"`
	// Dropped is how many requests were due, but left out, as the tool says.
	Dropped *uint64 `json:"dropped,omitempty"`
	// Rate is the rate in requests per second, as the tool counts them.
	Rate *float64 `json:"rate,omitempty"`
	// Elapsed is how long the run took, as the tool says.
	Elapsed *time.Duration `json:"elapsed_ns,omitempty"`
	Mean    *time.Duration `json:"mean_ns,omitempty"`
	Max     *time.Duration `json:"max_ns,omitempty"`
	// Quantiles are those of the response times.
	Quantiles map[Level]time.Duration `json:"quantiles_ns,omitempty"`
	// Remarks are the tool's own warnings about the run.
	Remarks []string `json:"remarks,omitempty"`
}

// at returns a quantile. It returns nil if the report does not have it, or r is nil.
func (r *Report) at(l Level) *time.Duration {
	if r == nil {
		return nil
	}
	if d, ok := r.Quantiles[l]; ok {
		return &d
	}
	return nil
}

// quantile stores a quantile, unless [Levels] does not have its level.
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

// checked returns the report if it has something to compare.
func (r Report) checked(tool string) (Report, error) {
	none := len(r.Quantiles) == 0 && r.Mean == nil
	if none && r.Count != nil && r.Errors != nil && *r.Count > 0 && *r.Count == *r.Errors {
		return Report{}, wirelab.Errorf(wirelab.InvalidArgument, "none of the %d requests of %s was answered", *r.Count,
			tool)
	}
	if none {
		return Report{}, wirelab.Errorf(wirelab.InvalidArgument, "the output of %s has no response times", tool)
	}
	if r.Count == nil {
		return Report{}, wirelab.Errorf(wirelab.InvalidArgument, "the output of %s has no number of requests", tool)
	}
	if r.Errors != nil && *r.Errors > *r.Count {
		// Some tools do not count failed requests among the answered ones.
		r.Count = ptr(*r.Errors)
	}
	return r, nil
}

func ptr[T any](v T) *T { return &v }

// Asked is the work that a command asks a tool to do, as far as its options say. A zero value means unknown.
type Asked struct {
	Rate     float64       `json:"rate,omitempty"`     // requests per second in all; 0: as many as are answered
	Requests uint64        `json:"requests,omitempty"` // how many in all
	For      time.Duration `json:"for_ns,omitempty"`   // how long
}

// Planned returns how many requests were to be sent, 0 if the command does not determine it.
func (a Asked) Planned() uint64 {
	if a.Rate <= 0 {
		return 0
	}
	if a.Requests > 0 {
		return a.Requests
	}
	return uint64(a.Rate*a.For.Seconds() + 0.5)
}

// Parser reads the output and options of one tool.
type Parser struct {
	// Name is the tool's name, and its command's.
	Name string
	// ours reports whether a text has the tool's marks.
	ours func(text string) bool // requests per second in all; 0: as many as are answered
	// parse reads one of the tool's texts.
	parse func(text string) (Report, error) // how long
	// asked reads the options of a command line. It may be nil.
	asked func(words []string) Asked
	// remarks finds the tool's warnings in everything that it printed. It may be nil.
	remarks func(all string) []string
}

// Parsers returns all parsers, in order of name.
func Parsers() []Parser {
	return []Parser{
		fortioParser(), ghzParser(), h2loadParser(), heyParser(), k6Parser(),
		ohaParser(), vegetaParser(), wrkParser(), wrk2Parser(),
	}
}

// Names returns the names of the known tools.
func Names() []string {
	var names []string
	for _, p := range Parsers() {
		names = append(names, p.Name)
	}
	return names
}

// Output is everything that a tool wrote.
type Output struct {
	File           string // the content of the file that it was asked to write, "" if none
	Stdout, Stderr string
	Cut            bool // the tool printed more than was kept
}

// texts returns the texts that may hold the report, the most likely first.
func (o Output) texts() []string { return []string{o.File, o.Stdout, o.Stderr} }

// ParserNamed returns the parser with a name.
func ParserNamed(name string) (Parser, error) {
	all := Parsers()
	if i := slices.IndexFunc(all, func(p Parser) bool { return p.Name == name }); i >= 0 {
		return all[i], nil
	}
	return Parser{}, wirelab.UnknownName("parser", name, Names())
}

// ParserOf returns the parser for a command line: the one for the first word that is the name of a known tool, with or
// without a path.
func ParserOf(words []string) (Parser, bool) {
	for i, w := range words {
		p, err := ParserNamed(w[strings.LastIndexByte(w, '/')+1:])
		if err != nil {
			continue
		}
		// Both are installed as wrk. Only wrk2 has the option for a rate, and requires it.
		if p.Name == "wrk" && optionOf(ownWords(words[i:]), "-R", "--rate") != "" {
			return wrk2Parser(), true
		}
		return p, true
	}
	return Parser{}, false
}

// ownWords returns the words up to the end of a simple command.
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

// Parse reads the tool's report. The error says what is wrong with the output.
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

// Asked reads the work that a command line asks the tool to do, from the options after the first word that is the name
// of a known tool, or from all words if there is none.
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
