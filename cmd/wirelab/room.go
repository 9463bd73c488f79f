package main

import (
	"errors"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"wirelab/cli"
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
func (a *app) last() error { return cli.Both(a.unkept, a.databases.Close()) }

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

// storedAs is what an answer says of where its result is.
var storedAs = regexp.MustCompile(`(; )?(of the others )?(the result is |what was measured is )?stored as r-[0-9a-f-]+`)

// lost is an answer whose result could not be stored, and where that is instead.
func (a *app) lost(answer string) string {
	return storedAs.ReplaceAllString(answer, "") + "; " + describe(a.unkept)
}
