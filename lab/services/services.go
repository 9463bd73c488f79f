// Package services makes external services, which are not part of wirelab, the work of a plan. It reads their
// descriptions, builds and starts their servers, and checks which hosts may be loaded. It must not know what is
// measured, or how it is shown.
package services

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
	"wirelab/internal/fault"
	"wirelab/internal/input"
	"wirelab/lab/plan"
	"wirelab/lab/progress"
	"wirelab/workload/catalog"
	"wirelab/workload/external"
	"wirelab/workload/external/grpcschema"
	"wirelab/workload/external/request"
)

// Services holds the external services that are the work of a run.
type Services struct {
	Getenv func(string) string
	Tell   progress.Teller
	// ReadFile reads a file that a flag names. flag is "" for an argument.
	ReadFile func(ctx context.Context, flag, name string, most int64) ([]byte, error)
	// ReadData reads request data: a text, @FILE, or - for standard input.
	ReadData func(ctx context.Context, text string) ([]byte, error)
	Works    *catalog.Catalog  // the services are added to it
	Given    map[string]string // values from flags that replace environment variables
	MayLoad  string            // the host that the user allows to be loaded
	Made     *Made             // nil: the work of the run is a workload of ours
}

// Made is the work of a run that consists of external services.
type Made struct {
	of       []plan.External // the services that it was made from
	Service  external.Prepared
	Prepared json.RawMessage // the service, for drivers
	Secrets  []string
	names    []string            // of the services
	starts   map[string]*started // how servers are started here, by wire
}

// externalFileLimit is the maximum size of a file that a description names, in bytes.
const externalFileLimit = 64 << 20

