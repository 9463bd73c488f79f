package storetest

import (
	"reflect"
	"testing"

	"wirelab/results/store"
)

// testValues guards against grb-D04: filters that never match a stored value.
func testValues(t *testing.T, s store.Store) {
	if v, err := s.Values(t.Context()); err != nil || !reflect.DeepEqual(v, store.Gather(nil)) || v.Names == nil {
		t.Errorf("empty store: %+v, %v; want empty lists", v, err)
	}
	put(t, s, 0, 4)
	bare := Small(4)
	bare.Plan.Name, bare.Environment.Host = "", "other"
	if err := s.Put(t.Context(), bare); err != nil {
		t.Fatal(err)
	}
	v, err := s.Values(t.Context())
	want := store.Values{
		Names: []string{"plan-0", "plan-1"}, Workloads: []string{"routeguide"},
		Operations: []string{"GetFeature", "ListFeatures"},
		Protocols:  []string{"connect", "grpc", "http1", "http1-json"}, Hosts: []string{"lab", "other"},
	}
	if err != nil || !reflect.DeepEqual(v, want) {
		t.Fatalf("values %+v, %v; want %+v", v, err, want)
	}
	finds := func(f store.Filter) {
		if list, err := s.List(t.Context(), f); err != nil || len(list) == 0 {
			t.Errorf("%+v finds nothing: %v", f, err)
		}
	}
	for _, name := range v.Names {
		finds(store.Filter{Name: name})
	}
	for _, name := range v.Workloads {
		finds(store.Filter{Workload: name})
	}
	for _, name := range v.Operations {
		finds(store.Filter{Operation: name})
	}
	for _, name := range v.Protocols {
		finds(store.Filter{Protocol: name})
	}
	for _, name := range v.Hosts {
		finds(store.Filter{Host: name})
	}
}
