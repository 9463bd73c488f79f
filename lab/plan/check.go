package plan

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"wirelab"
)

// The bounds of a plan, both inclusive. 0 always means the default. Times have an upper bound, so that a wrong unit
// is noticed before an experiment wastes a night.
const (
	armsMax        = 64
	loadsMax       = 16
	stagesMax      = 64
	publishedMax   = 64
	notesMax       = 16
	contrastsMax   = 16
	adviceMax      = 16
	flawsMax       = 32
	roundsMax      = 1000
	slicesMax      = 1000
	inFlightMax    = 10_000
	connectionsMax = 10_000
	hopsMax        = 3
	coresMax       = 1024
	pidMax         = 1 << 22 // of Linux
	textMax        = 100     // characters
	armNameMax     = 500     // characters; an arm's default name holds all its settings
	softwareMax    = 200
	aboutMax       = 2000

	rateMin   = 0.1 // requests/s
	rateMax   = 10e6
	untilMin  = 0.001 // ±0.1 %
	untilMax  = 0.5
	spreadMin = 0.01
	spreadMax = 20.0
	shareMin  = 0.0001
	shareMax  = 0.5

	sliceMin    = Duration(30 * time.Millisecond) // a shorter slice would measure the timer
	sliceMax    = Duration(10 * time.Minute)
	stageMax    = Duration(time.Hour)
	warmUpMin   = Duration(time.Millisecond)
	warmUpMax   = Duration(10 * time.Minute)
	deadlineMin = Duration(time.Millisecond)
	deadlineMax = Duration(time.Hour)
	forMin      = Duration(100 * time.Millisecond)
	forMax      = Duration(7 * 24 * time.Hour)
	meanMin     = Duration(1)
	meanMax     = Duration(time.Hour)
)

