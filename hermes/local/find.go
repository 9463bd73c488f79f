package local

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"wirelab"
)

// ProgramVariable names the program, where it is at none of the usual places.
const ProgramVariable = "WIRELAB_HERMES"

// programName is what the program is called where nobody names it.
const programName = "hermes"

// askLimit is the longest that a program may take to say what it is.
const askLimit = 10 * time.Second

// Installation is where the program is, and what it says it is.
type Installation struct {
	Program string
	Version string
}

// Find finds the program: the one that WIRELAB_HERMES names, else one that lies
// beside this program, as "make build" puts them, else one on the path. NotFound,
// with what to do, if there is none, or another's of that name.
func Find(ctx context.Context, getenv func(string) string) (Installation, error) {
	self, err := os.Executable()
	if err != nil {
		self = "" // then nothing lies beside it
	}
	return find(ctx, getenv, self)
}

func find(ctx context.Context, getenv func(string) string, self string) (Installation, error) {
	if named := getenv(ProgramVariable); named != "" {
		found, err := ask(ctx, named)
		if err != nil && ctx.Err() == nil {
			err = wirelab.Errorf(wirelab.NotFound, "$%s is %s, which is not Hermes: %v", ProgramVariable, named, err)
		}
		return found, err
	}
	var folders []string
	if self != "" {
		folders = append(folders, filepath.Dir(self))
	}
	for _, folder := range append(folders, filepath.SplitList(getenv("PATH"))...) {
		program := filepath.Join(folder, programName)
		if about, err := os.Stat(program); err != nil || !about.Mode().IsRegular() || about.Mode()&0o111 == 0 || !filepath.IsAbs(program) {
			continue
		}
		found, err := ask(ctx, program)
		if err == nil || ctx.Err() != nil {
			return found, err
		}
		// There are other programs of that name.
	}
	return Installation{}, wirelab.Errorf(wirelab.NotFound,
		"the program hermes is not beside this one, nor on the path; build it with make build, or name it in %s", ProgramVariable)
}

// ask has a program say what it is. What says it in another form is not Hermes.
func ask(ctx context.Context, program string) (Installation, error) {
	asking, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	command := exec.CommandContext(asking, program, "version", "--json")
	command.WaitDelay = time.Second
	text, err := command.Output()
	if ctx.Err() != nil {
		return Installation{}, wirelab.Public(ctx.Err())
	}
	if err != nil {
		return Installation{}, err
	}
	var said struct{ Version, Commit, Platform string }
	if err := json.Unmarshal(text, &said); err != nil || said.Version == "" || said.Commit == "" || said.Platform == "" {
		return Installation{}, wirelab.Errorf(wirelab.InvalidArgument, "it does not tell its version as Hermes does")
	}
	return Installation{Program: program, Version: said.Version}, nil
}
