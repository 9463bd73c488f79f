package tool

import (
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"wirelab"
	"wirelab/lab/audit"
	"wirelab/lab/plan"
)

// Why tools for calls cannot run statements, and why tools for gRPC need a schema.
const (
	noSQL    = "it makes calls, and cannot run statements on a database; use pgbench"
	noSchema = "it needs the schema of the service, which is unknown for this one"
)

func pgbench() Tool {
	return Tool{
		Name: "pgbench", Untold: "it counts failed transactions, but does not check the results of the others",
		step:     time.Second,
		least:    3 * time.Second, // all its clients connect in this time, before the first statement
		Arrivals: plan.Poisson,
		Install:  "it comes with PostgreSQL: in Debian, with the packages postgresql and postgresql-contrib",
		single:   always,
		refuses: func(r Request, l Load) string {
			switch {
			case !r.SQL():
				return "it runs statements of PostgreSQL only: name the arm " + plan.DirectProtocol +
					",driver=tool:pgbench"
			case l.Connections != l.InFlight:
				return fmt.Sprintf("each of its clients keeps one statement in flight on its own connection, "+
					"not %d on %d",
					l.InFlight, l.Connections)
			}
			return ""
		},
		files: func(r Request) (map[string][]byte, error) {
			return map[string][]byte{"script.sql": []byte(r.Script)}, nil
		},
		args: func(_ Request, l Load, at func(string) string) []string {
			args := []string{
				"--file", at("script.sql"), "--protocol", "prepared", "--no-vacuum",
				"--client", strconv.Itoa(l.Connections), "--jobs", strconv.Itoa(threads(l)),
				"--time", strconv.Itoa(int(l.For / time.Second)),
			}
			if l.Rate > 0 {
				args = append(args, "--rate", strconv.FormatFloat(l.Rate, 'f', -1, 64))
			}
			return args
		},
		environment: func(r Request) ([]string, error) {
			all, err := libpq(r.Database)
			if r.SearchPath != "" {
				all = append(all, "PGOPTIONS=-c search_path="+r.SearchPath)
			}
			return all, err
		},
		report: pgbenchReport,
		places: func() []string { // the folders in which Debian keeps the programs, newest version first
			found, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the only possible error is a bad pattern
			if config, err := exec.LookPath("pg_config"); err == nil {
				found = append(found, filepath.Dir(config))
			}
			slices.Reverse(found)
			return found
		},
	}
}

// libpq returns the address of a database as environment variables of PostgreSQL's own programs. The environment is
// safer than the command line, which all users of a machine can read.
func libpq(source string) ([]string, error) {
	at, err := url.Parse(source)
	if err != nil || at.Scheme != "postgres" && at.Scheme != "postgresql" {
		return nil, wirelab.Errorf(wirelab.InvalidArgument,
			"pgbench needs the address of the database as a URL: write it as postgres://user:password@host:5432/database")
	}
	password, _ := at.User.Password()
	query := at.Query()
	host, port := at.Hostname(), at.Port()
	for name, value := range map[string]*string{"host": &host, "port": &port, "password": &password} {
		if given := query.Get(name); given != "" {
			*value = given
		}
	}
	all := []string{}
	for _, v := range []struct{ name, value string }{
		{"PGHOST", host},
		{"PGPORT", port},
		{"PGUSER", at.User.Username()},
		{"PGPASSWORD", password},
		{"PGDATABASE", strings.TrimPrefix(at.Path, "/")},
		{"PGSSLMODE", query.Get("sslmode")},
		{"PGSSLROOTCERT", query.Get("sslrootcert")},
	} {
		if v.value != "" {
			all = append(all, v.name+"="+v.value)
		}
	}
	return all, nil
}

var (
	pgbenchDone   = regexp.MustCompile(`(?m)^number of transactions actually processed: (\d+)`)
	pgbenchFailed = regexp.MustCompile(`(?m)^number of failed transactions: (\d+)`)
	// The rate without the time for connecting.
	pgbenchRate    = regexp.MustCompile(`(?m)^tps = ([0-9.]+) \((?:without initial|excluding) connection`)
	pgbenchAborted = regexp.MustCompile(`(?m)^(?:pgbench: )?(?:error: )?client \d+ (?:script \d+ )?aborted in .*$`)
)

// pgbenchReport reads a report. If a client gave up, that is an error, since the rest of the run had fewer clients.
func pgbenchReport(o audit.Output) (Told, error) {
	if gaveUp := pgbenchAborted.FindString(o.Stderr); gaveUp != "" {
		return Told{}, wirelab.Errorf(wirelab.Unavailable, "a client of pgbench gave up: %s", gaveUp)
	}
	number := func(form *regexp.Regexp) float64 {
		m := form.FindStringSubmatch(o.Stdout)
		if m == nil {
			return 0
		}
		v, _ := strconv.ParseFloat(m[1], 64) // 0 is reported below
		return v
	}
	right, rate := number(pgbenchDone), number(pgbenchRate)
	if rate <= 0 && pgbenchDone.MatchString(o.Stdout) {
		return Told{}, fmt.Errorf("%w of pgbench, which includes connecting: use longer slices, or fewer connections",
			errNoneEnded)
	}
	if right <= 0 || rate <= 0 {
		lines := strings.Split(strings.TrimSpace(o.Stderr), "\n")
		return Told{}, wirelab.Errorf(wirelab.Unavailable,
			"pgbench did not say how many transactions it made, and how fast; its last words: %q", lines[len(lines)-1])
	}
	return Told{
		Right: uint64(right), Wrong: uint64(number(pgbenchFailed)),
		Elapsed: time.Duration(right / rate * float64(time.Second)),
	}, nil
}
