// Package storetest tests the contract of [store.Store] for every implementation. It must not know an implementation.
package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"wirelab"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/stat"
	"wirelab/results/store"
)

// Run tests a store. open returns a new, empty one; the test closes it.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	t.Helper()
	for name, test := range map[string]func(*testing.T, store.Store){
		"a result comes back as it was put":        testRoundTrip,
		"a stored result can be checked":           testRaw,
		"text is kept byte for byte":               testText,
		"an id is stored once":                     testConflict,
		"an id may be abbreviated":                 testPrefix,
		"an unknown id names the latest":           testNotFound,
		"lists are the latest first, and filtered": testList,
		"lists have bounds":                        testListBounds,
		"the values to filter by find something":   testValues,
		"lists go on where a page ended":           testPages,
		"totals are of all that is selected":       testTotal,
		"news of what runs is the last":            testRunning,
		"no news makes stale, and then forgotten":  testStale,
		"a stored experiment runs no more":         testStored,
		"invalid news is refused":                  testNewsRefused,
		"many may tell at once":                    testNewsAtOnce,
		"delete takes the whole id":                testDelete,
		"a result can be named":                    testLabel,
		"the gist for lists is kept":               testFinding,
		"from where a result came is kept":         testOrigin,
		"no result comes without from where":       testAdmitted,
		"an invalid result is refused":             testRefused,
		"many may write at once":                   testConcurrent,
		"an ended context ends the call":           testContext,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			test(t, s)
		})
	}
}

// began is when the first [Sample] began. Each next one began an hour later.
var began = time.Date(2026, 11, 21, 14, 5, 12, 345678000, time.UTC)

// Sample returns the nth of a series of results that differ in what lists show. They are small, but contain every
// part of a result.
func Sample(n int) *result.Result {
	r := rand.New(rand.NewPCG(uint64(n), 0))
	at := began.Add(time.Duration(n) * time.Hour)
	p, err := plan.Plan{
		Name: fmt.Sprintf("plan-%d", n%2), Workload: "routeguide", Operation: "GetFeature", Seed: 7, Slices: 2,
		Rounds: plan.Rounds{Min: 2},
		Arms:   []plan.Arm{{Protocol: "grpc"}, {Protocol: []string{"http1-json", "connect", "http1"}[n%3]}},
		Loads:  []plan.Load{{InFlight: 1}, {InFlight: 50, Operation: []string{"", "ListFeatures"}[n%2]}},
	}.Complete()
	if err != nil {
		panic("storetest: " + err.Error())
	}
	sample := &result.Result{
		Schema: result.Schema, ID: fmt.Sprintf("r-%s-%04x", at.Format("20060102-150405"), n),
		Began: at, Ended: at.Add(time.Minute), Plan: p, Command: `wirelab compare "é"`, Ending: result.RoundsDone,
		Environment: result.Environment{
			Host: "lab", Commit: "5a3b1e0", Libraries: map[string]string{"x": "v1"},
			Settings: map[string]string{},
		},
		Placement: result.Placement{ServerCPUs: []int{0}, DriverCPUs: []int{1}},
	}
	for _, a := range p.Arms {
		sample.Arms = append(sample.Arms, result.Arm{Name: a.Name, Protocol: a.Protocol, Server: "s", Client: "c"})
	}
	for i := range 2 + n%3 {
		round := result.Round{Began: at.Add(time.Duration(i) * time.Second), Noise: result.Noise{Steal: 0.125}}
		for arm := range p.Arms {
			for load := range p.Loads {
				round.Trials = append(round.Trials, trial(r, arm, load))
			}
		}
		sample.Rounds = append(sample.Rounds, round)
	}
	second := &sample.Rounds[1]
	second.Failures = []result.Failure{{Arm: 1, Why: "it fell"}}
	second.Trials = second.Trials[:len(p.Loads)] // and so no trial of that arm
	return sample
}

// Small is [Sample] with one round of one trial, for tests that need many results: encoding histograms takes most of
// the time of a Put.
func Small(n int) *result.Result {
	small := Sample(n)
	small.Rounds = small.Rounds[:1]
	small.Rounds[0].Trials = small.Rounds[0].Trials[:1]
	return small
}

