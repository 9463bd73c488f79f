package main

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/goccy/go-yaml"
)

// Who has no service at hand tries a description on ours: each says what it serves, and answers what that has as examples.
func TestOwnServersDescribeThemselves(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		workload, protocol string
		target             func(address string) []string
		notes, says        []string
	}{
		{
			"directory", "http1-json", rootOf, nil,
			[]string{"✓ getPerson over rest: status 200", "✓ createPerson over rest: status 200", "again     refused when it came again"},
		},
		{
			"ledger", "http1-json", rootOf,
			[]string{"streamTransactions is left out: its reply is a stream of events"},
			[]string{"✓ getBalances over rest: status 200", "✓ postTransaction over rest: status 200"},
		},
		{"logging", "http1-json", rootOf, nil, []string{"✓ log over rest: status 202", "✓ readEntry over rest: status 200"}},
		{"routeguide", "http1-json", rootOf, nil, []string{"✓ getFeature over rest: status 200", "✓ listFeatures over rest: status 200"}},
		{"routeguide", "graphql", graphOf, nil, []string{"✓ getFeature over graph: status 200"}},
	} {
		t.Run(c.workload+"/"+c.protocol, func(t *testing.T) {
			t.Parallel()
			s := newShell(t)
			file := filepath.Join(t.TempDir(), "own.yaml")
			address, _ := serve(t, c.workload, c.protocol)
			s.run(append(append([]string{"own", "init"}, c.target(address)...), "-o", file)...).
				wants(t, exitOK, nil, append(c.notes, "written to "+file))
			s.run("own", "check", file).wants(t, exitOK, c.says, nil)
		})
	}
}

// Numbers of a description are read as they were, whatever their size.
func TestNumbersOfADescriptionStayNumbers(t *testing.T) {
	t.Parallel()
	want := []any{4e8, -7.4e8, 1e-7, 1e30, 1.5e30, 0.5, 3.0, 1e15}
	text, err := yaml.MarshalWithOptions(want, yaml.CustomMarshaler(numberText))
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

func rootOf(address string) []string { return []string{"http://" + address} }

func graphOf(address string) []string { return []string{"graphql", "http://" + address + "/graphql"} }
