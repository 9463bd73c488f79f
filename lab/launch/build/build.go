// Package build makes a version of a user's own project runnable: a commit, in a work
// tree that nobody else has, built there by the project's own command, or a path, as it
// is. It knows git and a cache, and neither what is built nor what it is run for.
package build

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"wirelab"
	"wirelab/internal/affinity"
	"wirelab/internal/process"
)

// Spec says which version is to be made runnable, and how.
type Spec struct {
	// Repo is a folder in the user's repository; "": ours. Where it is not the top, Command runs in the
	// same folder of the work tree.
	Repo string
	// Ref is "git:main", "git:HEAD~1", "git:v1.2" or any other name of a commit, or the path of a
	// folder or a program.
	Ref string
	// Command builds it, by the shell; "": nothing needs to be built.
	Command string
	// Dir is the folder, from Repo or from the path, in which Command runs and the result is; "": Repo.
	Dir string
	// Progress gets what the build prints, as it comes; nil: nobody does.
	Progress io.Writer
	// Cache is where builds are kept; "": in the user's folder of caches.
	Cache string
}

// Version is a version that can be run.
type Version struct {
	Ref string // as it was given
	Dir string // to run it in: Dir of the specification
	// Program is what the path was, if it was a program's; else "".
	Program string
	Commit  string // its hash, in full; "" of a path that is in no repository
	// Dirty is that files at a path differ from the commit. A version of git: never is.
	Dirty bool
	// Cached is that it had been built before.
	Cached bool

	held *os.File // the lock; nil of a path
}

// Close gives a version back. From then on the cache may remove it.
func (v *Version) Close() error {
	if v.held == nil {
		return nil
	}
	defer func() { v.held = nil }()
	return v.held.Close()
}

// Build makes a version runnable; call Close when it is not used any more. If ctx ends, so do the
// build and all that it started, and nothing half built is left. The error is NotFound for
// what is not there, InvalidArgument for a specification that cannot be, and Unavailable,
// with the last lines that it printed, for a build that failed.
func Build(ctx context.Context, s Spec) (*Version, error) {
	if s.Ref == "" {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "no version is named; write git:main, or a path")
	}
	if filepath.IsAbs(s.Dir) || s.Dir != "" && !filepath.IsLocal(s.Dir) {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "the folder %s is not below that of the version", s.Dir)
	}
	if ref, ok := strings.CutPrefix(s.Ref, "git:"); ok {
		return s.commit(ctx, ref)
	}
	return s.path(ctx)
}

// path makes what is at a path runnable, there.
func (s Spec) path(ctx context.Context) (*Version, error) {
	full, err := filepath.Abs(filepath.Join(s.Repo, s.Ref))
	if filepath.IsAbs(s.Ref) {
		full, err = filepath.Clean(s.Ref), nil
	}
	if err != nil {
		return nil, err
	}
	about, err := os.Stat(full)
	if err != nil {
		return nil, wirelab.Errorf(wirelab.NotFound, "there is no %s; for a branch, tag or commit write git:%s", full,
			s.Ref)
	}
	v := &Version{Ref: s.Ref, Dir: filepath.Join(full, s.Dir)}
	if !about.IsDir() {
		if about.Mode()&0o111 == 0 {
			return nil, wirelab.Errorf(wirelab.InvalidArgument, "%s is neither a folder nor a program", full)
		}
		v.Dir, v.Program = filepath.Join(filepath.Dir(full), s.Dir), full
	}
	if err := isFolder(v.Dir, s.Ref); err != nil {
		return nil, err
	}
	if err := s.run(ctx, v.Dir); err != nil {
		return nil, err
	}
	v.Commit, v.Dirty, err = state(ctx, v.Dir)
	if err != nil {
		return nil, err
	}
	return v, nil
}

