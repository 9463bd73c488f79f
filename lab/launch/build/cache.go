package build

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"wirelab"
)

// kept is how many builds the cache keeps. Those in use are kept as well.
const kept = 8

// The cache has for each build a folder with
//
//	tree        its work tree
//	built.json  what it is, written when it was built: without it, it is half built
//
// and NAME.lock, which users of the build hold shared, and which is held exclusively to make or remove it. The kernel
// releases a lock when its holder ends in any way. Lock files are never removed: two processes could otherwise hold
// locks on different files of the same name.
type entry struct {
	cache, name string
}

func (e entry) dir() string  { return filepath.Join(e.cache, e.name) }
func (e entry) tree() string { return filepath.Join(e.dir(), "tree") }
func (e entry) mark() string { return filepath.Join(e.dir(), "built.json") }
func (e entry) lock() string { return filepath.Join(e.cache, e.name+".lock") }

// made describes a build. It is the content of the mark, and is stored in the folder before the build.
type made struct {
	Repository string `json:"repository"` // its folder of git
	Commit     string `json:"commit"`
	Command    string `json:"command"`
	Dir        string `json:"dir"`
}

// entryOf returns the cache entry of a build.
func entryOf(cache, name string, m made) entry {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q", []string{m.Repository, m.Commit, m.Command, m.Dir}))
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, name)
	return entry{cache, fmt.Sprintf("%.40s-%.12s-%x", clean, m.Commit, sum[:6])}
}

// lockPause is the time between two attempts to take a lock.
const lockPause = 20 * time.Millisecond

// hold waits for a lock, shared or exclusive as how says, and takes it.
func (e entry) hold(ctx context.Context, how int) (*os.File, error) {
	f, err := os.OpenFile(e.lock(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), f.Close())
		case <-again.C:
		}
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", e.lock(), err), f.Close())
		}
		again.Reset(lockPause)
	}
}

// built reports whether the build exists and is complete.
func (e entry) built() bool {
	_, err := os.Stat(e.mark())
	_, errTree := os.Stat(e.tree())
	return err == nil && errTree == nil
}

// begin makes the folder and stores the description of the build, before anything else is in it. A process that finds
// the folder half built then knows which repository has its work tree.
func (e entry) begin(m made) error {
	if err := os.MkdirAll(e.dir(), 0o700); err != nil {
		return err
	}
	return write(e.mark()+".new", m)
}

// finish marks the build as complete.
func (e entry) finish() error { return os.Rename(e.mark()+".new", e.mark()) }

func write(name string, m made) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o600)
}

// remove removes the build. The caller must hold the exclusive lock.
func (e entry) remove(ctx context.Context) error {
	var m made
	for _, name := range []string{e.mark(), e.mark() + ".new"} {
		if text, err := os.ReadFile(name); err == nil && json.Unmarshal(text, &m) == nil {
			break
		}
	}
	if m.Repository != "" {
		if err := discard(ctx, m.Repository, e.tree()); err != nil {
			return err
		}
	}
	return removeAll(e.dir())
}

// tidy removes half-built versions that no process holds, and the builds that were unused for longest. If one cannot be
// removed, the next call tries again.
func tidy(ctx context.Context, cache string) {
	found, err := os.ReadDir(cache)
	if err != nil {
		return
	}
	type aged struct {
		entry
		used time.Time // zero if half built
	}
	var all []aged
	for _, one := range found {
		if !one.IsDir() {
			continue
		}
		e := aged{entry: entry{cache, one.Name()}}
		if about, err := os.Stat(e.mark()); err == nil && e.built() {
			e.used = about.ModTime()
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b aged) int { return b.used.Compare(a.used) })
	for i, e := range all {
		if i < kept && !e.used.IsZero() {
			continue
		}
		f, err := os.OpenFile(e.lock(), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			continue
		}
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = e.remove(ctx)
		}
		_ = f.Close() // it was only held
	}
}

// cacheOf returns the folder of the builds, and creates it.
func cacheOf(given string) (string, error) {
	if given == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return "", wirelab.Errorf(wirelab.NotFound, "there is no folder for caches: %v; set XDG_CACHE_HOME", err)
		}
		given = filepath.Join(user, "wirelab", "builds")
	}
	if err := os.MkdirAll(given, 0o700); err != nil {
		return "", err
	}
	given, err := filepath.Abs(given)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(given) // git names its work trees in this form
}
