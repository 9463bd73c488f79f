package local

import (
	"context"

	"wirelab/internal/daemon"
)

// ProgramVariable names the program, where it is in none of the usual places.
const ProgramVariable = "WIRELAB_HERMES"

// Find finds the program that a node is.
func Find(ctx context.Context, getenv func(string) string) (daemon.Installation, error) {
	return daemon.Program{File: "hermes", Title: "Hermes", Variable: ProgramVariable}.Find(ctx, getenv)
}
