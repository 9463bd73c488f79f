package databases

import (
	"context"
	"fmt"
	"time"

	"wirelab"
	"wirelab/internal/fault"
	"wirelab/system/postgres"
	"wirelab/workload/ledger"
	kept "wirelab/workload/ledger/database/postgres"
	logged "wirelab/workload/logging/database/postgres"
)

// OnlySets returns an error unless the server holds only data sets.
func OnlySets(ctx context.Context, getenv func(string) string) error {
	r, ok, err := postgres.Residing(getenv)
	if err != nil || !ok {
		return err
	}
	if r.PID == 0 {
		return wirelab.Errorf(wirelab.InvalidArgument,
			"the server does not run, so its contents cannot be checked: wirelab db start starts it again, wirelab "+
				"db stop --discard removes it")
	}
	entries, err := logged.Holds(ctx, r.Source)
	var others int
	if err == nil {
		others, err = kept.Others(ctx, r.Source, logged.Schema)
	}
	if err != nil {
		return fmt.Errorf("check what the server holds (wirelab db stop --keep or --discard skips this): %w", err)
	}
	if entries {
		return wirelab.Errorf(wirelab.InvalidArgument,
			"the server holds log entries, which cannot be written again: give --keep to keep all data, or --discard")
	}
	if others > 0 {
		return wirelab.Errorf(wirelab.InvalidArgument,
			"the server holds %d tables or databases besides its data sets, such as results: give --keep to keep all "+
				"data, or --discard", others)
	}
	return nil
}

// Status is the output of "db status".
type Status struct {
	Running   bool               `json:"running"`
	Address   string             `json:"address,omitempty"`
	Version   string             `json:"version,omitempty"`
	PID       int                `json:"pid,omitempty"`
	Started   *time.Time         `json:"started,omitempty"`
	Directory string             `json:"directory,omitempty"` // also of a server that does not run but has data
	State     string             `json:"state,omitempty"`     // file with its connection string
	Settings  []postgres.Setting `json:"settings,omitempty"`
	Sets      []kept.Held        `json:"sets"`
	Problem   string             `json:"problem,omitempty"` // why its contents are unknown
	// Other is the database that the environment names. Commands use it instead.
	Other string `json:"other,omitempty"`
}

// StatusOf returns whether the server of "wirelab db start" runs, and what it holds.
func StatusOf(ctx context.Context, getenv func(string) string) (Status, error) {
	s := Status{Sets: []kept.Held{}}
	if other := getenv(postgres.Variable); other != "" {
		s.Other = postgres.Redact(other)
	}
	r, ok, err := postgres.Residing(getenv)
	if err != nil || !ok {
		return s, err
	}
	s.Directory, s.Version = r.Directory, r.Version
	if r.PID == 0 {
		return s, nil
	}
	s.Running, s.PID, s.Started, s.Settings, s.Address = true, r.PID, &r.Started, r.Settings, postgres.Redact(r.Source)
	if s.State, err = postgres.StatePath(getenv); err != nil {
		return s, err
	}
	sets, err := kept.Sets(ctx, r.Source)
	switch {
	case ctx.Err() != nil:
		return s, err
	case err != nil:
		s.Problem = fault.Describe(err) // it is starting, or was just killed
	default:
		s.Sets = sets
	}
	return s, nil
}

// UsualSet returns the size of the ledger's first data set.
func UsualSet() (accounts, transactions int) {
	set, err := ledger.SetOf("")
	if err != nil {
		panic(err) // the name of the default set cannot be wrong
	}
	return set.Size()
}

// SeedSource returns the connection string of the server that data sets are written to.
func SeedSource(getenv func(string) string) (string, error) {
	if source := getenv(postgres.Variable); source != "" {
		return source, nil
	}
	r, ok, err := postgres.Running(getenv)
	if err != nil {
		return "", err
	}
	if !ok {
		return "", wirelab.Errorf(wirelab.NotFound,
			"no server runs: start one with wirelab db start, or set %s to a connection string", postgres.Variable)
	}
	return r.Source, nil
}
