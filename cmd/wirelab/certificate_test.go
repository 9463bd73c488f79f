package main

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/cli/clitest"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/doctor"
	"wirelab/lab/plan"
	"wirelab/lab/probe"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/results/measure"
	"wirelab/results/store"
	"wirelab/results/store/sqlite"
)

// equals is a made-up burst on a machine that ended at a time.
func equals(t *testing.T, env result.Environment, ended time.Time) *result.Result {
	t.Helper()
	arm := resulttest.Arms()[0]
	r := resulttest.Make(resulttest.Setting{
		Name: doctor.BurstName, Arms: []resulttest.Arm{arm, arm},
		Loads: []plan.Load{{InFlight: 1}}, Rounds: 12,
	})
	p := r.Plan
	p.Arms[1].Name = "http1-proto #2"
	var err error
	if r.Plan, err = p.Complete(); err != nil {
		t.Fatal(err)
	}
	r.Arms[1].Name = "http1-proto #2"
	r.Environment, r.Began, r.Ended = env, ended.Add(-6*time.Second), ended
	r.ID = store.NewID(r.Began, rand.New(rand.NewPCG(rand.Uint64(), 1)))
	return r
}

func openTestStore(t *testing.T, path string) store.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Only a certificate of this machine, this build and this hour is used again.
func TestStoredCertificates(t *testing.T) {
	t.Parallel()
	now := time.Now().UTC().Truncate(time.Microsecond)
	here := probe.Environment()
	elsewhere, later := here, here
	elsewhere.Host = "elsewhere"
	later.Commit = "0123456789"
	unequal := equals(t, here, now.Add(-time.Minute))
	unequal.Plan.Arms[1].Protocol = "grpc"
	short := equals(t, here, now.Add(-time.Minute))
	short.Rounds = short.Rounds[:9]
	for name, c := range map[string]struct {
		stored []*result.Result
		made   time.Time // zero: none is used
	}{
		"nothing":     {nil, time.Time{}},
		"a fresh one": {[]*result.Result{equals(t, here, now.Add(-time.Minute))}, now.Add(-time.Minute)},
		"the latest of two": {[]*result.Result{
			equals(t, here, now.Add(-time.Minute)),
			equals(t, here, now.Add(-2*time.Minute)),
		}, now.Add(-time.Minute)},
		"an old one":         {[]*result.Result{equals(t, here, now.Add(-61*time.Minute))}, time.Time{}},
		"of another machine": {[]*result.Result{equals(t, elsewhere, now.Add(-time.Minute))}, time.Time{}},
		"of another build":   {[]*result.Result{equals(t, later, now.Add(-time.Minute))}, time.Time{}},
		"one behind a foreigner": {[]*result.Result{
			equals(t, elsewhere, now.Add(-time.Minute)),
			equals(t, here, now.Add(-30*time.Minute)),
		}, now.Add(-30 * time.Minute)},
		"no burst of equals": {[]*result.Result{unequal}, time.Time{}},
		"a burst cut short":  {[]*result.Result{short}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openTestStore(t, filepath.Join(t.TempDir(), "results.db"))
			for _, r := range c.stored {
				if err := s.Put(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			}
			a := with(newApp(cli.Terminal{}, nil, nil), func(a *app) { a.Now = func() time.Time { return now } })
			got, err := a.StoredCertificate(t.Context(), s, here)
			switch {
			case err != nil:
				t.Fatal(err)
			case got == nil && !c.made.IsZero():
				t.Error("it is not used")
			case got != nil && !got.Made.Equal(c.made):
				t.Errorf("the one made at %v is used, want %v", got.Made, c.made)
			}
		})
	}
}

