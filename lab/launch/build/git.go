package build

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"wirelab"
)

// repository is a user's repository, with the user's folder in it.
type repository struct {
	common string // its git directory, which all of its work trees share
	top    string // of the work tree; "" for a bare repository
	prefix string // from the top to the user's folder
}

// ofGit has the variables that make git use another repository than the one in its current folder. Git sets them for
// everything that one of its hooks starts. Variables with settings stay.
var ofGit = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_OBJECT_DIRECTORY", "GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE",
	"GIT_GRAFT_FILE", "GIT_INDEX_FILE", "GIT_NO_REPLACE_OBJECTS",
	"GIT_REPLACE_REF_BASE", "GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_COMMON_DIR",
}

// environment returns the environment of this process without these variables.
func environment(more ...string) []string {
	own := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(ofGit, name)
	})
	return append(own, more...)
}

// git runs git in a folder and returns its output.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	// A measurement must not run the user's hooks.
	command := exec.CommandContext(ctx, "git", append([]string{"-c", "core.hooksPath=/dev/null"}, args...)...)
	command.Dir = dir
	command.Env = environment("LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0")
	// All processes that git starts end with it if ctx is done or this process ends.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	command.WaitDelay = time.Second
	var out, words bytes.Buffer
	command.Stdout, command.Stderr = &out, &words
	err := command.Run()
	switch {
	case err == nil:
		return strings.TrimRight(out.String(), "\n"), nil
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, exec.ErrNotFound):
		return "", wirelab.Errorf(wirelab.NotFound, "git is not installed, and builds of commits need it")
	}
	said := words.String()
	return "", wirelab.Errorf(wirelab.Unavailable, "git %s in %s: %s (%v)", args[0], dir,
		strings.TrimSpace(said[max(0, len(said)-2000):]), err)
}

// open finds the repository that a folder is in.
func open(ctx context.Context, dir string) (repository, error) {
	if about, err := os.Stat(dir); err != nil || !about.IsDir() {
		return repository{}, wirelab.Errorf(wirelab.NotFound, "%s is no folder", dir)
	}
	common, err := git(ctx, dir, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return repository{}, notARepository(ctx, dir, err)
	}
	r := repository{common: common}
	if r.top, err = git(ctx, dir, "rev-parse", "--show-toplevel"); err != nil {
		r.top = "" // it is bare
		return r, context.Cause(ctx)
	}
	r.prefix, err = git(ctx, dir, "rev-parse", "--show-prefix")
	return r, err
}

// notARepository returns an error that says so, unless something else is wrong.
func notARepository(ctx context.Context, dir string, err error) error {
	if ctx.Err() != nil || wirelab.CodeOf(err) == wirelab.NotFound {
		return err
	}
	if strings.Contains(err.Error(), "not a git repository") {
		return wirelab.Errorf(wirelab.NotFound,
			"%s is not in a git repository; go to your project's folder, or give a path instead of git:REF", dir)
	}
	return err // for example, the repository belongs to another user
}

// commit returns the hash of the commit that a name stands for.
func (r repository) commit(ctx context.Context, ref string) (string, error) {
	at := cmp.Or(r.top, r.common) // HEAD is that of the user's work tree
	hash, err := git(ctx, at, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if err != nil && ctx.Err() == nil {
		return "", wirelab.Errorf(wirelab.NotFound,
			"%s has no branch, tag or commit %q; git branch -a shows branches, and git fetch gets new ones", r.name(),
			ref)
	}
	return hash, err
}

// name returns the name of the repository, for people.
func (r repository) name() string {
	if r.top != "" {
		return filepath.Base(r.top)
	}
	return strings.TrimSuffix(filepath.Base(r.common), ".git")
}

// state returns the commit of a folder and whether files there differ from it; "" for a folder outside a repository.
func state(ctx context.Context, dir string) (commit string, dirty bool, err error) {
	if commit, err = git(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD"); err != nil {
		return "", false, context.Cause(ctx) // not in git, or without a commit
	}
	changed, err := git(ctx, dir, "status", "--porcelain")
	return commit, changed != "", err
}

// checkOut makes a work tree of a commit.
func (r repository) checkOut(ctx context.Context, commit, tree string) error {
	// Twice --force: a work tree of this name may still be registered although its folder was removed.
	if _, err := git(ctx, r.common, "worktree", "add", "--force", "--force", "--detach", tree, commit); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(tree, ".gitmodules")); err != nil {
		return nil //nolint:nilerr // it has no submodules
	}
	_, err := git(ctx, tree, "submodule", "update", "--init", "--recursive", "--quiet")
	return err
}

// discard removes a work tree, and the repository's record of it.
func discard(ctx context.Context, common, tree string) error {
	if err := removeAll(tree); err != nil {
		return err
	}
	if about, err := os.Stat(common); err != nil || !about.IsDir() {
		return nil //nolint:nilerr // the repository is gone, and the list with it
	}
	listed, err := git(ctx, common, "worktree", "list", "--porcelain")
	if err != nil || !slices.Contains(strings.Split(listed, "\n"), "worktree "+tree) {
		return err
	}
	_, err = git(ctx, common, "worktree", "remove", "--force", "--force", tree)
	return err
}

// removeAll removes a folder, in which a build may have made folders read-only.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			_ = os.Chmod(name, 0o700) //nolint:gosec // it is removed; what cannot be shows below
		}
		return nil
	})
	return os.RemoveAll(dir)
}
