package build_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab"
	"wirelab/lab/launch/build"
)

// project is a user's repository, with a cache for its builds.
type project struct {
	t          *testing.T
	dir, cache string
}

func newProject(t *testing.T) project {
	t.Helper()
	p := project{t, filepath.Join(t.TempDir(), "my shop"), t.TempDir()}
	p.must(os.Mkdir(p.dir, 0o700))
	p.git("init", "--quiet", "--initial-branch=main")
	// A hook that would print, and would make a check-out fail.
	p.must(os.MkdirAll(filepath.Join(p.dir, ".git", "hooks"), 0o700))
	p.must(os.WriteFile(filepath.Join(p.dir, ".git", "hooks", "post-checkout"), []byte("#!/bin/sh\nexit 1\n"), 0o700))
	p.commit("one")
	return p
}

func (p project) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

func (p project) git(args ...string) string {
	p.t.Helper()
	command := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
	command.Dir = p.dir
	out, err := command.CombinedOutput()
	if err != nil {
		p.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// commit makes a commit whose file has this text.
func (p project) commit(text string) (hash string) {
	p.t.Helper()
	p.must(os.MkdirAll(filepath.Join(p.dir, "cmd", "shop"), 0o700))
	p.must(os.WriteFile(filepath.Join(p.dir, "cmd", "shop", "version"), []byte(text+"\n"), 0o600))
	p.git("add", "-A")
	p.git("commit", "--quiet", "-m", text)
	return p.git("rev-parse", "HEAD")
}

func (p project) spec(ref, command string) build.Spec {
	return build.Spec{Repo: p.dir, Ref: ref, Command: command, Cache: p.cache}
}

func (p project) build(s build.Spec) *build.Version {
	p.t.Helper()
	v, err := build.Build(p.t.Context(), s)
	p.must(err)
	p.t.Cleanup(func() { p.must(v.Close()) })
	return v
}

// trees returns the work trees that the repository knows besides the user's.
func (p project) trees() []string {
	p.t.Helper()
	return strings.Split(p.git("worktree", "list"), "\n")[1:]
}

// cached returns the folders in the cache.
func (p project) cached() (names []string) {
	p.t.Helper()
	all, err := os.ReadDir(p.cache)
	p.must(err)
	for _, one := range all {
		if one.IsDir() {
			names = append(names, one.Name())
		}
	}
	return names
}

// counting returns a command that builds, and a function that returns how often it did.
func counting(t *testing.T) (command string, times func() int) {
	t.Helper()
	counter := filepath.Join(t.TempDir(), "counter")
	return `mkdir -p bin && cp cmd/shop/version bin/shop && echo built it && echo x >> '` + counter + `'`, func() int {
		text, _ := os.ReadFile(counter)
		return bytes.Count(text, []byte("x"))
	}
}

func said(t *testing.T, v *build.Version, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(v.Dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// Two versions are built once each, in separate work trees. The user's tree is not changed.
func TestVersions(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	first := p.git("rev-parse", "HEAD")
	second := p.commit("two")
	p.git("tag", "v2")
	p.must(os.WriteFile(filepath.Join(p.dir, "cmd", "shop", "version"), []byte("not committed\n"), 0o600))
	command, times := counting(t)
	for range 2 {
		for _, c := range []struct{ ref, hash, text string }{
			{"git:HEAD~1", first, "one"},
			{"git:main", second, "two"},
			{"git:v2", second, "two"},
			{"git:" + first[:10], first, "one"},
		} {
			var progress bytes.Buffer
			s := p.spec(c.ref, command)
			s.Progress = &progress
			before := times()
			v := p.build(s)
			if got := said(t, v, "bin/shop"); v.Commit != c.hash || v.Dirty || got != c.text || v.Ref != c.ref {
				t.Errorf("%s is %+v, and says %q", c.ref, v, got)
			}
			if v.Cached != (times() == before) || !v.Cached != (progress.String() == "built it\n") {
				t.Errorf("%s: cached %v, built %d times, said %q", c.ref, v.Cached, times(), progress.String())
			}
			if head := strings.TrimSpace(string(outputOf(t, v.Dir, "git", "rev-parse", "HEAD"))); head != c.hash {
				t.Errorf("a build that asks git hears of %s", head)
			}
		}
	}
	if times() != 2 || len(p.trees()) != 2 {
		t.Errorf("built %d times, in %v", times(), p.trees())
	}
	if p.git("status", "--porcelain") != "M cmd/shop/version" {
		t.Errorf("the user's tree is now %s", p.git("status", "--porcelain"))
	}
	s := p.spec("git:main", "mv version renamed") // in a folder, from the folder that the user is in
	s.Repo, s.Dir = filepath.Join(p.dir, "cmd"), "shop"
	if v := p.build(s); said(t, v, "renamed") != "two" {
		t.Errorf("built in %s", v.Dir)
	}
}

func outputOf(t *testing.T, dir string, args ...string) []byte {
	t.Helper()
	command := exec.Command(args[0], args[1:]...)
	command.Dir = dir
	out, err := command.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// If a tree was removed from the cache by hand, it is made again.
func TestTreeThatWasRemoved(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	command, times := counting(t)
	for n := range 2 {
		v, err := build.Build(t.Context(), p.spec("git:main", command))
		p.must(err)
		p.must(v.Close())
		if times() != n+1 || len(p.trees()) != 1 {
			t.Errorf("built %d times, in %v", times(), p.trees())
		}
		p.must(os.RemoveAll(v.Dir))
	}
}

// A path is run in place, and is reported as dirty if it differs from its commit.
func TestPaths(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	hash := p.git("rev-parse", "HEAD")
	v := p.build(p.spec(".", ""))
	if v.Dir != p.dir || v.Commit != hash || v.Dirty || v.Program != "" {
		t.Errorf("the user's folder is %+v", v)
	}
	p.must(os.WriteFile(filepath.Join(p.dir, "new"), nil, 0o600))
	v = p.build(p.spec(p.dir, "echo three > cmd/shop/version"))
	if !v.Dirty || said(t, v, "cmd/shop/version") != "three" {
		t.Errorf("with a new file it is %+v", v)
	}
	program := filepath.Join(t.TempDir(), "old")
	p.must(os.WriteFile(program, []byte("#!/bin/sh\n"), 0o700))
	v = p.build(p.spec(program, ""))
	if v.Program != program || v.Dir != filepath.Dir(program) || v.Commit != "" || v.Dirty {
		t.Errorf("a program is %+v", v)
	}
	if got := p.cached(); got != nil {
		t.Errorf("the cache has %v", got)
	}
}

// A build that fails says why, and leaves nothing.
func TestWhatCannotBeBuilt(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	plain := filepath.Join(t.TempDir(), "plain")
	p.must(os.WriteFile(plain, nil, 0o600))
	for _, c := range []struct {
		name string
		spec build.Spec
		code wirelab.Code
		want string
	}{
		{"no version", p.spec("", ""), wirelab.InvalidArgument, "write git:main"},
		{"no commit", p.spec("git:", ""), wirelab.InvalidArgument, "git:HEAD~1"},
		{"no such branch", p.spec("git:mian", ""), wirelab.NotFound, `my shop has no branch, tag or commit "mian"`},
		{"an option", p.spec("git:--all", ""), wirelab.NotFound, `no branch, tag or commit "--all"`},
		{
			"no repository",
			build.Spec{Repo: filepath.Dir(plain), Ref: "git:main"},
			wirelab.NotFound, "is not in a git repository",
		},
		{"no folder", build.Spec{Repo: plain + "x", Ref: "git:main"}, wirelab.NotFound, "is no folder"},
		{"no path", p.spec("main", ""), wirelab.NotFound, "for a branch, tag or commit write git:main"},
		{"no program", p.spec(plain, ""), wirelab.InvalidArgument, "neither a folder nor a program"},
		{
			"it fails", p.spec("git:main", "echo first; echo the compiler says no >&2; exit 2"), wirelab.Unavailable,
			"exit status 2\nfirst\nthe compiler says no",
		},
		{
			"a folder that it has not",
			build.Spec{Repo: p.dir, Ref: "git:main", Dir: "src", Cache: p.cache},
			wirelab.NotFound, "git:main has no folder",
		},
		{
			"a folder outside",
			build.Spec{Repo: p.dir, Ref: "git:main", Dir: "../x"},
			wirelab.InvalidArgument, "is not below",
		},
	} {
		v, err := build.Build(t.Context(), c.spec)
		if err == nil {
			_ = v.Close()
		}
		if err == nil || wirelab.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	if trees, cached := p.trees(), p.cached(); len(trees) > 0 || len(cached) > 0 {
		t.Errorf("there are left %v and %v", trees, cached)
	}
}

// Runs at the same time build once, and each gets the build.
func TestRunsAtTheSameTime(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	command, times := counting(t)
	var all sync.WaitGroup
	for range 6 {
		all.Go(func() {
			v, err := build.Build(t.Context(), p.spec("git:main", command))
			if err != nil {
				t.Error(err)
				return
			}
			if got := said(t, v, "bin/shop"); got != "one" {
				t.Errorf("it says %q", got)
			}
			if err := v.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if times() != 1 {
		t.Errorf("built %d times", times())
	}
}

// signals reports when a build has printed something.
type signals struct{ said chan struct{} }

func (s signals) Write(p []byte) (int, error) {
	s.said <- struct{}{}
	return len(p), nil
}

// A build that is interrupted ends with all processes that it started, and leaves nothing half built.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if out, err := exec.Command("mkfifo", pipe).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	reading := make(chan error, 1)
	go func() { // ends when no process has the pipe open any more
		_, err := os.ReadFile(pipe)
		reading <- err
	}()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	interrupted := errors.New("interrupted")
	s := p.spec("git:main", `chmod 500 cmd; exec >'`+pipe+`'; echo begun >&2; (sleep 3600) & sleep 3600`)
	progress := signals{make(chan struct{}, 9)}
	s.Progress = progress
	done := make(chan error, 1)
	go func() {
		_, err := build.Build(ctx, s)
		done <- err
	}()
	<-progress.said
	cancel(interrupted)
	if err := <-done; !errors.Is(err, interrupted) {
		t.Errorf("it ended with %v", err)
	}
	if err := <-reading; err != nil {
		t.Error(err)
	}
	if trees, cached := p.trees(), p.cached(); len(trees) > 0 || len(cached) > 0 {
		t.Errorf("there are left %v and %v", trees, cached)
	}
}

// A half-built version that a killed run left is not used, and is removed.
func TestHalfBuilt(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	command, times := counting(t)
	v, err := build.Build(t.Context(), p.spec("git:main", command))
	p.must(err)
	p.must(v.Close())
	folder := filepath.Dir(v.Dir)
	p.must(os.Rename(filepath.Join(folder, "built.json"), filepath.Join(folder, "built.json.new")))
	p.must(os.Remove(filepath.Join(v.Dir, "bin", "shop")))
	p.commit("two")
	p.build(p.spec("git:main", command)) // building another version cleans up
	if trees, cached := p.trees(), p.cached(); len(trees) != 1 || len(cached) != 1 {
		t.Errorf("there are left %v and %v", trees, cached)
	}
	if v := p.build(p.spec("git:HEAD~1", command)); v.Cached || times() != 3 || said(t, v, "bin/shop") != "one" {
		t.Errorf("it is %+v, built %d times", v, times())
	}
}

// The cache keeps the last eight builds, and those in use.
func TestCacheIsBounded(t *testing.T) {
	t.Parallel()
	p := newProject(t)
	inUse := p.build(p.spec("git:main", "true 0"))
	var second string
	for n := range 10 {
		v, err := build.Build(t.Context(), p.spec("git:main", "true 1"+strings.Repeat(" ", n)))
		p.must(err)
		if n == 0 {
			second = v.Dir
		}
		p.must(v.Close())
		// Set the times of use explicitly, since the file system's times may be equal for quick builds.
		then := time.Now().Add(time.Duration(n-60) * time.Minute)
		p.must(os.Chtimes(filepath.Join(filepath.Dir(v.Dir), "built.json"), then, then))
	}
	then := time.Now().Add(-24 * time.Hour)
	p.must(os.Chtimes(filepath.Join(filepath.Dir(inUse.Dir), "built.json"), then, then))
	p.build(p.spec("git:main", "true 2"))
	if trees, cached := p.trees(), p.cached(); len(trees) != 9 || len(cached) != 9 {
		t.Errorf("there are %d trees and %d builds, want eight and the one in use", len(trees), len(cached))
	}
	if _, err := os.Stat(inUse.Dir); err != nil {
		t.Errorf("one in use was removed: %v", err)
	}
	if _, err := os.Stat(second); err == nil {
		t.Error("the oldest was kept")
	}
}
