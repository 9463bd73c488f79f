package daemon

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"wirelab/wire/status"
)

// askLimit is the longest that a program may take to say what it is.
const askLimit = 10 * time.Second

// Program is one of ours that another of ours starts.
type Program struct {
	File     string // its name as a file: "hermes"
	Title    string // what it is called in a message: "Hermes"
	Variable string // the environment variable that names it where it is in no usual place
}

// Installation is where a program is, and the version that it says it has.
type Installation struct {
	Program string
	Version string
}

// Find finds the program: the one that the variable names, else one that lies next to
// this program, as "make build" puts them, else the first on the path. NotFound, with
// what to do, if there is none, or another's of that name.
func (p Program) Find(ctx context.Context, getenv func(string) string) (Installation, error) {
	self, err := os.Executable()
	if err != nil {
		self = "" // then nothing lies next to it
	}
	return p.find(ctx, getenv, self)
}

func (p Program) find(ctx context.Context, getenv func(string) string, self string) (Installation, error) {
	if named := getenv(p.Variable); named != "" {
		found, err := p.ask(ctx, named)
		if err != nil && ctx.Err() == nil {
			err = status.Errorf(status.NotFound, "$%s is %s, which is not %s: %v", p.Variable, named, p.Title, err)
		}
		return found, err
	}
	var folders []string
	if self != "" {
		folders = append(folders, filepath.Dir(self))
	}
	for _, folder := range append(folders, filepath.SplitList(getenv("PATH"))...) {
		program := filepath.Join(folder, p.File)
		about, err := os.Stat(program)
		if err != nil || !about.Mode().IsRegular() || about.Mode()&0o111 == 0 || !filepath.IsAbs(program) {
			continue
		}
		found, err := p.ask(ctx, program)
		if err == nil || ctx.Err() != nil {
			return found, err
		}
		// There are other programs of that name.
	}
	return Installation{}, status.Errorf(status.NotFound,
		"the program %s is not next to this one, nor on the path; build it with make build, or name it in %s", p.File,
		p.Variable)
}

// ask has a program say what it is. What says it in another form is not ours.
func (p Program) ask(ctx context.Context, program string) (Installation, error) {
	asking, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	command := exec.CommandContext(asking, program, "version", "--json")
	command.WaitDelay = time.Second
	text, err := command.Output()
	if ctx.Err() != nil {
		return Installation{}, status.Public(ctx.Err())
	}
	if err != nil {
		return Installation{}, err
	}
	var said struct{ Version, Commit, Platform string }
	if err := json.Unmarshal(text, &said); err != nil || said.Version == "" || said.Commit == "" ||
		said.Platform == "" {
		return Installation{}, status.Errorf(status.InvalidArgument, "it does not tell its version as %s does", p.Title)
	}
	return Installation{Program: program, Version: said.Version}, nil
}