// The forms of names. The JSON Schema has the same ones.
var (
	lowerName   = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)                    // workload, protocol, requests
	callName    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]{0,39}$`)               // operation
	dataName    = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{0,39}$`)                // data set
	libraryName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9 ._/+-]{0,39}$`)      // server, client
	queueForm   = regexp.MustCompile(`^[a-z][a-z0-9+-]{0,79}$`)                   // package queue checks the rest
	injectForm  = regexp.MustCompile(`^[a-z][a-z0-9. ]{0,39}$`)                   // package inject checks the rest
	flawID      = regexp.MustCompile(`^[a-z]{1,8}-[A-Z][0-9]{2}$`)                // "duh-M01"
	hostName    = regexp.MustCompile(`^[A-Za-z0-9.:_%-]{1,253}$`)                 // target's host; IP addresses too
	targetForm  = regexp.MustCompile(`^(\[[^\[\],=]+\]|[^\[\],=:]+):[0-9]{1,5}$`) // host:port
	localSocket = regexp.MustCompile(`^unix:/[^,\x00-\x1f]{1,107}$`)              // a socket in the file system
)

// bad is the error for a value that a field does not allow.
func bad(field string, value any, allowed string) error {
	if text, ok := value.(string); ok {
		return outside(field, strconv.Quote(text), allowed)
	}
	return outside(field, fmt.Sprint(value), allowed)
}

// outside is [bad] for a value that is already text, or for a count.
func outside(field, shown, allowed string) error {
	if utf8.RuneCountInString(shown) > 80 {
		shown = string([]rune(shown)[:79]) + "…"
	}
	return wirelab.Errorf(wirelab.InvalidArgument, "%s is %s; it must be %s", field, shown, allowed)
}

// tooMany is the error for a list that is too long.
func tooMany(field string, n int, what string, most int) error {
	return outside(field, fmt.Sprintf("%d %s", n, what), fmt.Sprintf("at most %d", most))
}

// missing is the error for a field that has no default.
func missing(field, example string) error {
	return wirelab.Errorf(wirelab.InvalidArgument, "%s is missing; write for example %s", field, example)
}

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// inRange checks a number that is 0 or between two bounds. It refuses NaN.
func inRange[T ~int | ~int64 | ~float64](field string, value, least, most T) error {
	if value == 0 || value >= least && value <= most {
		return nil
	}
	return outside(field, plain(value), plain(least)+" to "+plain(most))
}

// plain writes a number without an exponent, where %v would write 1e+06.
func plain(value any) string {
	if f, ok := value.(float64); ok {
		return number(f)
	}
	return fmt.Sprint(value)
}

// inForm checks a name that is empty or must match form. like is an example for the error.
func inForm(field, value string, form *regexp.Regexp, like string) error {
	if value == "" || form.MatchString(value) {
		return nil
	}
	return bad(field, value, "a name like "+like+", of at most 40 characters")
}

// oneOf checks a name that is empty or among known ones.
func oneOf(field, value string, known ...string) error {
	if value == "" || slices.Contains(known, value) {
		return nil
	}
	return wirelab.UnknownName(field, value, known)
}

// knownMetric checks the id of a metric, or none.
func knownMetric(field, value string) error {
	if known := MetricIDs(); value != "" && !isMetric(value, known) {
		return wirelab.UnknownName(field, value, known, "wirelab help metrics")
	}
	return nil
}

// readable checks text for people: one line of at most most characters.
func readable(field, value string, most int) error {
	allowed := fmt.Sprintf("at most %d printable characters without space around them", most)
	if utf8.RuneCountInString(value) > most || strings.TrimSpace(value) != value || !utf8.ValidString(value) {
		return bad(field, value, allowed)
	}
	if strings.ContainsFunc(value, unseen) {
		return bad(field, value, allowed)
	}
	if value != "" && !strings.ContainsFunc(value, Shows) {
		return bad(field, value, "at least one character that can be seen")
	}
	return nil
}

// checkWritten checks each field of a plan as it was written. 0 and "" mean "not given".
func (p Plan) checkWritten() error {
	switch {
	case p.Workload == "":
		return missing("workload", "routeguide")
	case p.Operation == "":
		return missing("operation", "GetFeature")
	case len(p.Arms) == 0:
		return missing("arms", "http1-json and grpc")
	case len(p.Arms) > armsMax:
		return outside("arms", fmt.Sprintf("%d arms", len(p.Arms)), fmt.Sprintf("1 to %d", armsMax))
	case len(p.Loads) > loadsMax:
		return outside("loads", fmt.Sprintf("%d loads", len(p.Loads)), fmt.Sprintf("1 to %d", loadsMax))
	case len(p.Published) > publishedMax:
		return tooMany("published", len(p.Published), "figures", publishedMax)
	case p.staged() && p.Slice != 0:
		return bad("slice", p.Slice, "left out, since every load has stages: a slice is all of them")
	}
	err := first(
		readable("name", p.Name, textMax),
		readable("about", strings.Join(strings.Fields(p.About), " "), aboutMax),
		inForm("workload", p.Workload, lowerName, "routeguide"),
		inForm("operation", p.Operation, callName, "GetFeature"),
		inForm("requests", p.Requests, lowerName, "drawn"),
		inForm("data", p.Data, dataName, "100"),
		inForm("database", p.Database, lowerName, "postgres"),
		inRange("pool", p.Pool, 1, wirelab.PoolLimit),
		p.checkNetwork(),
		p.checkTLS(),
		p.checkExternal(),
		oneOf("durability", p.Durability, DurabilityFsync, DurabilityDefault),
		inRange("nodes", p.Nodes, 1, NodesMax),
		inRange("rounds.min", p.Rounds.Min, 1, roundsMax),
		inRange("rounds.max", p.Rounds.Max, 1, roundsMax),
		inRange("slices", p.Slices, 1, slicesMax),
		inRange("slice", p.Slice, sliceMin, choose(p.Plays(Sustained), sustainedMax, sliceMax)),
		inRange("warm_up", p.WarmUp, warmUpMin, warmUpMax),
		inRange("until", p.Until, untilMin, untilMax),
		inRange("for", p.For, forMin, forMax),
		oneOf("pin", p.Pin, PinAuto, PinNone),
		inRange("driver_cores", p.DriverCores, 1, coresMax),
		p.checkPinned(),
		oneOf("floor", p.Floor, FloorAuto, FloorNone),
		inRange("deadline", p.Deadline, deadlineMin, deadlineMax),
		knownMetric("primary", p.Primary),
		inRange("practical", p.Practical, shareMin, shareMax),
		inRange("equivalent", p.Equivalent, shareMin, shareMax),
		readable("explain.from", p.Explain.From, armNameMax),
		readable("explain.to", p.Explain.To, armNameMax),
	)
	if err != nil {
		return err
	}
	return first(p.checkArms(), p.checkLoads(), p.checkPublished(), p.checkNotes(), p.checkContrasts(), p.checkAdvice())
}

func (p Plan) checkPinned() error {
	if p.Pin == PinNone && p.DriverCores != 0 {
		return bad("driver_cores", p.DriverCores, "left out with pin none")
	}
	return nil
}

func (p Plan) checkArms() error {
	names := map[string]bool{}
	for i, a := range p.Arms {
		if err := a.check(); err != nil {
			said := wirelab.Public(err)
			if said.Unknown != "" {
				return said.Behind(fmt.Sprintf("arms[%d]: ", i))
			}
			return said.Behind(fmt.Sprintf("arms[%d].", i)) // its message begins with a field
		}
		if a.Name != "" && names[a.Name] {
			return bad(fmt.Sprintf("arms[%d].name", i), a.Name, "unlike the names before it")
		}
		names[a.Name] = true
	}
	return nil
}

// check checks an arm by itself.
func (a Arm) check() error {
	if a.Protocol == "" {
		return missing("protocol", "grpc")
	}
	return first(
		inForm("protocol", a.Protocol, lowerName, "http1-proto"),
		inForm("server", a.Server, libraryName, "net/http"),
		inForm("client", a.Client, libraryName, "grpc-go"),
		oneOf("driver", a.Driver, Drivers()...),
		inForm("inject", a.Inject, injectForm, "constant 20ms"),
		inForm("data", a.Data, dataName, "100"),
		inForm("db", a.Database, lowerName, "postgres"),
		inForm("queue", a.Queue, queueForm, "classic+unconfirmed"),
		oneOf("durability", a.Durability, DurabilityFsync, DurabilityDefault),
		a.checkRaw(),
		a.checkDirect(),
		inRange("connections", a.Connections, 1, connectionsMax),
		a.checkHops(),
		readable("name", a.Name, armNameMax),
		checkTarget(a.Target),
		a.checkPID(),
	)
}

// checkRaw refuses a client library where the raw driver or another program makes the calls.
func (a Arm) checkRaw() error {
	if a.Tool() != "" && a.Client != "" {
		return bad("client", a.Client, "left out with driver "+a.Driver+", which is itself the client")
	}
	if (a.Raw() || a.Described()) && a.Client != "" {
		return bad("client", a.Client, "left out with driver "+a.Driver+", which is itself the client")
	}
	return nil
}

// checkHops checks that the arm has a server that hops can be put in front of.
func (a Arm) checkHops() error {
	if a.Hops != 0 && (a.Target != "" || a.Null() || a.Direct()) {
		return bad("hops", a.Hops, "left out with target, with server "+ServerNull+" and without a server")
	}
	return inRange("hops", a.Hops, 1, hopsMax)
}

// checkPID checks that a process is given only with a target.
func (a Arm) checkPID() error {
	if a.PID != 0 && a.Target == "" {
		return bad("pid", a.PID, "given with a target: it is the process of a server that is already running")
	}
	return inRange("pid", a.PID, 1, pidMax)
}

// checkTarget checks an address: host and port, or a Unix socket.
func checkTarget(target string) error {
	if target == "" || localSocket.MatchString(target) {
		return nil
	}
	const allowed = "HOST:PORT, such as 127.0.0.1:9000 or [::1]:9000"
	if !targetForm.MatchString(target) {
		return bad("target", target, allowed)
	}
	host, port, err := net.SplitHostPort(target)
	if err != nil || !hostName.MatchString(host) {
		return bad("target", target, allowed)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return bad("target", target, "HOST:PORT with a port of 1 to 65535")
	}
	return nil
}

func (p Plan) checkLoads() error {
	for i, l := range p.Loads {
		field := fmt.Sprintf("loads[%d]", i)
		if err := l.check(field); err != nil {
			return err
		}
	}
	return nil
}

// check checks a load by itself.
func (l Load) check(field string) error {
	switch {
	case l.Rate != 0 && len(l.Stages) > 0:
		return outside(field+".rate", number(l.Rate), "left out where stages set the rate")
	case l.Arrivals != "" && !l.Open():
		return bad(field+".arrivals", l.Arrivals,
			"left out in a closed loop, in which each reply starts the next call")
	case len(l.Stages) > stagesMax:
		return tooMany(field+".stages", len(l.Stages), "stages", stagesMax)
	}
	err := first(
		inForm(field+".operation", l.Operation, callName, "GetFeature"),
		inForm(field+".requests", l.Requests, lowerName, "drawn"),
		inRange(field+".in_flight", l.InFlight, 1, inFlightMax),
		inRange(field+".rate", l.Rate, rateMin, rateMax),
		l.checkKinds(field),
		l.checkArrivals(field),
	)
	if err != nil {
		return err
	}
	busy := len(l.Stages) == 0
	for i, s := range l.Stages {
		field := fmt.Sprintf("%s.stages[%d]", field, i)
		if s.For == 0 {
			return missing(field+".for", "30s")
		}
		err := first(
			inRange(field+".for", s.For, sliceMin, stageMax),
			inRange(field+".from", s.From, rateMin, rateMax),
			inRange(field+".to", s.To, rateMin, rateMax),
		)
		if err != nil {
			return err
		}
		busy = busy || s.From > 0 || s.To > 0
	}
	if !busy {
		return outside(field+".stages", "0/s throughout", "a rate above 0 at some time")
	}
	return nil
}

// checkArrivals checks how an open load's calls arrive.
func (l Load) checkArrivals(field string) error {
	replayed := l.Arrivals == Recorded || l.Arrivals == Sampled
	switch {
	case l.Spread != 0 && l.Arrivals != LogNormal:
		return bad(field+".spread", l.Spread, "left out unless arrivals is log-normal")
	case replayed && !l.Recording.Given() && l.Recording.File == "":
		return missing(field+".recording", "{file: arrivals.csv}")
	case l.Recording.Given() && l.Arrivals != "" && !replayed:
		return bad(field+".arrivals", l.Arrivals, Recorded+" or "+Sampled+", since there is a recording")
	case l.Recording.Given() && len(l.Stages) > 0:
		return outside(field+".stages", fmt.Sprintf("%d stages", len(l.Stages)),
			"left out with a recording, whose own rate changes")
	}
	err := first(
		oneOf(field+".arrivals", l.Arrivals, Poisson, Constant, LogNormal, Recorded, Sampled),
		inRange(field+".spread", l.Spread, spreadMin, spreadMax),
		l.Recording.check(field+".recording"),
	)
	if err != nil || !l.Replays() {
		return err
	}
	rate := l.Rate
	setDefault(&rate, l.Recording.Rate())
	span := Duration(float64(len(l.Recording.Gaps)) / rate * float64(time.Second))
	if span < sliceMin || span > sliceMax {
		return outside(field+".recording", fmt.Sprintf("%v at %.3g/s", span, rate),
			fmt.Sprintf("%v to %v, since a slice is all of it: give another rate or speed, or arrivals sampled",
				sliceMin, sliceMax))
	}
	return nil
}
