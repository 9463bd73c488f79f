package plan

import (
	"regexp"
	"time"

	"wirelab"
)

// durationText is the form of a duration. It accepts less than time.ParseDuration (no "+5s", no ".5s"), so that the
// JSON Schema can state exactly the same rule. The sign is only for stored measurements; plans do not use it.
var durationText = regexp.MustCompile(`^-?(0|([0-9]+(\.[0-9]+)?(ns|us|µs|μs|ms|s|m|h))+)$`)

// String returns the duration as "50ms".
func (d Duration) String() string { return time.Duration(d).String() }

// Form describes how to write a duration.
func (*Duration) Form() string { return "a duration with a unit, such as 50ms" }

// Seconds returns the duration in seconds.
func (d Duration) Seconds() float64 { return time.Duration(d).Seconds() }

// MarshalText returns the duration as "50ms", to the nanosecond.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads "50ms", "1.5s", "1m40s" or "0". A number without a unit is refused, because its meaning would
// be a guess.
func (d *Duration) UnmarshalText(text []byte) error {
	if !durationText.Match(text) {
		return wirelab.Errorf(wirelab.InvalidArgument,
			"duration %.40q is not a number with a unit: write 50ms, 1.5s, 1m40s or 2h", text)
	}
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return wirelab.Errorf(wirelab.InvalidArgument, "duration %.40q is longer than 292 years", text)
	}
	*d = Duration(parsed)
	return nil
}

// UnmarshalYAML reads the text of a node. Without it, the YAML library would write the node out and read that text
// again. It cannot read what it writes for an escape such as \u00b5, which JSON uses.
func (d *Duration) UnmarshalYAML(read func(any) error) error {
	var text string
	if err := read(&text); err != nil {
		return err
	}
	return d.UnmarshalText([]byte(text))
}