// MakeWork makes the external services of a plan available as a workload, under the plan's workload name. Calling it
// again with the same services does nothing.
func (s *Services) MakeWork(ctx context.Context, p plan.Plan) (plan.Plan, error) {
	if len(p.External) == 0 {
		return p, nil
	}
	if len(p.External) > 1 && p.Workload == "" {
		p.Workload = "services"
	}
	described, all := make([]plan.External, len(p.External)), make([]external.Prepared, len(p.External))
	if s.Made != nil && slices.Equal(s.Made.of, p.External) {
		return p, nil
	}
	var secrets []string
	starts, names := map[string]*started{}, []string{}
	for i, e := range p.External {
		d, err := s.describedBy(ctx, &e)
		if err != nil {
			return p, err
		}
		var start *started
		if how := startOf(e, d); how != nil {
			start = &started{Start: *how, dir: filepath.Dir(e.File), of: e, wires: slices.Sorted(maps.Keys(d.Wires))}
		}
		sources, read := s.sources(e.File), sha256.New()
		sources.Read = noting(read, sources.Read)
		sources.Schema = func(ctx context.Context, wire external.Wire,
			text external.WireText,
		) (*grpcschema.Schema, error) {
			return s.schema(ctx, e.File, start, wire, text)
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
			return p, wirelab.Errorf(wirelab.InvalidArgument,
				"the files that %s names have changed since the measurement: restore them, or measure "+
					"again", e.File)
		}
		e.Digest = sum
		if e.As != "" {
			prepared.Service = e.As
		}
		described[i], all[i], names = e, prepared, append(names, prepared.Service)
		startedBy(starts, start, prepared, len(p.External))
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
	s.Made = &Made{of: described, Service: service, Prepared: lines, Secrets: secrets, names: names, starts: starts}
	*s.Works = append(slices.DeleteFunc(slices.Clone(*s.Works),
		func(w wirelab.Work) bool { return w.Name == service.Service }), service.Work())
	return p, nil
}

// startedBy records how the server of each wire of a service is started. If a plan has several services, the wire's
// name has the service's name in front.
func startedBy(starts map[string]*started, start *started, service external.Prepared, services int) {
	if start == nil {
		return
	}
	for _, w := range service.Wires {
		name := w.Name
		if services > 1 {
			name = service.Service + "-" + w.Name
		}
		starts[name] = start
	}
}

// noting returns a reader of files that also writes each file to read.
func noting(read io.Writer, from func(context.Context, string) ([]byte, error)) func(context.Context,
	string) ([]byte, error) {
	return func(ctx context.Context, name string) ([]byte, error) {
		data, err := from(ctx, name)
		_, _ = fmt.Fprintf(read, "%s %d\n", name, len(data)) // a hash accepts every write
		_, _ = read.Write(data)
		return data, err
	}
}

// describedBy reads the description of an external service.
func (s *Services) describedBy(ctx context.Context, e *plan.External) (external.Description, error) {
	if e.Text == "" {
		text, err := s.ReadFile(ctx, "", e.File, external.SizeLimit)
		if err != nil {
			return external.Description{}, err
		}
		e.Text = string(text)
	}
	return external.Parse(e.File, []byte(e.Text))
}

// sources returns where the files and variables of a description are found. File names are relative to the
// description's folder.
func (s *Services) sources(file string) external.Sources {
	return external.Sources{
		Getenv: func(name string) string {
			if value, given := s.Given[name]; given {
				return value
			}
			return s.Getenv(name)
		},
		Read: func(ctx context.Context, name string) ([]byte, error) {
			if !filepath.IsAbs(name) {
				name = filepath.Join(filepath.Dir(file), name)
			}
			data, err := input.Bytes(ctx, name, externalFileLimit)
			if err != nil {
				return nil, fault.Unread("", name, err)
			}
			return data, nil
		},
	}
}

// readerSources returns where the files and variables of a file of requests are found.
func (s *Services) readerSources(file string) request.Sources {
	from := s.sources(file)
	return request.Sources{
		Open: func(name string) ([]byte, error) { return from.Read(context.Background(), name) },
		Lookup: func(name string) (string, bool) {
			value := from.Getenv(name)
			return value, value != ""
		},
	}
}

// externalArms replaces arms that are wires of described services, such as shop.yaml:rest, by the names that plans
// use. of are the services; it is empty if no arm is one. owners says which of them each arm belongs to.
func externalArms(args []string) (arms []string, of []plan.External, owners []int, err error) {
	for _, arg := range args {
		name, settings, more := strings.Cut(arg, ",")
		at := strings.LastIndex(name, ":")
		if at < 0 || !Described(name[:at]) {
			if Described(name) {
				return nil, nil, nil,
					wirelab.Errorf(wirelab.InvalidArgument,
						"%s: name the wire too, as in %s:rest; wirelab own check %s lists them", arg, name, name)
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
		return nil, nil, nil, wirelab.Errorf(wirelab.InvalidArgument,
			"wirelab's own protocols and external services cannot be compared: they do not do the same work")
	}
	return arms, of, owners, nil
}

// Described reports whether a word is the name of a description's file.
func Described(name string) bool {
	return slices.Contains([]string{".yaml", ".yml", ".json"}, filepath.Ext(name))
}

// Loopback reports whether an address is on this machine.
func Loopback(address string) bool {
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

// Reached returns an arm with the address of its wire as the target, unless its server is started here.
func (s *Services) Reached(arm plan.Arm) plan.Arm {
	for _, w := range s.Made.Service.Wires {
		if _, here := s.Made.starts[w.Name]; w.Name == arm.Protocol && arm.Target == "" && !here {
			arm.Target = w.Address
		}
	}
	return arm
}

// Hidden returns a text without the values of secrets.
func (s *Services) Hidden(text string) string {
	if s.Made == nil {
		return text
	}
	return wirelab.Hide(text, s.Made.Secrets)
}

// Permitted refuses hosts other than this machine and the one that the user allows to be loaded.
func (s *Services) Permitted(mayLoad string) error {
	for _, w := range s.Made.Service.Wires {
		if _, started := s.Made.starts[w.Name]; started || Loopback(w.Address) || w.MayLoad == HostOf(w.Address) {
			continue
		}
		if host := HostOf(w.Address); mayLoad != host {
			return NotHere(host)
		}
	}
	return nil
}

// NotHere refuses a host that the user has not allowed to be loaded.
func NotHere(host string) error {
	return wirelab.Errorf(wirelab.InvalidArgument,
		"%s is not this machine: if you may load it, say so with --i-may-load %s, or with may_load in its description",
		host, host)
}

// HostOf returns the host of an address.
func HostOf(address string) string {
	return strings.Trim(address[:max(strings.LastIndex(address, ":"), 0)], "[]")
}

// Arms gives arms of external services their addresses, and all of them the same driver: raw if it can call every
// arm.
func (s *Services) Arms(p plan.Plan) (arms []plan.Arm, said string) {
	if len(p.External) == 0 {
		return p.Arms, ""
	}
	why := ""
	for _, arm := range p.Arms {
		if w := s.Made.Service.RawWhy(p.Operation, arm.Protocol); w != "" && why == "" {
			why = arm.Protocol + ": " + w
		}
	}
	for _, arm := range p.Arms {
		if arm.Driver == "" && arm.Client == "" {
			arm.Name = arm.String()
			arm.Driver = plan.DriverClient
			if why == "" {
				arm.Driver = plan.DriverRaw
			}
		}
		arms = append(arms, s.Reached(arm))
	}
	if why != "" {
		return arms, "the client library, since raw cannot call " + why
	}
	return arms, "raw"
}

// MakePlan makes the external services of a plan available, and gives its arms their addresses.
func (s *Services) MakePlan(ctx context.Context, p plan.Plan) (plan.Plan, error) {
	p, err := s.MakeWork(ctx, p)
	if err != nil || len(p.External) == 0 {
		return p, err
	}
	arms := slices.Clone(p.Arms)
	for i := range arms {
		arms[i] = s.Reached(arms[i])
	}
	p.Arms = arms
	return p, s.Permitted(s.MayLoad)
}

// startOf returns how an external service is started, or nil if it is already running.
func startOf(e plan.External, d external.Description) *external.Start {
	start := d.Start
	switch {
	case e.Start != "" && start == nil:
		start = &external.Start{}
	case start == nil:
		return nil
	}
	own := *start
	if e.Start != "" {
		own.Run, own.Command = nil, e.Start
	}
	return &own
}
