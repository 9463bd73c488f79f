package rabbitmq

import (
	"cmp"
	"context"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"wirelab"
	"wirelab/internal/daemon"
)

// BinVariable names the folder of the binaries, where they are at none of the
// usual places.
const BinVariable = "WIRELAB_RABBITMQ_BIN"

// Installation is where the start script of a RabbitMQ server is.
type Installation struct {
	Bin     string // the folder of rabbitmq-server, itself and not a wrapper of a package's
	Version string // "3.10.8"
}

// Find finds a server: in the folder that WIRELAB_RABBITMQ_BIN names, else where
// packages and archives put it, the latest version first, else on the path.
// NotFound, with what to install, if there is none.
func Find(ctx context.Context, getenv func(string) string) (Installation, error) {
	found, err := find(getenv, "/usr/lib/rabbitmq/lib/rabbitmq_server-*/sbin", "/usr/lib/rabbitmq/bin",
		"/opt/rabbitmq/sbin",
		"/usr/local/lib/rabbitmq/lib/rabbitmq_server-*/sbin", "/usr/local/sbin")
	if err != nil {
		return Installation{}, err
	}
	return found, erlang(ctx)
}

// find finds the server's scripts; whether there is an Erlang to run them with is not looked at.
func find(getenv func(string) string, places ...string) (Installation, error) {
	if bin := getenv(BinVariable); bin != "" {
		if found, ok := installed(bin); ok {
			return found, nil
		}
		return Installation{}, wirelab.Errorf(wirelab.NotFound,
			"%s is %s, which holds no rabbitmq-server with its rabbitmq-env and plugins", BinVariable, bin)
	}
	var folders []string
	for _, pattern := range places {
		some, err := filepath.Glob(pattern)
		if err != nil {
			return Installation{}, err // the patterns are ours
		}
		slices.SortFunc(some, func(a, b string) int { return later(filepath.Dir(a), filepath.Dir(b)) })
		folders = append(folders, some...)
	}
	// Of the path last: a package's is a wrapper for the system's own server.
	folders = append(folders, filepath.SplitList(getenv("PATH"))...)
	for _, bin := range folders {
		if found, ok := installed(bin); ok {
			return found, nil
		}
	}
	return Installation{}, wirelab.Errorf(wirelab.NotFound,
		"RabbitMQ is not installed; apt-get install rabbitmq-server, or name the folder of rabbitmq-server in %s",
		BinVariable)
}

// later orders folders such as rabbitmq_server-3.10.8 by version, the latest first.
func later(a, b string) int {
	return slices.CompareFunc(numbers(b), numbers(a), cmp.Compare[int])
}

// numbers are those of the version that a folder's name ends with.
func numbers(folder string) []int {
	_, version, _ := strings.Cut(filepath.Base(folder), "-")
	var all []int
	for word := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(word)
		if err != nil {
			break
		}
		all = append(all, n)
	}
	return all
}

// installed reports whether a folder holds a server, and which. Its version is
// that of its folder of plugins: the server itself would take seconds to tell.
func installed(bin string) (Installation, bool) {
	if !filepath.IsAbs(bin) {
		return Installation{}, false // the child runs elsewhere
	}
	script, err := filepath.EvalSymlinks(filepath.Join(bin, "rabbitmq-server"))
	if err != nil {
		return Installation{}, false
	}
	at := filepath.Dir(script)
	if _, err := exec.LookPath(script); err != nil {
		return Installation{}, false
	}
	if _, err := exec.LookPath(filepath.Join(at, "rabbitmq-env")); err != nil {
		return Installation{}, false
	}
	cores, err := filepath.Glob(filepath.Join(filepath.Dir(at), "plugins", "rabbit-[0-9]*"))
	if err != nil || len(cores) == 0 {
		return Installation{}, false
	}
	slices.SortFunc(cores, later)
	_, version, _ := strings.Cut(strings.TrimSuffix(filepath.Base(cores[0]), ".ez"), "-")
	return Installation{Bin: at, Version: version}, true
}

// erlangLimit bounds the time in which Erlang must say that it is there.
const erlangLimit = 30 * time.Second

// erlang looks whether there is an Erlang to run the server with, on the path
// that the server gets.
func erlang(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, erlangLimit)
	defer cancel()
	command := exec.CommandContext(ctx, "/bin/sh", "-c", "command -v erl")
	command.Env = daemon.Environment("/")
	if err := command.Run(); err != nil {
		return wirelab.Errorf(wirelab.NotFound,
			"RabbitMQ is installed, but not the Erlang that it runs on: there is no erl in %s", daemon.Searched)
	}
	return nil
}
