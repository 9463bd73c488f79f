package nats

import (
	"context"

	"wirelab/internal/daemon"
)

// ProgramVariable names the program, where it is in none of the usual places.
const ProgramVariable = "WIRELAB_NATS"

// Find finds the program that a server is, for the command of [Start].
func Find(ctx context.Context, getenv func(string) string) (daemon.Installation, error) {
	return daemon.Program{File: "wirelab-nats", Title: "wirelab-nats", Variable: ProgramVariable}.Find(ctx, getenv)
}
