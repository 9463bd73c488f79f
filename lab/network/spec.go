// Package network describes the path between a driver and its server: its delay, jitter, loss and bandwidth, as text
// and as numbers, and how a path that is made falls short of a real one. It starts nothing: package lab/network/relay
// makes paths in user space, and package lab/network/kernel with the kernel's own means. It knows no workload, no wire
// protocol and no experiment.
package network

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"wirelab"
)

// Spec is a path between two hosts. The zero value is a path without delay, loss or limit, which still goes through the
// relay.
type Spec struct {
	// RTT is the time of a round trip, half of it in each direction; 0 to 10 s.
	RTT time.Duration
	// Jitter is how far a round trip may be from RTT, at most RTT: the delay in each direction is drawn for each packet
	// between (RTT-Jitter)/2 and (RTT+Jitter)/2.
	Jitter time.Duration
	// Loss is the share of packets that are lost, in each direction; 0 to 0.5.
	Loss float64
	// Bandwidth is in bits per second, in each direction, for all connections together; 8,000 to 100e9; 0 is no limit.
	Bandwidth int64
	// Via says how the path is made.
	Via Via
}

// Via is a way to make a path.
type Via string

// The ways to make a path.
const (
	Relay Via = ""      // in user space, between driver and server; written "relay"
	Netem Via = "netem" // by the kernel, between two network namespaces
)

// String returns the name that a spec uses.
func (v Via) String() string {
	if v == Relay {
		return "relay"
	}
	return string(v)
}

// The bounds of a spec. A trip to a geostationary satellite and back is half a second; a path with more than rttMax is
// broken rather than slow.
const (
	rttMax       = 10 * time.Second
	lossMax      = 0.5
	bandwidthMin = 8_000 // bits/s: a byte in a millisecond
	bandwidthMax = 100_000_000_000
	textMax      = 200 // bytes of a spec
)

// preset is a path with a name.
type preset struct {
	name, about string
	spec        Spec
}

// presets returns the named paths. Rate and round trip of mobile are those of the profile "LTE" of WebPageTest's list
// of connections, which has neither jitter nor loss. Those two are wirelab's choice, of the size that moving users see:
// radio links repeat lost packets, so that most loss shows as jitter.
func presets() []preset {
	return []preset{
		{"lan", "one machine room", Spec{RTT: 500 * time.Microsecond}},
		{"cloud", "two machines of one cloud region", Spec{RTT: time.Millisecond, Bandwidth: 1e9}},
		{"wan", "across a continent", Spec{RTT: 40 * time.Millisecond}},
		{
			"mobile", "a telephone on LTE",
			Spec{RTT: 70 * time.Millisecond, Jitter: 20 * time.Millisecond, Loss: 0.005, Bandwidth: 12e6},
		},
	}
}

// Preset is a named path, for help texts.
type Preset struct {
	Name, About string
	Spec        Spec
}

// Presets returns the named paths, the shortest first.
func Presets() []Preset {
	var all []Preset
	for _, p := range presets() {
		all = append(all, Preset{p.name, p.about, p.spec})
	}
	return all
}

// PresetName returns the name of the preset that a path is equal to, apart from Via; "" if there is none.
func (s Spec) PresetName() string {
	s.Via = Relay
	for _, p := range presets() {
		if p.spec == s {
			return p.name
		}
	}
	return ""
}

// keys returns the settings of a spec.
func keys() []string { return []string{"rtt", "jitter", "loss", "bandwidth", "via"} }

// Parse reads a path: settings separated by commas, "rtt=40ms,jitter=2ms,loss=1%,bandwidth=1Gbit", each at most once.
// The name of a preset may come before them, and they then override it: "cloud,loss=0.1%". Errors have code
// InvalidArgument and say what is allowed.
func Parse(text string) (Spec, error) {
	var s Spec
	if len(text) > textMax {
		return s, wirelab.Errorf(wirelab.InvalidArgument, "network %.40q… is longer than %d characters", text, textMax)
	}
	seen := map[string]bool{}
	for i, part := range strings.Split(text, ",") {
		key, value, set := strings.Cut(part, "=")
		switch {
		case !set && i == 0 && part != "":
			named, err := presetNamed(part)
			if err != nil {
				return Spec{}, err
			}
			s = named
			continue
		case !set || value == "":
			return Spec{}, wirelab.Errorf(wirelab.InvalidArgument,
				"network %q: %q is not a setting; write rtt=40ms,jitter=2ms,loss=1%%,bandwidth=1Gbit, or begin with a "+
					"name: %s", text, part, presetNames())
		case seen[key]:
			return Spec{}, wirelab.Errorf(wirelab.InvalidArgument, "network %q sets %s twice", text, key)
		}
		seen[key] = true
		if err := s.set(key, value); err != nil {
			return Spec{}, wirelab.Errorf(wirelab.CodeOf(err), "network %q: %s", text, wirelab.Public(err).Message)
		}
	}
	if err := s.Check(); err != nil {
		return Spec{}, wirelab.Errorf(wirelab.CodeOf(err), "network %q: %s", text, wirelab.Public(err).Message)
	}
	return s, nil
}

func presetNames() []string {
	var names []string
	for _, p := range presets() {
		names = append(names, p.name)
	}
	return names
}

func presetNamed(name string) (Spec, error) {
	for _, p := range presets() {
		if p.name == name {
			return p.spec, nil
		}
	}
	unknown := wirelab.Public(wirelab.UnknownName("network", name, presetNames()))
	unknown.Message += "; or write settings: rtt=40ms,jitter=2ms,loss=1%,bandwidth=1Gbit"
	return Spec{}, unknown
}

