package main

import (
	"errors"
	"testing"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/internal/fault"
)

// What could not be stored is said last and is a failure, and the answer does not say that it is stored.
func TestUnkeptResultIsAFailure(t *testing.T) {
	t.Parallel()
	kept := cli.With(desk.ExitFailed, errors.New("the store is full; it is in ./r-1.json"))
	answer := func(a *app) error { return a.Interrupted("3 complete rounds", "r-20261128-025742-ffe8") }
	alone := func(*app) error { return kept }
	both := func(a *app) error { return fault.Both(answer(a), kept) }
	for _, c := range []struct {
		name   string
		unkept error
		args   []string
		err    func(*app) error
		code   int
		says   string
	}{
		{
			"stored", nil, nil, answer, desk.ExitNoWord,
			"interrupted; stored as r-20261128-025742-ffe8: 3 complete rounds",
		},
		{"not stored", kept, nil, alone, desk.ExitFailed, "the store is full; it is in ./r-1.json"},
		{
			"interrupted too", kept, nil, both, desk.ExitFailed,
			"interrupted: 3 complete rounds; the store is full; it is in ./r-1.json",
		},
		{
			"with thresholds", kept,
			[]string{"--fail-if=p99"},
			alone, desk.ExitNoWord,
			"the store is full; it is in ./r-1.json",
		},
		{
			"with thresholds, interrupted", kept,
			[]string{"--fail-if=p99"},
			both, desk.ExitNoWord,
			"interrupted: 3 complete rounds; the store is full; it is in ./r-1.json",
		},
	} {
		a := with(newApp(cli.Terminal{}, c.args, nil), func(a *app) { a.Unkept = c.unkept })
		err := c.err(a)
		if code, says := a.ExitCode(err), a.DescribeError(err); code != c.code || says != c.says {
			t.Errorf("%s: exit code %d, %q; want %d, %q", c.name, code, says, c.code, c.says)
		}
	}
}
