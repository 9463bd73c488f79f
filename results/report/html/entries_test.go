package html_test

import (
	"encoding/csv"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"wirelab/internal/browsertest"
	"wirelab/lab/result/resulttest"
)

// A pipeline's page tells the account by id, the three times side by side, what
// waited and what each process used, in tables, as data and in words for those
// who see no picture (ms-M01, ms-M15, R1, R2). The arm that lost an entry is in
// the account, and in nothing else.
func TestPipelineIsToldWhole(t *testing.T) {
	t.Parallel()
	all := read(t, render(t, resulttest.Pipeline()))
	data := map[string][][]string{}
	words := map[string]string{}
	for i, e := range all {
		if name := e.attrs["download"]; name != "" {
			text, _ := strings.CutPrefix(e.attrs["href"], "data:text/csv;charset=utf-8,")
			body, err := url.PathUnescape(text)
			if err != nil {
				t.Fatal(err)
			}
			rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
			if err != nil {
				t.Fatal(err)
			}
			data[name] = rows
		}
		if e.tag == "desc" {
			words[all[i-2].attrs["id"]] = e.text // after the svg and its title
		}
	}
	const file = "r-20261121-140512-10a6-%s-50-calls-in-flight.csv"
	rows := func(what string) [][]string {
		got := data[fmt.Sprintf(file, what)]
		if len(got) < 2 {
			t.Fatalf("%s: there is no such data, or nothing in it; there are %d files", what, len(data))
		}
		return got
	}
	entries := rows("entries")
	if want := []string{
		"arm", "sent", "accepted", "confirmed", "stored", "missing", "duplicated",
		"reordered",
	}; !slices.Equal(entries[0], want) || len(entries) != 4 {
		t.Fatalf("the account is %q", entries)
	}
	if lost := entries[3]; lost[0] != "log-rabbit-published" || lost[3] != "0" ||
		!slices.Equal(lost[5:], []string{"1", "0", "0"}) {
		t.Errorf("the row of the arm that lost one is %q", lost)
	}
	told := func(rows [][]string, column int) (all []string) {
		for _, row := range rows[1:] {
			if !slices.Contains(all, row[0]+" "+row[column]) {
				all = append(all, row[0]+" "+row[column])
			}
		}
		return all
	}
	if got, want := told(rows("stages"), 1),
		[]string{
			"log-grpc accepted", "log-grpc confirmed", "log-grpc stored", "log-rabbit accepted",
			"log-rabbit confirmed", "log-rabbit stored",
		}; !slices.Equal(got, want) {
		t.Errorf("times are of %q, want %q", got, want)
	}
	if got, want := told(rows("processes"), 1), []string{
		"log-grpc gateway", "log-grpc logger", "log-grpc driver", "log-rabbit gateway", "log-rabbit broker",
		"log-rabbit listener", "log-rabbit logger", "log-rabbit database", "log-rabbit driver",
	}; !slices.Equal(got, want) {
		t.Errorf("processes are %q, want %q", got, want)
	}
	waiting := rows("backlog")
	if got, want := told(waiting, 2), []string{"log-grpc 12", "log-rabbit 12"}; !slices.Equal(got, want) {
		t.Errorf("backlogs are of slices %q, want %q", got, want)
	}
	if last := waiting[len(waiting)-1]; last[1] != "2300" || last[5] != "0" {
		t.Errorf("the backlog ends with %q", last)
	}
	for chart, want := range map[string]string{
		"stages-1-narrow":       "log-rabbit: medians: accepted ",
		"backlog-1-wide":        "log-grpc: at most 0, 0 as a slice ends; log-rabbit: at most ",
		"process-bars-2-middle": "; log-rabbit: gateway ",
	} {
		if !strings.Contains(words[chart], want) || strings.Contains(words[chart], "published") {
			t.Errorf("the words of %s are %q, want %q", chart, words[chart], want)
		}
	}
}

// contrasts finds what of a pipeline's charts cannot be read: text with less than
// 4.5 to 1 from its ground, and lines and bars with less than 3 to 1.
const contrasts = `(() => {
	const luminance = (c) => {
		const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
	const rgb = (over, alpha, under) => {
		canvas.globalAlpha = 1; canvas.fillStyle = under; canvas.fillRect(0, 0, 1, 1);
		canvas.globalAlpha = alpha; canvas.fillStyle = over; canvas.fillRect(0, 0, 1, 1);
		return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
	};
	const bad = [];
	let seen = 0;
	for (const id of ["stages-1", "backlog-1", "process-bars-1"]) {
		const figure = document.getElementById("fig-" + id);
		const ground = getComputedStyle(figure).backgroundColor;
		for (const el of figure.querySelectorAll("svg text, svg .line:not(.unearned), svg .fill, svg .dot, svg .over-with")) {
			if (!el.checkVisibility()) continue;
			const style = getComputedStyle(el), line = el.matches(".line, .over-with");
			const a = luminance(rgb(line ? style.stroke : style.fill, Number(style.opacity), ground)), b = luminance(rgb(ground, 1, ground));
			const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
			seen++;
			if (ratio < (el.matches("text") ? 4.5 : 3)) bad.push(id + " " + el.getAttribute("class") + " " + el.textContent + " " + ratio.toFixed(2));
		}
	}
	return seen < 30 ? ["only " + seen + " marks were found"] : [...new Set(bad)];
})()`

// On the narrowest phone nothing of a pipeline's page is wider than it, and what
// its charts draw stands out from the ground in the light and in the dark.
func TestPipelineOnThePhone(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	file, _ := write(t, resulttest.Pipeline())
	p := openTab(browsertest.Start(t), t, file, 320, false)
	for _, width := range []int64{320, 1400} {
		for _, scheme := range []string{"light", "dark"} {
			var s sight
			var bad []string
			p.Do(
				chromedp.EmulateViewport(width, 900),
				emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{
					Name:  "prefers-color-scheme",
					Value: scheme,
				}}),
				chromedp.Evaluate(unfold(true), nil), chromedp.Evaluate(check, &s), chromedp.Evaluate(contrasts, &bad),
			)
			where := fmt.Sprintf("%d px, %s", width, scheme)
			s.judge(t, where, 16)
			for _, one := range bad {
				t.Errorf("%s: does not stand out: %s", where, one)
			}
		}
	}
}