// None is none though there is one; another word is a mistake. That a comparison takes the
// one that is there, TestExperimentTellsHowFarItIs checks.
func TestWordsForCertificates(t *testing.T) {
	t.Parallel()
	s := openTestStore(t, filepath.Join(t.TempDir(), "results.db"))
	now := time.Now().UTC().Truncate(time.Microsecond)
	if err := s.Put(t.Context(), equals(t, probe.Environment(), now.Add(-time.Minute))); err != nil {
		t.Fatal(err)
	}
	a := newApp(cli.Terminal{Stderr: io.Discard}, nil, func(string) string { return "" })
	p := resulttest.Closed().Plan
	if c, err := a.Certificate(t.Context(), s, p, "", true); c == nil || err != nil {
		t.Errorf("without a word: %+v, %v", c, err)
	}
	if c, err := a.Certificate(t.Context(), s, p, measure.CertificateNone, true); c != nil || err != nil {
		t.Errorf("--certificate none: %+v, %v", c, err)
	}
	a.Getenv = func(name string) string {
		return map[string]string{measure.CertificateEnv: measure.CertificateNone}[name]
	}
	if c, err := a.Certificate(t.Context(), s, p, "", true); c != nil || err != nil {
		t.Errorf("%s=none: %+v, %v", measure.CertificateEnv, c, err)
	}
	newShell(t).run(brief(1, "--certificate", "old")...).wants(t, desk.ExitUsage, nil,
		[]string{`unknown certificate "old"; known: auto, new, none`})
}

// BenchmarkCertificate holds what a burst of 10 s promises for a minute
// against what a minute of the default plan gives, the half-width of the
// interval of a comparison of equals: "promised/got" near 1 is a promise kept.
// Its rounds are longer than the burst's and there are fewer of them.
func BenchmarkCertificate(b *testing.B) {
	for b.Loop() {
		dir := b.TempDir()
		run := func(args ...string) *result.Result {
			command := exec.Command(os.Args[0], args...)
			command.Env = append(os.Environ(), asProgram+"=1", "WIRELAB_STORE="+filepath.Join(dir, "results.db"))
			if out, err := command.CombinedOutput(); err != nil {
				b.Logf("%v\n%s", err, out)
			}
			show := exec.Command(os.Args[0], "results", "show", "--json")
			show.Env = command.Env
			out, err := show.Output()
			if err != nil {
				b.Fatal(err)
			}
			var shown struct {
				Result result.Result `json:"result"`
			}
			if err := json.Unmarshal(out, &shown); err != nil {
				b.Fatal(err)
			}
			return &shown.Result
		}
		c := run("doctor", "--burst", "10s", "-q").Certificate
		if c == nil {
			b.Fatal("no certificate")
		}
		arm := "http1-proto"
		if strings.Contains(c.What, "raw driver") {
			arm += ",driver=raw"
		}
		r := run("compare", arm, arm, "--workload", "routeguide.GetFeature", "--for", "60s", "--certificate", "auto",
			"-q")
		a := analyse.Result(r)
		for _, id := range []string{plan.ServerCPU, plan.ResponseP50, plan.ResponseP99} {
			promised, ok := c.In(id, time.Minute)
			d := a.Loads[0].Row(id).Cells[1].Difference
			if ok && d != nil && d.Known {
				b.ReportMetric(promised.HalfWidth/((d.High-d.Low)/2), id+"-promised/got")
				b.ReportMetric(100*promised.HalfWidth, id+"-±%")
			}
		}
		b.ReportMetric(float64(len(r.Rounds)), "rounds")
	}
}

// Ctrl-C while the certificate is made ends the command: nothing was measured yet.
func TestCertificateIsInterrupted(t *testing.T) {
	t.Parallel()
	interruptedAt(t, "comparing http1-proto with itself", brief(1, "--certificate", "new")...)
}

// interruptedAt runs a command in this process, and interrupts it once it has said what is wanted.
func interruptedAt(t *testing.T, says string, args ...string) {
	t.Helper()
	said, store := new(clitest.Output), filepath.Join(t.TempDir(), "results.db")
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, args, strings.NewReader(""), io.Discard, said, func(name string) string {
			return map[string]string{"WIRELAB_STORE": store}[name]
		})
	}()
	for !strings.Contains(said.String(), says) {
		select {
		case code := <-ended:
			t.Fatalf("it ended with exit code %d: %s", code, said)
		case <-time.After(10 * time.Millisecond):
		}
	}
	interrupt()
	if code := <-ended; code != desk.ExitNoWord || !strings.Contains(said.String(), "interrupted") {
		t.Errorf("exit code %d: %s", code, said)
	}
}
