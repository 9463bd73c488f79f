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

// repository is a user's, with the folder in it that the user is in.
type repository struct {
	common string // its folder of git, which all of its work trees share
	top    string // of the work tree; "" of a bare one
	prefix string // from the top to the user's folder
}

// ofGit are variables that lead git to another repository than the one in the folder it is
// started in. A hook of git's sets them for all that it starts. Settings, which may be given
// by variables too, stay.
var ofGit = []string{
	"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_OBJECT_DIRECTORY", "GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE",
	"GIT_GRAFT_FILE", "GIT_INDEX_FILE", "GIT_NO_REPLACE_OBJECTS",
	"GIT_REPLACE_REF_BASE", "GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_COMMON_DIR",
}

// environment is ours without what leads git astray.
func environment(more ...string) []string {
	own := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return slices.Contains(ofGit, name)
	})
	return append(own, more...)
}

// git runs git in a folder and returns what it printed.
func git(ctx context.Context, dir string, args ...string) (string, error) {
	// No hook of the user's runs because of a measurement.
	command := exec.CommandContext(ctx, "git", append([]string{"-c", "core.hooksPath=/dev/null"}, args...)...)
	command.Dir = dir
	command.Env = environment("LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0")
	// All that git starts ends with it, if ctx does or we do.
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

// notARepository says so, unless something else is wrong.
func notARepository(ctx context.Context, dir string, err error) error {
	if ctx.Err() != nil || wirelab.CodeOf(err) == wirelab.NotFound {
		return err
	}
	if strings.Contains(err.Error(), "not a git repository") {
		return wirelab.Errorf(wirelab.NotFound,
			"%s is not in a git repository; go to your project's folder, or give a path instead of git:REF", dir)
	}
	return err // such as that it is another user's
}

// commit finds the commit that a name stands for.
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

// name is the repository's, for people.
func (r repository) name() string {
	if r.top != "" {
		return filepath.Base(r.top)
	}
	return strings.TrimSuffix(filepath.Base(r.common), ".git")
}

// state is the commit that a folder is at and whether files there differ from it; "" of
// a folder that is in no repository.
func state(ctx context.Context, dir string) (commit string, dirty bool, err error) {
	if commit, err = git(ctx, dir, "rev-parse", "--verify", "--quiet", "HEAD"); err != nil {
		return "", false, context.Cause(ctx) // not of git, or without a commit: there is nothing to tell
	}
	changed, err := git(ctx, dir, "status", "--porcelain")
	return commit, changed != "", err
}

// checkOut makes a work tree of a commit.
func (r repository) checkOut(ctx context.Context, commit, tree string) error {
	// Twice --force: a tree of ours may be registered there that someone removed.
	if _, err := git(ctx, r.common, "worktree", "add", "--force", "--force", "--detach", tree, commit); err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(tree, ".gitmodules")); err != nil {
		return nil //nolint:nilerr // it has no submodules
	}
	_, err := git(ctx, tree, "submodule", "update", "--init", "--recursive", "--quiet")
	return err
}

// discard removes a work tree, and what the repository knows of it.
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
