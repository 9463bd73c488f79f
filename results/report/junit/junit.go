// Package junit writes the outcome of thresholds as JUnit's XML, which most CI systems read: a test case for each
// threshold, arm and load. It knows only results.
//
// # Form
//
// One testsuites element contains one testsuite, named after the work. A test case's class is the work and the load.
// Its name is the threshold and the arm. An exceeded threshold is a failure, an invalid figure is an error, and an
// inconclusive threshold is skipped. Each has the sentence of the report as its message. An absent arm has a separate
// test case, and its thresholds are skipped. So a suite without failures and errors may still not be a pass: the exit
// code decides. A problem of the whole experiment, such as an interruption, is an error of a test case "experiment".
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"wirelab/lab/result"
	"wirelab/lab/result/threshold"
	"wirelab/results/report"
)

type suites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Name     string   `xml:"name,attr"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Errors   int      `xml:"errors,attr"`
	Skipped  int      `xml:"skipped,attr"`
	Time     string   `xml:"time,attr"`
	Suites   []suite  `xml:"testsuite"`
}

// suite has the attributes that strict readers require.
type suite struct {
	ID         int        `xml:"id,attr"`
	Package    string     `xml:"package,attr"`
	Name       string     `xml:"name,attr"`
	Tests      int        `xml:"tests,attr"`
	Failures   int        `xml:"failures,attr"`
	Errors     int        `xml:"errors,attr"`
	Skipped    int        `xml:"skipped,attr"`
	Time       string     `xml:"time,attr"`      // seconds
	Timestamp  string     `xml:"timestamp,attr"` // ISO 8601 in UTC, without a zone
	Hostname   string     `xml:"hostname,attr"`
	Properties []property `xml:"properties>property"`
	Cases      []testcase `xml:"testcase"`
	Out        string     `xml:"system-out"`
	Err        string     `xml:"system-err"`
}

type property struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type testcase struct {
	Class   string   `xml:"classname,attr"`
	Name    string   `xml:"name,attr"`
	Time    string   `xml:"time,attr"`
	Failure *problem `xml:"failure"`
	Error   *problem `xml:"error"`
	Skipped *problem `xml:"skipped"`
}

type problem struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr,omitempty"`
	Text    string `xml:",chardata"`
}

// Write writes the judgement, indented. The error is w's.
func Write(w io.Writer, r *result.Result, j *threshold.Judgement) error {
	j = report.MarkedJudgement(r, j)
	work := strings.Trim(r.Plan.Workload+"."+r.Plan.Operation, ".")
	one := suite{
		Package: "wirelab", Name: work, Hostname: r.Environment.Host,
		Time:      fmt.Sprintf("%.3f", max(0, r.Ended.Sub(r.Began).Seconds())),
		Timestamp: r.Began.UTC().Format("2006-01-02T15:04:05"),
		Properties: []property{
			{"result", r.ID},
			{"outcome", string(j.Outcome)},
			{"seed", fmt.Sprint(r.Plan.Seed)},
			{"commit", r.Environment.Commit},
		},
		Out: report.Judged(r.Plan, j),
	}
	for i := range j.Findings {
		one.add(caseOf(r, work, &j.Findings[i]))
	}
	for _, absent := range r.Absent {
		why := report.AbsentWhy(absent)
		one.add(testcase{
			Class: work, Name: "experiment (" + absent.Name() + ")", Time: "0",
			Skipped: &problem{Message: why, Text: why},
		})
	}
	if j.Why != "" {
		one.add(testcase{
			Class: work, Name: "experiment", Time: "0",
			Error: &problem{Message: j.Why, Type: string(threshold.Spoiled), Text: j.Why},
		})
	}
	all := suites{
		Name: "wirelab", Tests: one.Tests, Failures: one.Failures, Errors: one.Errors, Skipped: one.Skipped,
		Time:   one.Time,
		Suites: []suite{one},
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	out := xml.NewEncoder(w)
	out.Indent("", "  ")
	if err := out.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

// add adds a case and counts it.
func (s *suite) add(c testcase) {
	s.Cases = append(s.Cases, c)
	s.Tests++
	switch {
	case c.Failure != nil:
		s.Failures++
	case c.Error != nil:
		s.Errors++
	case c.Skipped != nil:
		s.Skipped++
	}
}

func caseOf(r *result.Result, work string, f *threshold.Finding) testcase {
	c := testcase{Class: work + "." + f.LoadName, Name: f.Threshold + " (" + f.ArmName + ")", Time: "0"}
	text := report.Finding(r.Plan, f)
	what := &problem{Message: text, Type: string(f.Outcome), Text: text}
	if f.Absent { // an absent arm has nothing that could be wrong
		what.Type = ""
		c.Skipped = what
		return c
	}
	switch f.Outcome {
	case threshold.Crossed:
		c.Failure = what
	case threshold.Spoiled:
		c.Error = what
	case threshold.Undecided:
		what.Type = "" // readers expect no type of a skipped case
		c.Skipped = what
	}
	return c
}
