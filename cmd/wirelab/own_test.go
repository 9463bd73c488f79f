package main

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"wirelab/cmd/internal/desk"
	"wirelab/lab/services"
)

// Who has no service at hand tries a description on ours: each says what it serves, and answers what that has as
// examples.
func TestOwnServersDescribeThemselves(t *testing.T) {
	t.Parallel()
	root := []string{"http://HOST"}
	for _, c := range []struct {
		workload, protocol string
		target             []string // with the address for HOST and the file of its authority for CA
		notes, says        []string
	}{
		{
			"directory", "http1-json", root, nil,
			[]string{
				"✓ getPerson over rest: status 200", "✓ createPerson over rest: status 200",
				"again     refused when it was sent again",
			},
		},
		{
			"ledger", "http1-json", root,
			[]string{"streamTransactions is left out: its reply is a stream of events"},
			[]string{"✓ getBalances over rest: status 200", "✓ postTransaction over rest: status 200"},
		},
		{
			"logging", "http1-json", root, nil,
			[]string{"✓ log over rest: status 202", "✓ readEntry over rest: status 200"},
		},
		{
			"routeguide", "http1-json", root, nil,
			[]string{"✓ getFeature over rest: status 200", "✓ listFeatures over rest: status 200"},
		},
		{
			"directory", "http1-tls-json",
			[]string{"https://HOST", "--ca", "CA"},
			nil,
			[]string{"✓ getPerson over rest: status 200"},
		},
		{
			"routeguide", "graphql",
			[]string{"graphql", "http://HOST/graphql"},
			nil,
			[]string{"✓ getFeature over graph: status 200"},
		},
	} {
		t.Run(c.workload+"/"+c.protocol, func(t *testing.T) {
			t.Parallel()
			s := newShell(t)
			file := filepath.Join(t.TempDir(), "own.yaml")
			address, ca := serve(t, c.workload, c.protocol)
			args := []string{"own", "init", "-o", file}
			for _, arg := range c.target {
				args = append(args, strings.NewReplacer("HOST", address, "CA", ca).Replace(arg))
			}
			s.run(args...).wants(t, desk.ExitOK, nil, append(c.notes, "written to "+file))
			s.run("own", "check", file).wants(t, desk.ExitOK, c.says, nil)
		})
	}
}

// Numbers of a description are read as they were, whatever their size.
func TestNumbersOfADescriptionStayNumbers(t *testing.T) {
	t.Parallel()
	want := []any{4e8, -7.4e8, 1e-7, 1e30, 1.5e30, 0.5, 3.0, 1e15}
	text, err := yaml.MarshalWithOptions(want, yaml.CustomMarshaler(services.NumberText))
	if err != nil {
		t.Fatal(err)
	}
	var got []any
	if err := yaml.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	for i := range got {
		switch v := got[i].(type) {
		case uint64:
			got[i] = float64(v)
		case int64:
			got[i] = float64(v)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s is read as %#v", text, got)
	}
}
