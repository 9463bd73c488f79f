package rfc3339_test

import (
	"testing"
	"time"

	"wirelab/wire/rfc3339"
	"wirelab/wire/status"
)

// FuzzParse: a text that is read as a time is written and read as the same one, to the microsecond, and
// everything else is the caller's fault.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "2024-01-31T12:00:00Z", "2024-01-31T12:00:00.000001Z", "2024-02-30T00:00:00Z", "2024-01-31T12:00:00,5Z",
		"2024-01-31T1:00:00Z",
		"2024-01-31T12:00:00+24:00", "2024-01-31T12:00:00-23:59", "0000-01-01T00:00:00Z",
		"9999-12-31T23:59:59.999999999-23:59",
		"2024-01-31T12:00:60Z", "2024-01-31t12:00:00z", "2024-01-31T12:00:00", "2024-01-31T12:00:00.Z", "x", "\xff",
		"2024-01-31T12:00:00.5+01:00",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, err := rfc3339.Parse(text)
		if err != nil {
			if status.CodeOf(err) != status.InvalidArgument {
				t.Fatal(err)
			}
			return
		}
		if _, err := time.Parse(time.RFC3339Nano, text); err != nil && text != "" {
			t.Fatalf("%q is read as %v", text, at)
		}
		if at.Year() < 1 || at.Year() > 9999 || at.Nanosecond()%1000 != 0 {
			return // no contract takes these
		}
		again, err := rfc3339.Parse(rfc3339.Text(at))
		if err != nil || !again.Equal(at) || again.Location() != time.UTC {
			t.Fatalf("%q is %v, and written %q, read %v, %v", text, at, rfc3339.Text(at), again, err)
		}
	})
}

// Whatever is no time is refused, whichever sign is in the wrong place (grb-D08).
func TestTimesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"2024-01-31", "2024-01-31T", "2024-01-31T12:00:00", "2024-01-31 12:00:00Z", "2024-01-31T1:00:00Z",
		"2024-01-31T12:00:00,5Z",
		"2024-01-31T12:00:00.Z", "2024-01-31T12:00:00+1:00", "2024-01-31T12:00:00+24:00", "2024-01-31T12:00:00+01:60",
		"2024-01-31T12:00:00+0100",
		"2024-01-31T12:00:00+01:0x", "2024-01-31T12:00:00 01:00", "2024-02-30T00:00:00Z", "2024-13-01T00:00:00Z",
		"2024-01-31T24:00:00Z",
		"2024-01-31T12:00:60Z", "2024-01-31T12:00:00Z ", " 2024-01-31T12:00:00Z", "2024-01-31t12:00:00Z",
		"+2024-01-31T12:00:00Z", "1700000000", "now", "0",
	} {
		if at, err := rfc3339.Parse(text); err == nil || status.CodeOf(err) != status.InvalidArgument {
			t.Errorf("%q is read as %v, %v", text, at, err)
		}
	}
}
