package postgres

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"wirelab"
)

// BinVariable names the folder of the binaries, where they are at none of the
// usual places.
const BinVariable = "WIRELAB_PG_BIN"

// Installation is where the binaries of a PostgreSQL server are.
type Installation struct {
	Bin     string // the folder of initdb and postgres
	Version string // "15.18"
}

// Find finds the binaries of a server: in the folder that WIRELAB_PG_BIN names,
// else on the path, else where packages put them, the latest version first.
// NotFound, with what to install, if there are none.
func Find(ctx context.Context, getenv func(string) string) (Installation, error) {
	// Where packages put them, one folder for each version.
	return find(ctx, getenv, "/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/usr/local/pgsql/bin")
}

func find(ctx context.Context, getenv func(string) string, places ...string) (Installation, error) {
	if bin := getenv(BinVariable); bin != "" {
		if found, ok := installed(ctx, bin); ok {
			return found, nil
		}
		return Installation{}, wirelab.Errorf(wirelab.NotFound, "%s is %s, which holds no initdb and postgres that run",
			BinVariable, bin)
	}
	folders := filepath.SplitList(getenv("PATH"))
	for _, pattern := range places {
		some, err := filepath.Glob(pattern)
		if err != nil {
			return Installation{}, err // the patterns are ours
		}
		slices.SortFunc(some, func(a, b string) int { return cmp.Compare(number(b), number(a)) })
		folders = append(folders, some...)
	}
	for _, bin := range folders {
		if found, ok := installed(ctx, bin); ok {
			return found, nil
		}
	}
	return Installation{}, wirelab.Errorf(wirelab.NotFound,
		"no PostgreSQL server is installed here; install one (on Debian, as root: apt-get install postgresql), or "+
			"name the "+
			"folder of its binaries in %s",
		BinVariable)
}

// number reads the version out of a folder's name, so that 9 comes before 15.
func number(folder string) float64 {
	digits := strings.TrimFunc(folder, func(r rune) bool { return r < '0' || r > '9' })
	n, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0
	}
	return n
}

// installed reports whether a folder holds a server, and which.
func installed(ctx context.Context, bin string) (Installation, bool) {
	if !filepath.IsAbs(bin) {
		return Installation{}, false // the child runs elsewhere
	}
	if _, err := exec.LookPath(filepath.Join(bin, "initdb")); err != nil {
		return Installation{}, false
	}
	said, err := exec.CommandContext(ctx, filepath.Join(bin, "postgres"), "--version").Output()
	if err != nil {
		return Installation{}, false
	}
	var version string // of "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"
	if _, err := fmt.Sscanf(string(said), "postgres (PostgreSQL) %s", &version); err != nil {
		return Installation{}, false
	}
	return Installation{Bin: bin, Version: version}, true
}
