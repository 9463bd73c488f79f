package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/internal/input"
	"wirelab/lab/plan"
	"wirelab/workload/external"
	"wirelab/workload/external/grpcschema"
	"wirelab/workload/external/request"
)

// foreign is the work of a run that is no workload of ours.
type foreign struct {
	of       []plan.External // what it was made of
	service  external.Prepared
	prepared json.RawMessage // the service, for drivers
	secrets  []string
	names    []string            // of the services
	starts   map[string]*started // of the servers that are started here, by wire
}

// externalFileLimit is the most bytes of a file that a description names.
const externalFileLimit = 64 << 20

// foreignWork makes the work of a plan that is of external services one that can be found by its name. It does so once.
func (a *app) foreignWork(ctx context.Context, p plan.Plan) (plan.Plan, error) {
	if len(p.External) == 0 {
		return p, nil
	}
	if len(p.External) > 1 && p.Workload == "" {
		p.Workload = "services"
	}
	described, all := make([]plan.External, len(p.External)), make([]external.Prepared, len(p.External))
	if a.foreign != nil && slices.Equal(a.foreign.of, p.External) {
		return p, nil
	}
	var secrets []string
	starts, names := map[string]*started{}, []string{}
	for i, e := range p.External {
		d, err := a.describedBy(ctx, &e)
		if err != nil {
			return p, err
		}
		var start *started
		if how := startOf(e, d); how != nil {
			start = &started{Start: *how, dir: filepath.Dir(e.File), of: e, wires: slices.Sorted(maps.Keys(d.Wires))}
		}
		sources, read := a.sources(e.File), sha256.New()
		sources.Read = noting(read, sources.Read)
		sources.Schema = func(ctx context.Context, wire external.Wire, text external.WireText) (*grpcschema.Schema, error) {
			return a.schema(ctx, e.File, start, wire, text)
		}
		prepared, hidden, err := external.Prepare(ctx, d, sources)
		if err != nil && e.File != "" && wirelab.CodeOf(err) == wirelab.InvalidArgument {
			err = external.At(e.File, []byte(e.Text), err)
		}
		if err != nil {
			return p, err
		}
		sum := hex.EncodeToString(read.Sum(nil))
		if e.Digest != "" && e.Digest != sum {
			return p, cli.Usage("the files that %s names have changed since it was measured: put back what they were, or measure it anew", e.File)
		}
		e.Digest = sum
		if e.As != "" {
			prepared.Service = e.As
		}
		described[i], all[i], names = e, prepared, append(names, prepared.Service)
		for _, w := range prepared.Wires {
			switch {
			case start == nil:
			case len(p.External) > 1:
				starts[prepared.Service+"-"+w.Name] = start
			default:
				starts[w.Name] = start
			}
		}
		secrets = append(secrets, hidden...)
	}
	service, err := external.Join(p.Workload, all...)
	if err != nil {
		return p, err
	}
	lines, err := json.Marshal(service)
	if err != nil {
		return p, err
	}
	p.External = described
	a.foreign = &foreign{of: described, service: service, prepared: lines, secrets: secrets, names: names, starts: starts}
	a.Catalog = append(slices.DeleteFunc(slices.Clone(a.Catalog), func(w wirelab.Work) bool { return w.Name == service.Service }), service.Work())
	return p, nil
}

// noting is from, with what it reads written down too.
func noting(read io.Writer, from func(context.Context, string) ([]byte, error)) func(context.Context, string) ([]byte, error) {
	return func(ctx context.Context, name string) ([]byte, error) {
		data, err := from(ctx, name)
		_, _ = fmt.Fprintf(read, "%s %d\n", name, len(data)) // a sum takes all
		_, _ = read.Write(data)
		return data, err
	}
}

// describedBy reads the description of an external service.
func (a *app) describedBy(ctx context.Context, e *plan.External) (external.Description, error) {
	if e.Text == "" {
		text, err := a.readFile(ctx, "", e.File, external.SizeLimit)
		if err != nil {
			return external.Description{}, err
		}
		e.Text = string(text)
	}
	return external.Parse(e.File, []byte(e.Text))
}

// sources are where what a description names is found: files from its folder on.
func (a *app) sources(file string) external.Sources {
	return external.Sources{
		Getenv: func(name string) string {
			if value, given := a.given[name]; given {
				return value
			}
			return a.getenv(name)
		},
		Read: func(ctx context.Context, name string) ([]byte, error) {
			if !filepath.IsAbs(name) {
				name = filepath.Join(filepath.Dir(file), name)
			}
			data, err := input.Bytes(ctx, name, externalFileLimit)
			if err != nil {
				return nil, cli.Unread("", name, err)
			}
			return data, nil
		},
	}
}

// readerSources are where what a file of requests names is found.
func (a *app) readerSources(file string) request.Sources {
	from := a.sources(file)
	return request.Sources{
		Open: func(name string) ([]byte, error) { return from.Read(context.Background(), name) },
		Lookup: func(name string) (string, bool) {
			value := from.Getenv(name)
			return value, value != ""
		},
	}
}

// externalArms replaces the arms that are wires of described services, as shop.yaml:rest, by what plans know them by.
// of are the services, none where no arm is one, and owners which of them each arm is of.
func externalArms(args []string) (arms []string, of []plan.External, owners []int, err error) {
	for _, arg := range args {
		name, settings, more := strings.Cut(arg, ",")
		at := strings.LastIndex(name, ":")
		if at < 0 || !described(name[:at]) {
			if described(name) {
				return nil, nil, nil, cli.Usage("%s: name the wire too, as in %s:rest; wirelab own check %s lists them", arg, name, name)
			}
			arms = append(arms, arg)
			continue
		}
		file, wire := name[:at], name[at+1:]
		owner := slices.IndexFunc(of, func(e plan.External) bool { return e.File == file })
		if owner < 0 {
			owner, of = len(of), append(of, plan.External{File: file})
		}
		owners = append(owners, owner)
		if more {
			wire += "," + settings
		}
		arms = append(arms, wire)
	}
	if len(of) > 0 && len(owners) != len(args) {
		return nil, nil, nil, cli.Usage("arms of ours and of external services cannot be compared: they do not do the same work")
	}
	return arms, of, owners, nil
}

// described reports whether a word is the file of a description.
func described(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

// loopback reports whether an address is of this machine.
func loopback(address string) bool {
	if strings.HasPrefix(address, "unix:") {
		return true
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	at := net.ParseIP(strings.Split(host, "%")[0])
	return host == "localhost" || at != nil && at.IsLoopback()
}