// trial returns a trial with times drawn around 1 ms.
func trial(r *rand.Rand, arm, load int) result.Trial {
	t := result.Trial{
		Arm: arm, Load: load, Steady: true, Warmed: plan.Duration(200 * time.Millisecond), Order: []int{1, 0},
		Window: plan.Duration(500 * time.Millisecond), Sent: 100, OK: 99, Completed: 98,
		Errors:   map[string]uint64{"unavailable": 1},
		Response: stat.NewHistogram(), Service: stat.NewHistogram(), Lag: stat.NewHistogram(),
		Server: &result.Usage{CPU: plan.Duration(time.Second)}, Driver: &result.Usage{CPU: plan.Duration(time.Second)},
	}
	for range 99 {
		t.Response.Record(int64(r.ExpFloat64() * 1e6))
		t.Service.Record(int64(r.ExpFloat64() * 1e6))
		t.Lag.Record(int64(r.ExpFloat64() * 1e3))
	}
	return t
}

// put stores the small samples first to last-1.
func put(t *testing.T, s store.Store, first, last int) {
	t.Helper()
	for n := first; n < last; n++ {
		if err := s.Put(t.Context(), Small(n)); err != nil {
			t.Fatalf("put %d: %v", n, err)
		}
	}
}

// refused checks that err has a code, and a message with every part.
func refused(t *testing.T, what string, err error, code wirelab.Code, parts ...string) {
	t.Helper()
	if err == nil || wirelab.CodeOf(err) != code {
		t.Errorf("%s: error %v, want one that is %v", what, err, code)
		return
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s: error %q lacks %q", what, err, part)
		}
	}
}

// same compares results by their file form, which has all of them.
func same(t *testing.T, got, want *result.Result) {
	t.Helper()
	a, errA := store.Encode(got)
	b, errB := store.Encode(want)
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Errorf("%s differs: %v %v\ngot  %s\nwant %s", want.ID, errA, errB, a, b)
	}
}

func testRoundTrip(t *testing.T, s store.Store) {
	for n := range 3 {
		if err := s.Put(t.Context(), Sample(n)); err != nil {
			t.Fatal(err)
		}
		got, err := s.Get(t.Context(), Sample(n).ID)
		if err != nil {
			t.Fatal(err)
		}
		same(t, got, Sample(n))
	}
}

// testRaw checks that the digest is that of the text, and that the text is the result's.
func testRaw(t *testing.T, s store.Store) {
	want := Sample(0)
	if err := s.Put(t.Context(), want); err != nil {
		t.Fatal(err)
	}
	got, err := s.Raw(t.Context(), want.ID[:len(want.ID)-2])
	if err != nil {
		t.Fatal(err)
	}
	digest, err := result.Digest(got.JSON)
	if err != nil || digest != got.Digest || got.Damage != "" {
		t.Errorf("digest %q, of the text %q, %v, damage %q", got.Digest, digest, err, got.Damage)
	}
	if again, err := store.Decode(got.JSON); err != nil || again.ID != want.ID {
		t.Errorf("the text is not the result: %v", err)
	}
	got.Summary.Bytes = 0
	if !reflect.DeepEqual(got.Summary, store.Summarize(want)) {
		t.Errorf("summary %+v", got.Summary)
	}
	_, err = s.Raw(t.Context(), "r-2")
	if err != nil {
		t.Errorf("the only one: %v", err)
	}
	_, err = s.Raw(t.Context(), "r-1")
	refused(t, "one that is not there", err, wirelab.NotFound)
}

func testConflict(t *testing.T, s store.Store) {
	put(t, s, 0, 1)
	other := Sample(0)
	other.Command = "another"
	refused(t, "the id again", s.Put(t.Context(), other), wirelab.Conflict, other.ID)
	got, err := s.Get(t.Context(), other.ID)
	if err != nil {
		t.Fatal(err)
	}
	same(t, got, Small(0))
}