// commit makes a commit runnable, in a work tree of the cache.
func (s Spec) commit(ctx context.Context, ref string) (*Version, error) {
	if ref == "" {
		return nil, wirelab.Errorf(wirelab.InvalidArgument, "git: names no commit; write git:main or git:HEAD~1")
	}
	from, err := open(ctx, cmp.Or(s.Repo, "."))
	if err != nil {
		return nil, err
	}
	hash, err := from.commit(ctx, ref)
	if err != nil {
		return nil, err
	}
	cache, err := cacheOf(s.Cache)
	if err != nil {
		return nil, err
	}
	within := filepath.Join(from.prefix, s.Dir)
	m := made{Repository: from.common, Commit: hash, Command: s.Command, Dir: within}
	e := entryOf(cache, from.name(), m)
	held, cached, err := s.enter(ctx, from, e, m)
	if err != nil {
		return nil, err
	}
	// It is the last one that was used; the error is of one that cannot be dated, which is removed sooner.
	_ = os.Chtimes(e.mark(), time.Now(), time.Now())
	tidy(ctx, cache)
	return &Version{Ref: s.Ref, Dir: filepath.Join(e.tree(), within), Commit: hash, Cached: cached, held: held}, nil
}

// enter holds a build, shared, and makes it first if it is not there.
func (s Spec) enter(ctx context.Context, from repository, e entry, m made) (held *os.File, cached bool, err error) {
	for cached = true; ; {
		if held, err = e.hold(ctx, unix.LOCK_SH); err != nil {
			return nil, false, err
		}
		if e.built() {
			return held, cached, nil
		}
		if err := held.Close(); err != nil {
			return nil, false, err
		}
		alone, err := e.hold(ctx, unix.LOCK_EX)
		if err != nil {
			return nil, false, err
		}
		if !e.built() { // another may have built it until now
			err = s.make(ctx, from, e, m)
			cached = false
		}
		// The lock cannot become shared at one stroke: another may remove the build until it is. Then it is made anew.
		if err = errors.Join(err, alone.Close()); err != nil {
			return nil, false, err
		}
	}
}

// make checks a commit out and builds it. The lock is held alone.
func (s Spec) make(ctx context.Context, from repository, e entry, m made) (err error) {
	// What is there is half built, by one that was killed. To clean up is not what ctx may end.
	cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	if err := e.remove(cleaning); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			err = errors.Join(err, e.remove(cleaning))
		}
	}()
	if err := e.begin(m); err != nil {
		return err
	}
	if err := from.checkOut(ctx, m.Commit, e.tree()); err != nil {
		return err
	}
	dir := filepath.Join(e.tree(), m.Dir)
	if err := isFolder(dir, s.Ref); err != nil {
		return err
	}
	if err := s.run(ctx, dir); err != nil {
		return err
	}
	return e.finish()
}

// isFolder reports a folder that a version does not have.
func isFolder(dir, ref string) error {
	if about, err := os.Stat(dir); err != nil || !about.IsDir() {
		return wirelab.Errorf(wirelab.NotFound, "%s has no folder %s", ref, dir)
	}
	return nil
}

const (
	// grace is how long a build that was told to end may take to clean up.
	grace = 5 * time.Second
	// told is how many of the last lines of a build that failed are told.
	told = 20
)

// run builds in a folder.
func (s Spec) run(ctx context.Context, dir string) error {
	if s.Command == "" {
		return nil
	}
	words := &process.Words{Also: s.Progress}
	command := exec.Command("sh", "-c", s.Command)
	command.Dir = dir
	command.Env = environment()
	command.Stdout, command.Stderr = words, words
	command.WaitDelay = time.Second
	p, err := process.Start(command, affinity.Place{})
	if err != nil {
		return fmt.Errorf("build %s: %w", s.Ref, err)
	}
	select {
	case <-p.Done():
	case <-ctx.Done():
		_, err := p.End(syscall.SIGTERM, grace)
		_ = p.Wait() // it was ended
		return errors.Join(context.Cause(ctx), err)
	}
	if err := p.Wait(); err != nil {
		return wirelab.Errorf(wirelab.Unavailable, "build %s: %s failed in %s: %v\n%s",
			s.Ref, s.Command, dir, err, strings.Join(words.Lines(told), "\n"))
	}
	return nil
}
