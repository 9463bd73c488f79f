package html_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report"
	"wirelab/results/report/html"
)

// A picture is whole XML, loads nothing, has colours for light and dark, and
// says what the page says: the short answer, each difference and its verdict.
func TestPicture(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*result.Result{
		"closed": resulttest.Closed(), "open": resulttest.Open(),
		"streams": resulttest.Streams(), "messages": resulttest.Messages(),
	} {
		var picture bytes.Buffer
		if err := html.WritePicture(&picture, r); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		text := picture.String()
		if picture.Len() > 100_000 || !strings.HasPrefix(text, "<svg xmlns=") ||
			strings.Count(text, "http") > strings.Count(text, "http1")+strings.Count(text, "http3")+strings.Count(text,
				"http2")+1 {
			t.Errorf("%s: a picture of %d bytes that loads something or is none:\n%.300s", name, picture.Len(), text)
		}
		var words strings.Builder
		for d := xml.NewDecoder(strings.NewReader(text)); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if data, ok := token.(xml.CharData); ok {
				words.Write(data)
				words.WriteByte(' ')
			}
		}
		a := analyse.Result(r)
		l := &a.Loads[0]
		want := []string{"prefers-color-scheme: dark", "--surface:#ffffff", "--surface:#1a1c1f", r.ID}
		want = append(want, strings.Fields(strings.Join(report.Summarise(r, &a, nil).Answer, " "))...)
		for _, c := range l.Row(l.Primary).Cells {
			if d := c.Difference; d != nil && d.Known {
				want = append(want, report.Change(d), report.Interval(d))
			}
		}
		for _, part := range want {
			if !strings.Contains(words.String(), part) {
				t.Errorf("%s: the picture lacks %q:\n%s", name, part, words.String())
			}
		}
	}
}

// What compares nothing has no picture, and the error says what to do.
func TestNoPicture(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]*result.Result{
		"one arm": resulttest.OneArm(), "capacity": resulttest.Capacity(),
		"nothing": {Plan: plan.Plan{}},
	} {
		var picture bytes.Buffer
		if err := html.WritePicture(&picture, r); err == nil || !strings.Contains(err.Error(), "--format html") ||
			picture.Len() > 0 {
			t.Errorf("%s: %v, and %d bytes", name, err, picture.Len())
		}
	}
}
