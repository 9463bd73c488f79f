package chaos

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"wirelab"
	"wirelab/pipeline/stack"
)

// Kind is a kind of fault.
type Kind string

// The kinds, in the order of [All]. The burst is last, since its effects last longest.
const (
	ListenerKill  Kind = "listener-kill"  // kill -9, and an immediate restart
	LoggerDown    Kind = "logger-down"    // an orderly stop, and a restart after Fault.Length
	BrokerRestart Kind = "broker-restart" // kill -9 of all its processes, and an immediate restart
	Burst         Kind = "burst"          // Fault.Times as many entries for Fault.Length
)

// all is the word for all faults in one run.
const all = "all"

// The bounds of faults. They are generous, and meant to catch typing errors.
const (
	lengthMin, lengthMax = 100 * time.Millisecond, 10 * time.Minute
	timesMin, timesMax   = 1, 100
)

// Fault is one fault of a run.
type Fault struct {
	Kind   Kind
	Length time.Duration // for LoggerDown and Burst: 100 ms to 10 minutes; otherwise 0
	Times  float64       // for Burst: its rate as a multiple of the sustained rate, above 1 up to 100; otherwise 0
}

// String returns the fault in the form that [Parse] reads: "burst=10x5s".
func (f Fault) String() string {
	switch f.Kind {
	case LoggerDown:
		return fmt.Sprintf("%s=%v", f.Kind, f.Length)
	case Burst:
		return fmt.Sprintf("%s=%vx%v", f.Kind, f.Times, f.Length)
	case ListenerKill, BrokerRestart:
	}
	return string(f.Kind)
}

// All returns the faults of the published questions: the logger is down for ten seconds, and a burst is ten times the
// sustained rate for five seconds.
func All() []Fault {
	return []Fault{
		{Kind: ListenerKill},
		{Kind: LoggerDown, Length: 10 * time.Second},
		{Kind: BrokerRestart},
		{Kind: Burst, Times: 10, Length: 5 * time.Second},
	}
}

// Parse reads the faults of one run, in their order: "logger-down=10s", "listener-kill+burst=10x5s", or "all". The
// error for other text has code InvalidArgument.
func Parse(text string) ([]Fault, error) {
	if text == all {
		return All(), nil
	}
	var faults []Fault
	for word := range strings.SplitSeq(text, "+") {
		f, err := parse(word)
		if err != nil {
			return nil, err
		}
		faults = append(faults, f)
	}
	return faults, nil
}

func parse(word string) (Fault, error) {
	name, value, given := strings.Cut(word, "=")
	known := []string{all}
	for _, f := range All() {
		known = append(known, f.String())
		if string(f.Kind) != name {
			continue
		}
		if !given {
			return f, nil
		}
		var err error
		length := value
		switch f.Kind {
		case ListenerKill, BrokerRestart:
			return f, wirelab.Errorf(wirelab.InvalidArgument, "fault %.60q: %s takes no value", word, name)
		case Burst:
			var times string
			times, length, _ = strings.Cut(value, "x")
			if f.Times, err = strconv.ParseFloat(times, 64); err != nil ||
				!(f.Times > timesMin && f.Times <= timesMax) {
				return f, wirelab.Errorf(wirelab.InvalidArgument,
					"fault %.60q: want for example %s, above %d to %d times", word, f.Kind+"=10x5s", timesMin, timesMax)
			}
		case LoggerDown:
		}
		if f.Length, err = time.ParseDuration(length); err != nil || f.Length < lengthMin || f.Length > lengthMax {
			return f, wirelab.Errorf(wirelab.InvalidArgument, "fault %.60q: want a time of %v to %v, such as 10s", word,
				lengthMin, lengthMax)
		}
		return f, nil
	}
	return Fault{}, wirelab.UnknownName("fault", name, known)
}

// restartAllowance is how long the restart of a component is expected to take when a run is laid out. A longer restart
// delays the faults after it.
const restartAllowance = time.Second

// allowance returns how much time of a run a fault gets before the pause after it.
func (f Fault) allowance() time.Duration {
	switch f.Kind {
	case Burst:
		return f.Length
	case BrokerRestart:
		return 3 * restartAllowance // RabbitMQ's virtual machine
	case ListenerKill, LoggerDown:
	}
	return f.Length + restartAllowance
}

// aftermathMost limits how much a run is extended to let a burst drain.
const aftermathMost = 90 * time.Second

// aftermath returns how long a burst takes to drain at the rate of a trial.
func (f Fault) aftermath() time.Duration {
	return min(aftermathMost, time.Duration(max(0, f.Times-1)*float64(f.Length)/(1-trialShare)))
}

// victim returns the component that a fault ends; "" if it ends none. The error has code Unimplemented if the path has
// no such component.
func (f Fault) victim(path string, brokers []stack.Broker) (string, error) {
	switch f.Kind {
	case LoggerDown:
		return stack.LoggerPart, nil
	case Burst:
		return "", nil
	case ListenerKill, BrokerRestart:
	}
	name := strings.TrimSuffix(path, stack.PublishedSuffix)
	for _, b := range brokers {
		for _, direct := range []bool{false, true} {
			switch {
			case stack.PathName(b.Kind, direct) != name:
			case f.Kind == ListenerKill:
				return stack.ListenerName(b.Kind, direct), nil
			case b.URL != "":
				return "", wirelab.Errorf(wirelab.Unimplemented,
					"the broker of %s runs elsewhere, so wirelab cannot kill it", path)
			default:
				return b.Kind, nil
			}
		}
	}
	return "", wirelab.Errorf(wirelab.Unimplemented,
		"%s has no message broker, so there is nothing for %s to end", path, f.Kind)
}

// Without returns the faults that a path can have, and why it cannot have the others.
func Without(path string, brokers []stack.Broker, faults []Fault) (can []Fault, why []string) {
	for _, f := range faults {
		if _, err := f.victim(path, brokers); err != nil {
			why = append(why, wirelab.Public(err).Message)
			continue
		}
		can = append(can, f)
	}
	return can, why
}