// set applies one setting.
func (s *Spec) set(key, value string) (err error) {
	switch key {
	case "rtt":
		s.RTT, err = parseTime(key, value)
	case "jitter":
		s.Jitter, err = parseTime(key, value)
	case "loss":
		s.Loss, err = parseShare(value)
	case "bandwidth":
		s.Bandwidth, err = parseBandwidth(value)
	case "via":
		switch value {
		case Relay.String():
			s.Via = Relay
		case Netem.String():
			s.Via = Netem
		default:
			err = wirelab.UnknownName("way to make a network (via)", value, []string{Relay.String(), Netem.String()})
		}
	default:
		err = wirelab.UnknownName("setting", key, keys())
	}
	return err
}

// Check reports what is wrong with a path that was not parsed.
func (s Spec) Check() error {
	switch {
	case s.RTT < 0 || s.RTT > rttMax:
		return wirelab.Errorf(wirelab.InvalidArgument, "rtt is %v; it must be 0 to %v", s.RTT, rttMax)
	case s.Jitter < 0 || s.Jitter > s.RTT:
		return wirelab.Errorf(wirelab.InvalidArgument,
			"jitter is %v; it must be 0 to the rtt, which is %v: no packet arrives before it was sent", s.Jitter, s.RTT)
	case math.IsNaN(s.Loss) || s.Loss < 0 || s.Loss > lossMax:
		return wirelab.Errorf(wirelab.InvalidArgument, "loss is %s; it must be 0%% to %s", percent(s.Loss),
			percent(lossMax))
	case s.Bandwidth != 0 && (s.Bandwidth < bandwidthMin || s.Bandwidth > bandwidthMax):
		return wirelab.Errorf(wirelab.InvalidArgument, "bandwidth is %s; it must be %s to %s", bits(s.Bandwidth),
			bits(bandwidthMin), bits(bandwidthMax))
	case s.Via != Relay && s.Via != Netem:
		return wirelab.Errorf(wirelab.InvalidArgument, "via is %q; it must be relay or netem", s.Via)
	}
	return nil
}

// The notation of values. It is stricter than strconv's: a sign, an exponent or a bare number is more often a slip than
// intended.
var (
	timeForm  = regexp.MustCompile(`^(0|([0-9]{1,18}(\.[0-9]{1,9})?(ns|us|µs|μs|ms|s))+)$`)
	shareForm = regexp.MustCompile(`^([0-9]{1,3}(?:\.[0-9]{1,6})?)%$`)
	bitsForm  = regexp.MustCompile(`^([0-9]{1,12}(?:\.[0-9]{1,9})?)(k|K|M|m|G|g)bit(?:/s)?$`)
)

func parseTime(key, text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || !timeForm.MatchString(text) {
		return 0, wirelab.Errorf(wirelab.InvalidArgument, "%s is %q; write a time with a unit: 500us, 40ms or 1.5s",
			key, text)
	}
	return d, nil
}

func parseShare(text string) (float64, error) {
	match := shareForm.FindStringSubmatch(text)
	if match == nil {
		return 0, wirelab.Errorf(wirelab.InvalidArgument,
			"loss is %q; write a share of packets in per cent: 0.1%% or 1%%", text)
	}
	// An exponent instead of a division, so that "1" becomes the same number as "0.01".
	return strconv.ParseFloat(match[1]+"e-2", 64)
}

func parseBandwidth(text string) (int64, error) {
	match := bitsForm.FindStringSubmatch(text)
	if match == nil {
		return 0, wirelab.Errorf(wirelab.InvalidArgument,
			"bandwidth is %q; write bits per second with a unit: 500kbit, 100Mbit or 1Gbit", text)
	}
	exponent := map[string]string{"k": "e3", "m": "e6", "g": "e9"}[strings.ToLower(match[2])]
	rate, err := strconv.ParseFloat(match[1]+exponent, 64)
	if err != nil || rate > bandwidthMax || rate < bandwidthMin {
		return 0, wirelab.Errorf(wirelab.InvalidArgument, "bandwidth is %s; it must be %s to %s", text,
			bits(bandwidthMin), bits(bandwidthMax))
	}
	return int64(math.Round(rate)), nil
}

// String returns the path in the form that [Parse] reads. Equal paths have the same text: the settings that are not
// zero, in a fixed order, without names of presets.
func (s Spec) String() string {
	parts := []string{"rtt=" + strings.ReplaceAll(s.RTT.String(), "µ", "u")}
	if s.Jitter != 0 {
		parts = append(parts, "jitter="+strings.ReplaceAll(s.Jitter.String(), "µ", "u"))
	}
	if s.Loss != 0 {
		parts = append(parts, "loss="+percent(s.Loss))
	}
	if s.Bandwidth != 0 {
		parts = append(parts, "bandwidth="+bits(s.Bandwidth))
	}
	if s.Via != Relay {
		parts = append(parts, "via="+s.Via.String())
	}
	return strings.Join(parts, ",")
}

// percent formats a share with as many digits as Parse accepts.
func percent(share float64) string {
	text := strconv.FormatFloat(share*100, 'f', 6, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + "%"
}

// bits formats bits per second in the largest unit that gives a number of at least 1.
func bits(rate int64) string {
	for _, unit := range []struct {
		name string
		size int64
	}{{"Gbit", 1e9}, {"Mbit", 1e6}, {"kbit", 1e3}} {
		if rate >= unit.size || unit.size == 1e3 {
			whole, rest := rate/unit.size, rate%unit.size
			text := strconv.FormatInt(whole, 10)
			if rest != 0 {
				digits := strconv.FormatInt(unit.size+rest, 10)[1:]
				text += "." + strings.TrimRight(digits, "0")
			}
			return text + unit.name
		}
	}
	return "" // not reached: the last unit takes every rate
}
