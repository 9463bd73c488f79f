// Package inject makes a server behave in a known way: it delays every call by a time from a given distribution, stops
// at regular times, or uses CPU time. It also computes the response times that are then true. It tests clients, load
// generators and wirelab itself: their reports are compared with the closed form.
//
// It knows calls only through [wirelab.Hooks], and knows neither wires nor load.
package inject

import (
	"strconv"
	"strings"
	"time"

	"wirelab"
)

// Behaviour is what a server does in addition to its work. The zero value is nothing. Make one with [Parse].
type Behaviour struct {
	kind kind
	// first is the delay, the mean, the service time or the CPU time. second is the other delay of bimodal, or how long
	// frozen stops. every is the period of frozen.
	first, second, every time.Duration
	share                float64 // of bimodal's first delay
}

// kind is the first word of a behaviour's text.
type kind string

const (
	none        kind = "none"
	constant    kind = "constant"
	bimodal     kind = "bimodal"
	exponential kind = "exponential"
	frozen      kind = "frozen"
	spin        kind = "spin"
)

// form is the notation of a behaviour, and its meaning.
type form struct {
	kind
	arguments string // "" or "DELAY"
	example   string
	about     string
}

func forms() []form {
	return []form{
		{none, "", "none", "nothing"},
		{constant, "DELAY", "constant 20ms", "every call takes DELAY"},
		{
			bimodal, "DELAY DELAY SHARE", "bimodal 20ms 50ms 0.8",
			"SHARE of the calls take the first DELAY, the others the second",
		},
		{exponential, "MEAN", "exponential 20ms", "calls take exponentially distributed times"},
		{
			frozen, "SERVICE STILL EVERY", "frozen 1ms 500ms 5s",
			"calls take SERVICE, but everything stops for the last STILL of EVERY",
		},
		{spin, "TIME", "spin 2us", "every call burns TIME of a processor"},
	}
}

// Help lists the forms that [Parse] reads, one a line, for the help of a command.
func Help() string {
	var b strings.Builder
	for _, f := range forms() {
		words := strings.TrimSpace(string(f.kind) + " " + f.arguments)
		b.WriteString("  " + words + strings.Repeat(" ", 28-len(words)) + f.about + "\n")
	}
	return b.String()
}

// The bounds of injected values. A delay shorter than a wire's own time would not be visible, and a server with one
// longer than a minute is as good as dead.
const (
	delayMin, delayMax = 10 * time.Microsecond, time.Minute
	spinMin, spinMax   = 500 * time.Nanosecond, 100 * time.Millisecond
	shareMin, shareMax = 0.001, 0.999
)

// Parse reads a behaviour: "constant 20ms", "bimodal 10ms 50ms 0.9" (0.9 of the calls take 10 ms), "exponential 20ms"
// (mean), "frozen 1ms 500ms 5s", "spin 2us", "none" or "". Errors have code InvalidArgument and list the known
// behaviours.
func Parse(text string) (Behaviour, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return Behaviour{}, nil
	}
	for _, f := range forms() {
		if words[0] != string(f.kind) {
			continue
		}
		b, err := f.read(words[1:])
		if err != nil {
			return Behaviour{}, wirelab.Errorf(wirelab.InvalidArgument, "inject %.60q: %s; write for example %q",
				text, wirelab.Public(err).Message, f.example)
		}
		return b, nil
	}
	known := make([]string, 0, len(forms()))
	for _, f := range forms() {
		known = append(known, strconv.Quote(f.example))
	}
	return Behaviour{}, wirelab.UnknownName("behaviour (inject)", text, known)
}

// read reads the words after the first.
func (f form) read(words []string) (Behaviour, error) {
	names := strings.Fields(f.arguments)
	if len(words) != len(names) {
		return Behaviour{}, bad("want %s", strings.TrimSpace(string(f.kind)+" "+f.arguments))
	}
	b := Behaviour{kind: f.kind}
	if f.kind == none {
		return Behaviour{}, nil
	}
	least, most := delayMin, delayMax
	if f.kind == spin {
		least, most = spinMin, spinMax
	}
	for i, into := range []*time.Duration{&b.first, &b.second, &b.every} {
		if i >= len(names) || names[i] == "SHARE" {
			break
		}
		d, err := time.ParseDuration(words[i])
		if err != nil || d < least || d > most {
			return Behaviour{},
				bad("%s is %.20q, want a time of %s to %s", names[i], words[i], short(least), short(most))
		}
		*into = d
	}
	switch f.kind {
	case bimodal:
		share, err := strconv.ParseFloat(words[2], 64)
		if err != nil || !(share >= shareMin && share <= shareMax) {
			return Behaviour{}, bad("SHARE is %.20q, want a number of %v to %v", words[2], shareMin, shareMax)
		}
		b.share = share
		if b.first >= b.second {
			return Behaviour{}, bad("the first DELAY, %s, must be shorter than the second", short(b.first))
		}
	case frozen:
		if b.first+b.second > b.every {
			return Behaviour{},
				bad("no call of %s fits between two stretches of %s in every %s", short(b.first), short(b.second),
					short(b.every))
		}
	}
	return b, nil
}

func bad(format string, args ...any) error {
	return wirelab.Errorf(wirelab.InvalidArgument, format, args...)
}

// None reports whether the behaviour is nothing at all.
func (b Behaviour) None() bool { return b.kind == "" }

// Spin returns the CPU time that every call uses; 0 unless the behaviour is a spin.
func (b Behaviour) Spin() time.Duration {
	if b.kind != spin {
		return 0
	}
	return b.first
}

// String returns the behaviour in the form that [Parse] reads.
func (b Behaviour) String() string {
	switch b.kind {
	case "":
		return string(none)
	case bimodal:
		return string(b.kind) + " " + short(b.first) + " " + short(b.second) + " " +
			strconv.FormatFloat(b.share, 'f', -1, 64)
	case frozen:
		return string(b.kind) + " " + short(b.first) + " " + short(b.second) + " " + short(b.every)
	}
	return string(b.kind) + " " + short(b.first)
}

// short formats a duration in the letters that a plan's text allows.
func short(d time.Duration) string { return strings.Replace(d.String(), "µ", "u", 1) }