func testPrefix(t *testing.T, s store.Store) {
	put(t, s, 0, 12) // the 21st from 14:05 on, the 22nd from 00:05 on
	for text, n := range map[string]int{"r-20261121-14": 0, "r-20261122-01": 11, Sample(5).ID: 5} {
		got, err := s.Get(t.Context(), text)
		if err != nil || got.ID != Sample(n).ID {
			t.Errorf("%q: %v, want %s", text, err, Sample(n).ID)
		}
	}
	_, err := s.Get(t.Context(), "r-20261122")
	refused(t, "two begin so", err, wirelab.InvalidArgument, Sample(10).ID, Sample(11).ID)
	_, err = s.Get(t.Context(), "r-")
	refused(t, "more begin so than are listed", err, wirelab.InvalidArgument, "…")
	for _, text := range []string{"r_20261121-14", "%", "20261121", "r-20261121-14*"} {
		_, err := s.Get(t.Context(), text)
		refused(t, "not the beginning of an id", err, wirelab.NotFound)
	}
	_, err = s.Get(t.Context(), "")
	refused(t, "nothing", err, wirelab.InvalidArgument)
}

func testNotFound(t *testing.T, s store.Store) {
	_, err := s.Get(t.Context(), "r-19700101-000000-0000")
	refused(t, "empty store", err, wirelab.NotFound, "nothing is stored")
	put(t, s, 0, 3)
	_, err = s.Get(t.Context(), "r-19700101-000000-0000")
	refused(t, "unknown", err, wirelab.NotFound, "r-19700101-000000-0000", Sample(2).ID+", "+Sample(1).ID)
	refused(t, "delete unknown", s.Delete(t.Context(), "r-1"), wirelab.NotFound, Sample(2).ID)
}

