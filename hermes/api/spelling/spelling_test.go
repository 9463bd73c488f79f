package spelling_test

import (
	"testing"

	"wirelab/hermes"
	"wirelab/hermes/api/spelling"
	"wirelab/hermes/broker"
	"wirelab/wire/status"
)

func refused(t *testing.T, what string, err error) {
	t.Helper()
	if err == nil || status.CodeOf(err) != status.InvalidArgument {
		t.Errorf("%q: %v", what, err)
	}
}

// An unknown mode is never taken for the default (hb-D27).
func TestMode(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]hermes.Mode{
		"": hermes.Consistent, "consistent": hermes.Consistent,
		"eventual": hermes.Eventual, "performance": hermes.Performance,
	} {
		if got, err := spelling.Mode(name); got != want || err != nil {
			t.Errorf("%q: %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"Consistent", "0", "best"} {
		_, err := spelling.Mode(name)
		refused(t, name, err)
	}
}

func TestFrom(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]broker.Start{
		"tail": {From: broker.FromTail}, "oldest": {From: broker.FromOldest}, "0": {From: broker.FromOffset},
		"18446744073709551615":           {From: broker.FromOffset, Offset: 1<<64 - 1},
		"1970-01-01T00:00:01.000000005Z": {From: broker.FromTime, Time: 1e9 + 5}, "1969-12-31T23:59:59+00:00": {
			From: broker.FromTime, Time: -1e9,
		},
		"1678-01-01T00:00:00Z": {From: broker.FromTime, Time: -9214560000e9},
		"2261-12-31T23:59:59Z": {
			From: broker.FromTime,
			Time: 9214646399e9,
		},
	} {
		var got broker.Start
		if err := spelling.From(text, &got); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"", "head", "-1", "+1", "1.5", "18446744073709551616", "1677-12-31T23:59:59Z",
		"2262-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "2026-11-22",
	} {
		refused(t, text, spelling.From(text, new(broker.Start)))
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	if id, err := spelling.ID("x", "18446744073709551615"); id != 1<<64-1 || err != nil {
		t.Errorf("%d, %v", id, err)
	}
	for _, text := range []string{"", "0", "-1", "x", "18446744073709551616"} {
		_, err := spelling.ID("x", text)
		refused(t, text, err)
	}
	for text, want := range map[string]int64{"": 0, "0s": 0, "1m30s": 90e9, "5ns": 5, "1.5ms": 15e5} {
		if got, err := spelling.Duration("x", text); got != want || err != nil {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"1", "-1s", "soon", "300000h1"} {
		_, err := spelling.Duration("x", text)
		refused(t, text, err)
	}
}
