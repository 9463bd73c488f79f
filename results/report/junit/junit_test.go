package junit_test

import (
	"encoding/xml"
	"slices"
	"strings"
	"testing"
	"time"

	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/lab/result/threshold"
	"wirelab/results/report/junit"
)

// schema is what the common schemas of JUnit's XML ask for: decoded apart from
// the types that write it, so that a slip in a tag shows.
type schema struct {
	XMLName xml.Name `xml:"testsuites"`
	Tests   *int     `xml:"tests,attr"`
	Suites  []struct {
		ID         *int     `xml:"id,attr"`
		Package    *string  `xml:"package,attr"`
		Name       string   `xml:"name,attr"`
		Timestamp  string   `xml:"timestamp,attr"`
		Hostname   string   `xml:"hostname,attr"`
		Tests      *int     `xml:"tests,attr"`
		Failures   *int     `xml:"failures,attr"`
		Errors     *int     `xml:"errors,attr"`
		Skipped    *int     `xml:"skipped,attr"`
		Time       *float64 `xml:"time,attr"`
		Properties []struct {
			Name  string `xml:"name,attr"`
			Value string `xml:"value,attr"`
		} `xml:"properties>property"`
		Cases []struct {
			Class   string   `xml:"classname,attr"`
			Name    string   `xml:"name,attr"`
			Time    *float64 `xml:"time,attr"`
			Failure []what   `xml:"failure"`
			Error   []what   `xml:"error"`
			Skipped []what   `xml:"skipped"`
		} `xml:"testcase"`
		Out *string `xml:"system-out"`
		Err *string `xml:"system-err"`
		Any []any   `xml:",any"`
	} `xml:"testsuite"`
}

type what struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

func write(t *testing.T, r *result.Result, texts ...string) (schema, string) {
	t.Helper()
	var all []threshold.Threshold
	for _, text := range texts {
		one, err := threshold.ParseThreshold(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	a := analyse.Result(r)
	j := threshold.Judge(r, &a, all)
	var out strings.Builder
	if err := junit.Write(&out, r, &j); err != nil {
		t.Fatal(err)
	}
	var got schema
	if err := xml.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatalf("%v:\n%s", err, out.String())
	}
	return got, out.String()
}

func TestForm(t *testing.T) {
	t.Parallel()
	r := resulttest.Troubled()
	// the author of a plan may choose any name
	r.Arms[3].Name, r.Plan.Arms[3].Name = "<h2c> & \"co\"\x01", "<h2c> & \"co\"\x01"
	got, text := write(t, r, "cpu/req > +3%", "errors > 0.1%", "p99.9 > 1s")
	if len(got.Suites) != 1 {
		t.Fatalf("%d suites:\n%s", len(got.Suites), text)
	}
	s := got.Suites[0]
	if s.ID == nil || s.Package == nil || s.Tests == nil || s.Failures == nil || s.Errors == nil || s.Skipped == nil ||
		s.Time == nil || s.Out == nil || s.Err == nil {
		t.Fatalf("an attribute or element is missing:\n%s", text)
	}
	if _, err := time.Parse("2006-01-02T15:04:05", s.Timestamp); err != nil || s.Hostname == "" ||
		s.Name != "routeguide.GetFeature" {
		t.Errorf("%q, %q, %q: %v", s.Name, s.Hostname, s.Timestamp, err)
	}
	if len(s.Any) > 0 {
		t.Errorf("elements that no reader knows: %v", s.Any)
	}
	counted := [4]int{len(s.Cases)}
	names := map[string]bool{}
	for _, c := range s.Cases {
		if c.Class == "" || c.Name == "" || c.Time == nil || names[c.Class+c.Name] {
			t.Errorf("case %q of %q", c.Name, c.Class)
		}
		names[c.Class+c.Name] = true
		found := slices.Concat(c.Failure, c.Error, c.Skipped)
		if len(found) > 1 || len(found) == 1 && (found[0].Message == "" || strings.TrimSpace(found[0].Text) == "") {
			t.Errorf("%s: %+v", c.Name, found)
		}
		counted[1] += len(c.Failure)
		counted[2] += len(c.Error)
		counted[3] += len(c.Skipped)
	}
	if said := [4]int{*s.Tests, *s.Failures, *s.Errors, *s.Skipped}; said != counted || *got.Tests != counted[0] {
		t.Errorf("says %v, has %v", said, counted)
	}
	if counted[2] == 0 || counted[3] == 0 {
		t.Errorf("the example has no error or nothing skipped: %v", counted)
	}
	if !strings.Contains(text, "&lt;h2c&gt; &amp; ") {
		t.Errorf("the name of an arm is not escaped:\n%s", text)
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	got, _ := write(t, resulttest.Closed(), "grpc: cpu/req > +3% @ 1", "connect: cpu/req > +3% @ 1")
	if c := got.Suites[0].Cases; len(c) != 2 || len(c[0].Failure) != 1 || len(c[1].Failure) != 0 ||
		!strings.Contains(c[0].Failure[0].Message, "+31.6 % (95 % CI +30.4 to +32.9), over the limit of +3%") {
		t.Errorf("%+v", c)
	}
	// An interrupted experiment must not look green.
	r := resulttest.Closed()
	r.Ending = result.Interrupted
	got, text := write(t, r, "connect: cpu/req > +3% @ 1")
	if s := got.Suites[0]; *s.Errors != 1 || *s.Tests != 2 || !strings.Contains(text, "interrupted after 30 rounds") {
		t.Errorf("%s", text)
	}
}

// An arm that is absent is skipped, with the reason, and no test of it passes.
func TestAbsent(t *testing.T) {
	t.Parallel()
	got, text := write(t, resulttest.Absent(), "p99 > 10s")
	one := got.Suites[0]
	if *one.Skipped != 4 || *one.Errors != 0 || *one.Failures != 0 {
		t.Errorf("%s", text)
	}
	for _, c := range one.Cases {
		absent := strings.Contains(c.Name, "(log-rabbit")
		if absent != (len(c.Skipped) == 1) ||
			absent && !strings.Contains(c.Skipped[0].Message, "absent: RabbitMQ is not installed") {
			t.Errorf("%s: %+v", c.Name, c)
		}
	}
}
