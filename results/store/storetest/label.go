package storetest

import (
	"slices"
	"strings"
	"testing"

	"wirelab"
	"wirelab/results/store"
)

func testLabel(t *testing.T, s store.Store) {
	put(t, s, 0, 3)
	first, second := Sample(0).ID, Sample(1).ID
	before, err := s.Raw(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	if whole, err := s.SetLabel(t.Context(), first[:len(first)-2], "before cache"); err != nil || whole != first {
		t.Fatalf("%q, %v; want %s", whole, err, first)
	}
	// Whatever accepts an id accepts the label, and the result is unchanged.
	after, err := s.Raw(t.Context(), "before cache")
	if err != nil || after.Summary.Label != "before cache" {
		t.Fatalf("%+v, %v", after.Summary, err)
	}
	if after.Digest != before.Digest || !slices.Equal(after.JSON, before.JSON) {
		t.Error("naming a result changed it")
	}
	if r, err := s.Get(t.Context(), "before cache"); err != nil || r.ID != first || r.Label != "before cache" {
		t.Errorf("%v", err)
	}
	for filter, want := range map[store.Filter][]string{
		{Name: "before cache"}: {first},
		{Name: "plan-0"}:       {Sample(2).ID, first},
		{Hide: "plan-0"}:       {second},
	} {
		list, err := s.List(t.Context(), filter)
		var ids []string
		for _, m := range list {
			ids = append(ids, m.ID)
		}
		total, failed := s.Total(t.Context(), filter)
		if err != nil || failed != nil || !slices.Equal(ids, want) || total.Results != len(want) {
			t.Errorf("%+v: %v, %d in all; %v, %v; want %v", filter, ids, total.Results, err, failed, want)
		}
	}
	_, err = s.Get(t.Context(), "before")
	refused(t, "the beginning of a name", err, wirelab.NotFound)

	if _, err := s.SetLabel(t.Context(), second, "before cache"); err != nil {
		t.Fatal(err)
	}
	_, err = s.Get(t.Context(), "before cache")
	refused(t, "two of that name", err, wirelab.InvalidArgument, first, second)
	if _, err := s.SetLabel(t.Context(), second, ""); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Get(t.Context(), "before cache"); err != nil || r.ID != first {
		t.Errorf("after the other's name was taken away: %v", err)
	}
	for _, label := range []string{" x", "-x", "latest", "r-2026", "a\nb", strings.Repeat("x", 61)} {
		_, err := s.SetLabel(t.Context(), first, label)
		refused(t, label, err, wirelab.InvalidArgument)
	}
	_, err = s.SetLabel(t.Context(), "r-19700101-000000-0000", "x")
	refused(t, "unknown", err, wirelab.NotFound)

	// Its label is deleted with it.
	if err := s.Delete(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	_, err = s.Get(t.Context(), "before cache")
	refused(t, "removed", err, wirelab.NotFound)
	if err := s.Put(t.Context(), Sample(0)); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Get(t.Context(), first); err != nil || r.Label != "" {
		t.Errorf("put again: %v", err)
	}
}

func testFinding(t *testing.T, s store.Store) {
	put(t, s, 0, 1)
	id := Sample(0).ID
	if _, err := s.SetLabel(t.Context(), id, "x"); err != nil {
		t.Fatal(err)
	}
	for _, finding := range []string{"one", "two", ""} {
		if err := s.SetFinding(t.Context(), id, finding); err != nil {
			t.Fatal(err)
		}
		list, err := s.List(t.Context(), store.Filter{})
		if err != nil || len(list) != 1 || list[0].ID != id || list[0].Label != "x" || list[0].Finding != finding {
			t.Errorf("%+v, %v", list, err)
		}
	}
	refused(t, "unknown", s.SetFinding(t.Context(), "r-1", "x"), wirelab.NotFound)
}
