package main

import (
	"context"
	"errors"

	"wirelab"
	"wirelab/cli"
	"wirelab/fault"
	"wirelab/input"
)

// resultLimit is the most bytes of a result's file. The largest plan that is allowed makes 200 MB, with its report.
const resultLimit = 1 << 30

// outagesLimit is the most bytes of a file of chaos runs: ten thousand of them, and far above what anybody makes.
const outagesLimit = 64 << 20

// readFile reads a file that flag names, "" for an argument, until ctx ends; "-" is standard input.
func (a *app) readFile(ctx context.Context, flag, name string, most int64) (data []byte, err error) {
	if name == "-" {
		read := a.Reading()
		data, err = input.Reader(ctx, a.Stdin, most)
		read()
	} else {
		data, err = input.File(ctx, name, most)
	}
	return data, unread(flag, name, err)
}

// unread is what is said of a file that could not be read.
func unread(flag, name string, err error) error {
	coded := new(wirelab.Error)
	switch {
	case err == nil || errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &coded):
		if flag != "" {
			name = flag + " " + name
		}
		return cli.Usage("%s: %s", name, coded.Message)
	}
	return fault.Read(flag, name, err)
}
