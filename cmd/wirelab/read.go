package main

import (
	"context"

	"wirelab/cmd/internal/cli"
	"wirelab/internal/input"
)

// readFile reads a file that flag names, "" for an argument, until ctx ends; "-" is standard input.
func (a *app) readFile(ctx context.Context, flag, name string, most int64) (data []byte, err error) {
	if name == "-" {
		read := a.Reading()
		data, err = input.Reader(ctx, a.Stdin, most)
		read()
	} else {
		data, err = input.File(ctx, name, most)
	}
	return data, cli.Unread(flag, name, err)
}
