package main

import (
	"context"

	"wirelab/internal/fault"
	"wirelab/internal/input"
)

// The most bytes of files that are read whole, each far above what anyone writes.
const (
	settingsLimit = 1 << 20
	secretLimit   = 64 << 10
)

// readFile reads a text that a flag, or another word for what the file is for, names, until ctx ends.
func readFile(ctx context.Context, flag, name string, most int64) ([]byte, error) {
	text, err := input.File(ctx, name, most)
	return text, fault.Unread(flag, name, err)
}
