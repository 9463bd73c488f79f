// Package build makes a version of a user's own project runnable. A commit is built by the project's own command, in a
// work tree in the cache. A path is used in place. The package knows git and a cache. It knows neither what it builds
// nor what the build is run for.
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

// Spec says which version to make runnable, and how.
type Spec struct {
	// Repo is a folder in the user's repository; "": the current folder. If it is not the top folder, Command runs in
	// the same folder of the work tree.
	Repo string
	// Ref is "git:main", "git:HEAD~1", "git:v1.2" or any other name of a commit, or the path of a folder or a program.
	Ref string
	// Command builds it, in a shell; "": nothing needs to be built.
	Command string
	// Dir is the folder, relative to Repo or to the path, in which Command runs and the result is; "": Repo.
	Dir string
	// Progress gets the output of the build as it comes; nil: it is only kept for errors.
	Progress io.Writer
	// Cache is the folder for builds; "": a folder in the user's cache directory.
	Cache string
}

// Version is a version that can be run.
type Version struct {
	Ref string // as it was given
	Dir string // the folder to run it in: the specification's Dir
	// Program is the path of the program, if Ref was one; otherwise "".
	Program string
	Commit  string // full hash; "" for a path outside a repository
	// Dirty says that files at a path differ from the commit. It is never set for a version of git.
	Dirty bool
	// Cached says that the version had been built before.
	Cached bool

	held *os.File // the lock; nil for a path
}

// Close releases a version. The cache may remove it from then on.
func (v *Version) Close() error {
	if v.held == nil {
		return nil
	}
	defer func() { v.held = nil }()
	return v.held.Close()
}

// Build makes a version runnable; call Close when it is no longer used. If ctx is done, the build and all processes
// that it started end, and nothing half built is left. The error has code NotFound if something does not exist,
// InvalidArgument for an invalid specification, and Unavailable, with the last lines of output, for a build that
// failed.
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

// path makes the folder or program at a path runnable in place.
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
	// Mark it as the last one used. If its time cannot be set, it is only removed earlier.
	_ = os.Chtimes(e.mark(), time.Now(), time.Now())
	tidy(ctx, cache)
	return &Version{Ref: s.Ref, Dir: filepath.Join(e.tree(), within), Commit: hash, Cached: cached, held: held}, nil
}

// enter takes a shared lock on a build, and makes the build first if it does not exist.
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
		if !e.built() { // another process may have built it while this one waited
			err = s.make(ctx, from, e, m)
			cached = false
		}
		// An exclusive lock cannot become a shared one atomically: another process may remove the build in between.
		// Then the loop makes it again.
		if err = errors.Join(err, alone.Close()); err != nil {
			return nil, false, err
		}
	}
}

// make checks out a commit and builds it. The caller must hold the exclusive lock.
func (s Spec) make(ctx context.Context, from repository, e entry, m made) (err error) {
	// Remove a half-built version of a process that was killed. ctx must not interrupt the cleaning.
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

// isFolder returns an error if a version does not have a folder.
func isFolder(dir, ref string) error {
	if about, err := os.Stat(dir); err != nil || !about.IsDir() {
		return wirelab.Errorf(wirelab.NotFound, "%s has no folder %s", ref, dir)
	}
	return nil
}

const (
	// grace is how long a build may take to clean up after SIGTERM.
	grace = 5 * time.Second
	// told is how many of the last lines of a failed build the error has.
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
