package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"wirelab/cmd/internal/cli/clitest"
	"wirelab/cmd/internal/desk"
	"wirelab/internal/fieldnames"
	"wirelab/internal/porttest"
	"wirelab/lab/call"
)

const feature = `{"name":"Berkshire Valley Trailhead, Jefferson","location":{"latitude":409146138,"longitude":-746188906}}` + "\n"

// Every way of giving a request, over wires that differ in all else.
func TestCallPrintsTheReply(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	const point = `{"latitude": 409146138, "Longitude": -746188906}`
	file := filepath.Join(t.TempDir(), "point.json")
	if err := os.WriteFile(file, []byte(point), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, protocol := range []string{"http1-json", "grpc", "http3-proto", "grpc-tls"} {
		address, ca := serve(t, "routeguide", protocol)
		base := []string{"call", "routeguide.GetFeature", "--protocol", protocol, "--target", address, "--ca", ca}
		for name, o := range map[string]outcome{
			"typed": s.run(append(base, "--request", point)...),
			"file":  s.run(append(base, "--request", "@"+file)...),
			"stdin": s.runWith(t.Context(), point, append(base, "--request", "-")...),
		} {
			if o.code != desk.ExitOK || o.stdout != feature || o.stderr != "" {
				t.Errorf("%s, %s: %+v, want %s", protocol, name, o, feature)
			}
		}
		o := s.run(base...)
		o.wants(t, desk.ExitOK, []string{`{"name":`}, nil)
		if !strings.HasPrefix(o.stderr, `asked {"latitude":`) {
			t.Errorf("%s: it is not said what was drawn: %q", protocol, o.stderr)
		}
	}
}

func TestCallStreams(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	address, _ := serve(t, "routeguide", "grpc")
	base := []string{"--protocol", "grpc", "--target", address, "--request"}
	o := s.run(append([]string{"call", "routeguide.ListFeatures"}, append(base,
		`{"lo": {"latitude": 400000000, "longitude": -750000000}, "hi": {"latitude": 420000000, "longitude": -730000000}}`)...)...)
	if lines := strings.Count(o.stdout, "\n"); o.code != desk.ExitOK || lines != 100 {
		t.Errorf("%d lines, %+v", lines, o)
	}
	o = s.run(append([]string{"call", "routeguide.RecordRoute"}, append(base,
		`[{"latitude": 409146138, "longitude": -746188906}, {"latitude": 409146138, "longitude": -746188906}]`)...)...)
	o.wants(t, desk.ExitOK, []string{`{"pointCount":2,"featureCount":2,"distance":0,"elapsedTime":0}`}, nil)
}

func TestCallInJSON(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	address, _ := serve(t, "routeguide", "http1-json")
	base := []string{
		"call", "routeguide.GetFeature", "--json", "--protocol", "http1-json", "--target", address,
		"--request",
	}
	report := decode[call.Report](t, s.run(append(base, `{"latitude": 409146138, "longitude": -746188906}`)...).stdout)
	if len(report.Reply) != 1 || report.Error != nil || report.Target != address || report.Request == "" {
		t.Errorf("report %+v", report)
	}
	o := s.run(append(base, `{"latitude": 900000001}`)...)
	o.wants(t, desk.ExitFailed, nil, []string{"point 900000001"})
	report = decode[call.Report](t, o.stdout)
	if len(report.Reply) != 0 || report.Error == nil || report.Error.Code != "invalid_argument" {
		t.Errorf("report %+v", report)
	}
}

// A request that cannot be made is the caller's mistake; one that the server
// refuses is an answer.
func TestCallTellsMistakesFromRefusals(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	address, _ := serve(t, "routeguide", "grpc")
	base := []string{"call", "routeguide.GetFeature", "--protocol", "grpc", "--target", address, "--request"}
	for data, code := range map[string]int{
		`{"latitude": 1`:           desk.ExitUsage,
		`{"lattitude": 1}`:         desk.ExitUsage,
		`{"latitude": "north"}`:    desk.ExitUsage,
		``:                         desk.ExitUsage,
		`{"latitude": 900000001}`:  desk.ExitFailed,
		`{"latitude": -900000001}`: desk.ExitFailed,
	} {
		say := "--request: request of GetFeature"
		if code == desk.ExitFailed {
			say = "GetFeature over grpc at " + address + ": point"
		}
		s.run(append(base, data)...).wants(t, code, nil, []string{say})
	}
}

func TestCallThatReachesNobodySaysWhatToCheck(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	address := porttest.Refusing(t)
	for protocol, say := range map[string][]string{
		"http1-json":  {"nothing listens at " + address, "wirelab serve routeguide http1-json"},
		"grpc":        {"nothing listens at " + address, "wirelab serve routeguide grpc"},
		"http2-proto": {"nothing listens at " + address, "--ca names its CA certificate"},
		"raw-tcp":     {"nothing listens at " + address, "wirelab serve routeguide raw-tcp"},
	} {
		s.run("call", "routeguide.GetFeature", "--protocol", protocol, "--target", address).wants(t, desk.ExitFailed,
			nil, say)
	}
	// The server is there, but its authority is not trusted.
	address, _ = serve(t, "routeguide", "grpc-tls")
	s.run("call", "routeguide.GetFeature", "--protocol", "grpc-tls", "--target", address, "--timeout", "2s").
		wants(t, desk.ExitFailed, nil, []string{"--ca names its CA certificate"})
}

func TestCallEndsAtItsTimeout(t *testing.T) {
	t.Parallel()
	newShell(t).run("call", "routeguide.GetFeature", "--protocol", "http1-json", "--target", clitest.Mute(t),
		"--timeout", "50ms").
		wants(t, desk.ExitFailed, nil, []string{"no answer in time", "no reply within 50ms", "speaks http1-json"})
}

func TestCallCanBeInterrupted(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	newShell(t).runWith(ctx, "", "call", "routeguide.GetFeature", "--protocol", "http1-json", "--target",
		clitest.Mute(t)).
		wants(t, desk.ExitNoWord, nil, []string{"interrupted"})
}

func TestFieldNamesJSON(t *testing.T) {
	t.Parallel()
	type inner struct {
		ID      string
		URLPath string
		HTTP2On bool
	}
	type outer struct {
		PointCount int32
		Inner      *inner
		None       *inner
		List       []inner
		Empty      []inner
		Data       []byte
		When       time.Time
		ByName     map[string]inner
		Any        any
		hidden     int
	}
	value := outer{
		PointCount: -1, Inner: &inner{ID: "<é>"}, List: []inner{{}}, Data: []byte("hi"),
		When: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), ByName: map[string]inner{"Key": {}}, hidden: 1,
	}
	got, err := fieldnames.JSON(value)
	want := `{"pointCount":-1,"inner":{"id":"<é>","urlPath":"","http2On":false},"none":null,` +
		`"list":[{"id":"","urlPath":"","http2On":false}],"empty":[],"data":"aGk=","when":"2026-01-02T03:04:05.000000006Z",` +
		`"byName":{"Key":{"id":"","urlPath":"","http2On":false}},"any":null}`
	if err != nil || string(got) != want {
		t.Errorf("%v\ngot  %s\nwant %s", err, got, want)
	}
	if got, err := fieldnames.JSON(nil); err != nil || string(got) != "null" {
		t.Errorf("nil is %s, %v", got, err)
	}
}
