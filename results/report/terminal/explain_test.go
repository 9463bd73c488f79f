package terminal_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/result/analyse"
	"wirelab/lab/result/claim"
	"wirelab/lab/result/explain"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report/terminal"
)

func explanation(t *testing.T, r *result.Result, width int) string {
	t.Helper()
	a := analyse.Result(r)
	return explanationOf(t, r, &a, width)
}

func explanationOf(t *testing.T, r *result.Result, a *claim.Analysis, width int) string {
	t.Helper()
	e, err := explain.Between(r, a, "", "")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	if err := terminal.WriteExplanation(&text, r, a, e, terminal.Style{Width: width}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text.String()) {
		if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > max(width, 64) {
			t.Errorf("a line of %d columns of %d: %q", n, width, line)
		}
	}
	return text.String()
}

func planted() resulttest.Effects {
	return resulttest.Effects{
		"HTTP/2": 0.15, "gRPC": 0.25, "Protocol Buffers": -0.3, "Avro": -0.25, "TLS": 0.1,
		"gRPC × Protocol Buffers": -0.12,
	}
}

// one is text without line breaks.
func one(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestExplanationFits(t *testing.T) {
	t.Parallel()
	r := resulttest.Factorial(7, planted())
	a := analyse.Result(r)
	for _, width := range []int{64, 80, 160} {
		text := one(explanationOf(t, r, &a, width))
		for _, want := range []string{
			"factors 18 arms: transport (HTTP/1.1, HTTP/2, gRPC), encoding (JSON, Protocol Buffers, Avro), TLS " +
				"(off, on)",
			"Of grpc-proto's −15.4 % server CPU per request against http1-json (95 % CI −16.8 to −13.8), " +
				"transport is " +
				"+14.3 points (+13.1 to +15.5), framing is +3.5 points",
			"and encoding is −33.1 points (",
			"On average over the other factors, HTTP/2 costs 15.9 % more (95 % CI 15.2 to 16.6) than HTTP/1.1; " +
				"gRPC costs",
			"TLS on costs", "With gRPC the step from JSON to Protocol Buffers comes out 11.2 % lower (95 % CI 9.9 to " +
				"12.6) than with HTTP/1.1.",
			"gRPC vs HTTP/1.1", "TLS on vs off", "HTTP/2 × TLS on", "act together", "none ±3 %", "(Shapley)",
			"the share of framing is also that of another library: net/http serves http1-json, grpc-go serves " +
				"grpc-proto",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%d columns lack %q:\n%s", width, want, text)
			}
		}
	}
}

func TestExplanationSaysWhatItCannotTell(t *testing.T) {
	t.Parallel()
	text := one(explanation(t, resulttest.Factorial(7, planted(), "grpc-json", "grpc-tls-json"), 80))
	for _, want := range []string{
		"The difference between http1-json and grpc-proto cannot be split into parts: there is no arm with " +
			"transport gRPC, " +
			"encoding JSON, TLS off.",
		"the effect of gRPC, Protocol Buffers and Avro holds only if there is no interaction of transport × " +
			"encoding, which cannot be estimated",
		"gRPC × Protocol Buffers cannot be estimated: no arm has transport gRPC, encoding JSON",
		"the 6 interactions that can be estimated",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	few := resulttest.Factorial(7, planted())
	few.Rounds = few.Rounds[:8]
	text = one(explanation(t, few, 80))
	if !strings.Contains(text,
		"Nothing is claimed about grpc-proto and http1-json yet: 8 rounds have all the arms, a claim needs 10.") ||
		strings.Contains(text, "cheaper") {
		t.Error(text)
	}
	refused := resulttest.Factorial(7, planted())
	for n := range refused.Rounds {
		for i := range refused.Rounds[n].Trials {
			refused.Rounds[n].Trials[i].Errors = map[string]uint64{result.WrongReply: 1}
		}
	}
	text = one(explanation(t, refused, 80))
	if !strings.Contains(text, "Nothing can be explained: fewer than two arms may be used.") ||
		!strings.Contains(text, "none of the arms may be used: http1-json: ") {
		t.Error(text)
	}
}

// Many levels, several loads and an open loop are written all the same.
func TestLargeExplanations(t *testing.T) {
	t.Parallel()
	effects := planted()
	effects["data 10000"], effects["Protocol Buffers × data 10000"] = 0.6, -0.5
	r := resulttest.Make(resulttest.Setting{
		Name: "explain", Arms: resulttest.FactorialArms(effects, "4", "10000"), Rounds: 10, Seed: 3,
		Loads: []plan.Load{{Rate: 2000, Arrivals: plan.Poisson, InFlight: 256}},
	})
	text := one(explanation(t, r, 80))
	for _, want := range []string{
		"With data 4, of grpc-proto,data=4's", "With data 10000, of grpc-proto,data=10000's",
		"p99 response time", "data 10000 vs 4",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
}
