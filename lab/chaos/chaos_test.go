package chaos_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab"
	"wirelab/lab/chaos"
	"wirelab/lab/plan"
	"wirelab/pipeline/stack"
)

func TestFaultsAreReadAndWritten(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"all":                          "listener-kill logger-down=10s broker-restart burst=10x5s",
		"logger-down":                  "logger-down=10s",
		"logger-down=2s+burst=3x500ms": "logger-down=2s burst=3x500ms",
		"broker-restart+listener-kill": "broker-restart listener-kill",
		"burst=1.5x1m0s":               "burst=1.5x1m0s",
	} {
		faults, err := chaos.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var words []string
		for _, f := range faults {
			words = append(words, f.String())
			again, err := chaos.Parse(f.String())
			if err != nil || !slices.Equal(again, []chaos.Fault{f}) {
				t.Errorf("%v is read as %v, %v", f, again, err)
			}
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%s is %s, want %s", text, got, want)
		}
	}
	for text, words := range map[string]string{
		"":                   "listener-kill",
		"power-cut":          "logger-down",
		"listener-kill=3s":   "no value",
		"logger-down=soon":   "10s",
		"logger-down=1ms":    "100ms",
		"burst=5s":           "10x5s",
		"burst=1x5s":         "above 1",
		"burst=NaNx5s":       "above 1",
		"burst=10x":          "10s",
		"logger-down++burst": "broker-restart",
	} {
		if _, err := chaos.Parse(text); wirelab.CodeOf(err) != wirelab.InvalidArgument ||
			!strings.Contains(err.Error(), words) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A path without a broker has no listener and no broker that could fail.
func TestPathsHaveTheFaultsOfTheirParts(t *testing.T) {
	t.Parallel()
	nats := []stack.Broker{{Kind: stack.NATSServer, Direct: true}}
	for _, c := range []struct {
		path    string
		brokers []stack.Broker
		can     int
	}{
		{"log-grpc", nil, 2},
		{"log-nats", nats, 4},
		{"log-nats-direct", nats, 4},
		{"log-rabbit-published", []stack.Broker{{Kind: stack.RabbitMQ}}, 4},
		{"log-rabbit", []stack.Broker{{Kind: stack.RabbitMQ, URL: "amqp://elsewhere"}}, 3}, // wirelab cannot kill it
	} {
		can, why := chaos.Without(c.path, c.brokers, chaos.All())
		if len(can) != c.can || len(can)+len(why) != 4 {
			t.Errorf("%s can have %v: %v", c.path, can, why)
		}
	}
}

func TestFaultsAreLaidOutOverTheLoad(t *testing.T) {
	t.Parallel()
	for _, whole := range []time.Duration{0, 60 * time.Second, 100 * time.Second} {
		o := chaos.Options{Faults: chaos.All(), For: whole}
		at, got, err := o.Layout()
		if err != nil || len(at) != 4 || whole > 0 && got != whole || !slices.IsSorted(at) {
			t.Fatalf("%v: %v, %v, %v", whole, at, got, err)
		}
		if at[2]-at[1] < 11*time.Second || at[3]-at[2] < 4*time.Second || got-at[3] < 6*time.Second {
			t.Errorf("%v: %v of %v leave no time after a fault", whole, at, got)
		}
	}
	o := chaos.Options{Faults: chaos.All(), For: 20 * time.Second}
	if _, _, err := o.Layout(); wirelab.CodeOf(err) != wirelab.InvalidArgument {
		t.Errorf("twenty seconds for ten of outage and all else: %v", err)
	}
}

// The store decides whether an entry is stored, and not a journal: an entry that a journal dropped or lost is not
// missing, and an entry that a journal shows as stored is missing if the store does not have it.
func TestTheAccountRestsOnTheStore(t *testing.T) {
	t.Parallel()
	all, none, most := func(int) bool { return true }, func(int) bool { return false },
		func(i int) bool { return i >= 3 }
	for why, c := range map[string]struct {
		inStore, inJournal func(int) bool
		lost, missing      uint64
	}{
		"all is well":                {all, all, 0, 0},
		"journals forgot all":        {all, none, 1000, 0},
		"journals ended with theirs": {all, most, 0, 0},
		"the store forgot":           {most, all, 0, 3},
		"both forgot":                {most, none, 1000, 3},
	} {
		r, err := chaos.AccountOf(500, c.inStore, c.inJournal, c.lost)
		if err != nil {
			t.Fatal(err)
		}
		a := r.Account
		if a.Missing != c.missing || a.Stored != 500-c.missing || a.Accepted != 500 || a.Forgotten != c.lost ||
			a.AtLeast != (c.lost > 0) {
			t.Errorf("%s: %+v", why, a)
		}
	}
}

// Reads of the store overlap: an entry that is read twice is not stored twice.
func TestStoredTwice(t *testing.T) {
	t.Parallel()
	if n := chaos.Twice(map[int64]string{1: "a", 2: "b"}, map[int64]string{2: "b", 3: "c"},
		map[int64]string{2: "b", 3: "c"}); n != 0 {
		t.Errorf("%d of three", n)
	}
	if n := chaos.Twice(map[int64]string{1: "a", 2: "a"}, map[int64]string{1: "a", 2: "a", 3: "b", 4: "a"}); n != 1 {
		t.Errorf("%d, want one that is there three times", n)
	}
}

// A run is over once replies and storage were in time for a few seconds, and not earlier.
func TestARunIsCalm(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	for why, c := range map[string]struct {
		each func(step int) (answered, stored time.Duration, refused bool)
		want bool
	}{
		"all was well": {func(int) (time.Duration, time.Duration, bool) { return ms, 2 * ms, false }, true},
		"it was bad before": {
			func(i int) (time.Duration, time.Duration, bool) { return ms, 2 * ms, i < 40 },
			true,
		},
		"one is refused": {
			func(i int) (time.Duration, time.Duration, bool) { return ms, 2 * ms, i == 75 },
			false,
		},
		"answers are slow": {func(i int) (time.Duration, time.Duration, bool) {
			return 300 * ms, 310 * ms,
				false
		}, false},
		"the backlog is stored": {
			func(i int) (time.Duration, time.Duration, bool) { return ms, 400 * ms, false },
			false,
		},
		"nothing is stored": {func(i int) (time.Duration, time.Duration, bool) { return ms, 0, false }, false},
		"nothing is stored so far": {func(i int) (time.Duration, time.Duration, bool) {
			return ms,
				time.Duration(max(0, 40-i)) * ms, false
		}, false},
	} {
		if got := chaos.Calm(250*ms, c.each); got != c.want {
			t.Errorf("%s: %t", why, got)
		}
	}
}

// The estimate is the layout plus the time to start a pipeline. A trial that was made before takes no time.
func TestRunsAreEstimated(t *testing.T) {
	t.Parallel()
	o := chaos.Options{Faults: []chaos.Fault{{Kind: chaos.LoggerDown, Length: 10 * time.Second}}}
	least, most := o.Estimate()
	if least < 20*time.Second || most > 45*time.Second || most-least < 5*time.Second {
		t.Errorf("an outage takes %v to %v", least, most)
	}
	o.Sustained = 1000
	if low, high := o.Estimate(); low >= least || high >= most {
		t.Errorf("without a trial %v to %v", low, high)
	}
	o.For = time.Minute
	if low, high := o.Estimate(); low != high || low < time.Minute {
		t.Errorf("a minute takes %v to %v", low, high)
	}
}

// every makes one entry each 10 ms for ten seconds. Each is answered after 1 ms and stored after 2 ms, unless change
// says otherwise.
func every(change func(*chaos.Made)) []chaos.Made {
	var all []chaos.Made
	for due := int64(0); due < 10_000; due += 10 {
		m := chaos.Made{Due: due, Ended: due + 1, Stored: due + 2}
		change(&m)
		all = append(all, m)
	}
	return all
}

// The effect of a fault from 2 to 4 s, computed by hand.
func TestEffectsByHand(t *testing.T) {
	t.Parallel()
	sec := plan.Duration(time.Second)
	for name, c := range map[string]struct {
		change            func(*chaos.Made)
		response, storage chaos.Recovery
		peak              int
		drained           plan.Duration
	}{
		"nothing": {
			func(*chaos.Made) {}, chaos.Recovery{Back: true}, chaos.Recovery{Back: true}, 0, 0,
		},
		"a call path refuses while the logger is away": {
			func(m *chaos.Made) {
				if m.Due >= 2000 && m.Due < 4000 {
					m.Refused, m.Stored = "Unavailable", 0
				}
			},
			chaos.Recovery{Left: true, Back: true, SinceBegin: 2 * sec},
			chaos.Recovery{Back: true},
			0, 0,
		},
		"a queue hides it from callers and catches up by 5 s": {
			func(m *chaos.Made) {
				if m.Due >= 2000 && m.Due < 5000 {
					m.Stored = 5000
				}
			},
			// An entry that was due from 4.9 s on was stored within 100 ms.
			chaos.Recovery{Back: true},
			chaos.Recovery{Left: true, Back: true, SinceBegin: 29 * sec / 10, SinceEnd: 9 * sec / 10},
			300, 11 * sec / 10,
		},
		"one slow call in a hundred is no matter": {
			func(m *chaos.Made) {
				if m.Due%1000 == 10 {
					m.Ended, m.Stored = m.Due+500, m.Due+501
				}
			},
			chaos.Recovery{Back: true},
			chaos.Recovery{Back: true},
			1, 0,
		},
		"it never comes back": {
			func(m *chaos.Made) {
				if m.Due >= 2000 {
					m.Stored = 0
				}
			},
			chaos.Recovery{Back: true},
			chaos.Recovery{Left: true},
			800, -1,
		},
		"it comes back too late to be sure": {
			func(m *chaos.Made) {
				if m.Due >= 2000 && m.Due < 9500 {
					m.Ended, m.Stored = m.Due+200, m.Due+201
				}
			},
			chaos.Recovery{Left: true},
			chaos.Recovery{Left: true},
			1, 0,
		},
		"before the fault is not its doing": {
			func(m *chaos.Made) {
				if m.Due < 1500 {
					m.Refused = "Internal"
				}
			},
			chaos.Recovery{Already: true, Back: true},
			chaos.Recovery{Back: true},
			0, 0,
		},
	} {
		e, rows := chaos.EffectOf(every(c.change), 100*time.Millisecond, 10*time.Second, 2*time.Second, 4*time.Second,
			10*time.Second, false)
		if e.Response != c.response || e.Storage != c.storage {
			t.Errorf("%s: responses %+v, storage %+v; want %+v, %+v", name, e.Response, e.Storage, c.response,
				c.storage)
		}
		if e.BacklogPeak > c.peak || e.BacklogPeak < c.peak-10 || e.Drained != c.drained {
			t.Errorf("%s: a backlog of %d, drained after %v; want about %d, %v", name, e.BacklogPeak, e.Drained, c.peak,
				c.drained)
		}
		due, stored := 0, 0
		for _, r := range rows {
			due, stored = due+r.Due, stored+r.Stored
		}
		if due != 1000 || stored > 1000 || len(rows) < 10 {
			t.Errorf("%s: %d due and %d stored in %d rows", name, due, stored, len(rows))
		}
	}
}

// Entries that were due and never sent were not within the objective either.
func TestWhatWasNeverSentIsNotWell(t *testing.T) {
	t.Parallel()
	all := every(func(*chaos.Made) {})[:600] // the load was meant to last ten seconds
	for _, unsent := range []bool{false, true} {
		e, rows := chaos.EffectOf(all, 100*time.Millisecond, 10*time.Second, 2*time.Second, 4*time.Second,
			10*time.Second, unsent)
		if e.Response.Back == unsent || e.Storage.Back == unsent || rows[8].Within == unsent {
			t.Errorf("unsent %t: responses %+v, storage %+v, a row %+v", unsent, e.Response, e.Storage, rows[8])
		}
	}
}

// The second fault's effect does not count as the first one's.
func TestAnEffectEndsWhereTheNextFaultBegins(t *testing.T) {
	t.Parallel()
	all := every(func(m *chaos.Made) {
		if m.Due >= 6000 && m.Due < 7000 {
			m.Refused = "Unavailable"
		}
	})
	first, rows := chaos.EffectOf(all, 100*time.Millisecond, 10*time.Second, 2*time.Second, 4*time.Second,
		6*time.Second, false)
	if first.Response.Left || first.Due != 400 || len(first.Refused) > 0 {
		t.Errorf("the first: %+v", first)
	}
	second, _ := chaos.EffectOf(all, 100*time.Millisecond, 10*time.Second, 6*time.Second, 6*time.Second, 10*time.Second,
		false)
	if second.Response.SinceEnd != plan.Duration(time.Second) || second.Refused["Unavailable"] != 100 {
		t.Errorf("the second: %+v", second)
	}
	if r := rows[6]; r.Within || r.Accepted != 0 || r.Refused["Unavailable"] != 100 ||
		rows[5].P99 != plan.Duration(time.Millisecond) {
		t.Errorf("what callers saw: %+v after %+v", r, rows[5])
	}
	if never := every(func(m *chaos.Made) { m.Stored = 0 }); true {
		_, rows := chaos.EffectOf(never, 100*time.Millisecond, 10*time.Second, 0, 0, 10*time.Second, false)
		if rows[3].StoredP99 != math.MaxInt64 || rows[9].Backlog != 1000 {
			t.Errorf("entries that are never stored: %+v", rows[9])
		}
	}
}
