package main

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"wirelab/cmd/internal/cli"
)

// roomWanted is how much room a store should have before an experiment: that of a large result, and of its log.
const roomWanted = 16 << 20

// noteRoom says before an experiment that the disk of its store is almost full. It does not refuse: what is measured
// is printed in any case.
func (a *app) noteRoom() {
	where, err := a.storePlace()
	if err != nil || isDatabase(where) {
		return
	}
	var disk unix.Statfs_t
	if err := unix.Statfs(filepath.Dir(where), &disk); err != nil {
		return // opening the store has told what is wrong
	}
	if free := disk.Bavail * uint64(disk.Bsize); free < roomWanted {
		a.Note("only %.1f MB are free where results are stored (%s): the result may not fit; make room, or set WIRELAB_STORE to a file elsewhere",
			float64(free)/1e6, filepath.Dir(where))
	}
}

// last is what is done when a command has returned, and what is told then.
func (a *app) last() error { return cli.Both(a.unkept, a.Databases.Close()) }

// exitCode is [exitCodeOf], but where a result could not be stored. That is a failure, whatever else the answer is; with
// thresholds exit code 1 means that one is exceeded, and nothing else.
func (a *app) exitCode(err error) int {
	if a.unkept == nil || !errors.Is(err, a.unkept) {
		return exitCodeOf(err)
	}
	thresholds := slices.ContainsFunc(a.args, func(arg string) bool { return strings.HasPrefix(arg, "--fail-if") })
	switch alone := err == a.unkept; { //nolint:errorlint // it alone, and nothing joined to it
	case thresholds && alone:
		return exitNoWord
	case thresholds:
		return exitCodeOf(err)
	}
	return exitCodeOf(a.unkept)
}

// stored is where a result is, for the end of an answer: what, such as "the result is ", is stored as id. It says
// nothing where it could not be stored: [app.describe] says then where it is instead.
func (a *app) stored(what, id string) string {
	if a.unkept != nil {
		return ""
	}
	return "; " + what + "stored as " + id
}
