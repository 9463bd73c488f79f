package plan

import (
	"regexp"
	"time"

	"wirelab"
)

// durationText is what a duration may look like. It is narrower than what
// time.ParseDuration takes (no "+5s", no ".5s") so that the JSON Schema can
// say exactly the same; the sign is there for stored measurements, a plan has
// no use for it.
var durationText = regexp.MustCompile(`^-?(0|([0-9]+(\.[0-9]+)?(ns|us|µs|μs|ms|s|m|h))+)$`)

// String returns the duration as "50ms".
func (d Duration) String() string { return time.Duration(d).String() }

// Form says what a duration is to look like.
func (*Duration) Form() string { return "a duration with a unit, such as 50ms" }

// Seconds returns the duration in seconds.
func (d Duration) Seconds() float64 { return time.Duration(d).Seconds() }

// MarshalText returns the duration as "50ms", to the nanosecond.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText reads "50ms", "1.5s", "1m40s" or "0". A number without a unit
// is refused: nobody could tell what it was meant to be.
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

// UnmarshalYAML reads the text of a node. Without it the YAML library writes the
// node out and reads that again, and what it writes of an escape such as \u00b5,
// as JSON has it, it cannot read.
func (d *Duration) UnmarshalYAML(read func(any) error) error {
	var text string
	if err := read(&text); err != nil {
		return err
	}
	return d.UnmarshalText([]byte(text))
}