func testList(t *testing.T, s store.Store) {
	if list, err := s.List(t.Context(), store.Filter{}); err != nil || list == nil || len(list) != 0 {
		t.Errorf("empty store: %v, %v; want an empty list", list, err)
	}
	for _, n := range []int{2, 0, 5, 1, 4, 3} { // not the order of time
		put(t, s, n, n+1)
	}
	for name, c := range map[string]struct {
		filter store.Filter
		want   []int
	}{
		"all":  {store.Filter{}, []int{5, 4, 3, 2, 1, 0}},
		"some": {store.Filter{Limit: 2}, []int{5, 4}},
		"name": {store.Filter{Name: "plan-1"}, []int{5, 3, 1}},
		"workload": {
			store.Filter{Workload: "routeguide", Operation: "GetFeature", Limit: 1},
			[]int{5},
		},
		"operation of a load":          {store.Filter{Operation: "ListFeatures"}, []int{5, 3, 1}},
		"part of an operation":         {store.Filter{Operation: "List"}, nil},
		"other workload":               {store.Filter{Workload: "ledger"}, nil},
		"part of a name":               {store.Filter{Workload: "route"}, nil},
		"protocol":                     {store.Filter{Protocol: "connect"}, []int{4, 1}},
		"one that begins like another": {store.Filter{Protocol: "http1"}, []int{5, 2}},
		"not SQL":                      {store.Filter{Name: "' OR 1=1 --"}, nil},
		"since":                        {store.Filter{Since: Sample(4).Began}, []int{5, 4}},
		"until":                        {store.Filter{Until: Sample(1).Began}, []int{0}},
		"both": {
			store.Filter{Since: Sample(1).Began, Until: Sample(3).Began, Name: "plan-1"},
			[]int{1},
		},
	} {
		list, err := s.List(t.Context(), c.filter)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got, want []string
		for _, m := range list {
			got = append(got, m.ID)
		}
		for _, n := range c.want {
			want = append(want, Sample(n).ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	list, err := s.List(t.Context(), store.Filter{Limit: 1})
	if err != nil || len(list) != 1 || list[0].Bytes <= 0 {
		t.Fatalf("%+v, %v", list, err)
	}
	list[0].Bytes = 0
	if want := store.Summarize(Small(5)); !reflect.DeepEqual(list[0], want) {
		t.Errorf("summary %+v\nwant    %+v", list[0], want)
	}
}

func testListBounds(t *testing.T, s store.Store) {
	for _, limit := range []int{-1, store.ListLimit + 1} {
		_, err := s.List(t.Context(), store.Filter{Limit: limit})
		refused(t, fmt.Sprintf("limit %d", limit), err, wirelab.InvalidArgument, "1 to 10000")
	}
	put(t, s, 0, store.ListDefault+1)
	if list, err := s.List(t.Context(), store.Filter{}); err != nil || len(list) != store.ListDefault {
		t.Errorf("%d summaries, %v; want %d", len(list), err, store.ListDefault)
	}
}

func testDelete(t *testing.T, s store.Store) {
	put(t, s, 0, 2)
	refused(t, "a prefix", s.Delete(t.Context(), Sample(0).ID[:15]), wirelab.NotFound)
	if err := s.Delete(t.Context(), Sample(0).ID); err != nil {
		t.Fatal(err)
	}
	refused(t, "again", s.Delete(t.Context(), Sample(0).ID), wirelab.NotFound)
	_, err := s.Get(t.Context(), Sample(0).ID)
	refused(t, "get", err, wirelab.NotFound)
	if _, err := s.Get(t.Context(), Sample(1).ID); err != nil {
		t.Errorf("the other: %v", err)
	}
	if err := s.Put(t.Context(), Sample(0)); err != nil {
		t.Errorf("put again: %v", err)
	}
}

func testRefused(t *testing.T, s store.Store) {
	for name, c := range map[string]struct {
		spoil func(*result.Result)
		code  wirelab.Code
	}{
		"no id": {func(r *result.Result) { r.ID = "" }, wirelab.InvalidArgument},
		"an id with paths": {
			func(r *result.Result) { r.ID = "../../../r-20261121-140512-7f3a" },
			wirelab.InvalidArgument,
		},
		"schema 0":        {func(r *result.Result) { r.Schema = 0 }, wirelab.InvalidArgument},
		"a later schema":  {func(r *result.Result) { r.Schema = result.Schema + 1 }, wirelab.Unimplemented},
		"an arm too few":  {func(r *result.Result) { r.Arms = r.Arms[:1] }, wirelab.InvalidArgument},
		"an unknown arm":  {func(r *result.Result) { r.Rounds[0].Trials[0].Arm = 2 }, wirelab.InvalidArgument},
		"an unknown load": {func(r *result.Result) { r.Rounds[0].Trials[0].Load = -1 }, wirelab.InvalidArgument},
		"no histogram":    {func(r *result.Result) { r.Rounds[0].Trials[0].Lag = nil }, wirelab.InvalidArgument},
	} {
		r := Sample(0)
		c.spoil(r)
		refused(t, name, s.Put(t.Context(), r), c.code)
	}
	if list, err := s.List(t.Context(), store.Filter{}); err != nil || len(list) != 0 {
		t.Errorf("left behind: %+v, %v", list, err)
	}
}

func testConcurrent(t *testing.T, s store.Store) {
	const writers, each = 4, 5
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for n := w * each; n < (w+1)*each; n++ {
				if err := s.Put(t.Context(), Small(n)); err != nil {
					t.Errorf("put %d: %v", n, err)
				}
				if _, err := s.List(t.Context(), store.Filter{}); err != nil {
					t.Errorf("list: %v", err)
				}
			}
		})
	}
	group.Wait()
	if list, err := s.List(t.Context(), store.Filter{}); err != nil || len(list) != writers*each {
		t.Errorf("%d results, %v; want %d", len(list), err, writers*each)
	}
}

func testContext(t *testing.T, s store.Store) {
	put(t, s, 0, 1)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	refused(t, "put", s.Put(ended, Sample(1)), wirelab.Canceled)
	_, err := s.Get(ended, Sample(0).ID)
	refused(t, "get", err, wirelab.Canceled)
	_, err = s.List(ended, store.Filter{})
	refused(t, "list", err, wirelab.Canceled)
	refused(t, "delete", s.Delete(ended, Sample(0).ID), wirelab.Canceled)
	_, err = s.Total(ended, store.Filter{})
	refused(t, "total", err, wirelab.Canceled)
	refused(t, "report", s.Report(ended, News(1)), wirelab.Canceled)
	_, err = s.Running(ended)
	refused(t, "running", err, wirelab.Canceled)
	refused(t, "forget", s.Forget(ended, Sample(0).ID), wirelab.Canceled)
}
