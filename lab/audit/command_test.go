package audit_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"wirelab/lab/audit"
)

// The shell turns a filled command back into the value, wherever the placeholder was.
func TestFillForTheShell(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		`{"latitude":409146138}`, "http://h/p?a=1&b=2", `it's "$HOME" \ ` + "`id`", "", "a b\tc", "{target}",
		"é;|<>*?~#!",
	} {
		p := audit.Placeholders{"body": value, "target": "x"}
		for _, form := range []string{
			"{body}", "'{body}'", `"{body}"`, "'-{body}-'", `"-{body}-"`, "-{body}-",
			`\"{body}`,
		} {
			filled, err := p.Fill("printf %s " + form)
			if err != nil {
				t.Fatal(err)
			}
			got, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", filled).Output()
			want := strings.Replace(strings.Trim(form, `'"`), "{body}", value, 1)
			if form == `\"{body}` {
				want = `"` + value
			}
			if err != nil || string(got) != want {
				t.Errorf("%s with %q: %s: %q, %v", form, value, filled, got, err)
			}
		}
	}
}

func TestFillLeavesAlone(t *testing.T) {
	t.Parallel()
	p := audit.Placeholders{"target": "x"}
	for _, same := range []string{
		"${target}", `awk '{print $1}'`, `{"a":1}`, "{}", "{a,b}", "{1..3}", "{", "}{",
		`\{target}`, "{TARGET}",
	} {
		if got, err := p.Fill(same); err != nil || got != same {
			t.Errorf("%s: %s, %v", same, got, err)
		}
	}
	if _, err := p.Fill("hey {tarqet}"); err == nil ||
		!strings.Contains(err.Error(), `unknown placeholder "{tarqet}"; did you mean {target}? Known: {target}`) {
		t.Errorf("%v", err)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":                          nil,
		"  a  b\tc\n":               {"a", "b", "c"},
		`a 'b c' "d e" f\ g`:        {"a", "b c", "d e", "f g"},
		`a'b'"c"`:                   {"abc"},
		`'' ""`:                     {"", ""},
		"echo x|vegeta attack;b&&c": {"echo", "x", "|", "vegeta", "attack", ";", "b", "&", "&", "c"},
		`"a\"b" 'c\d'`:              {`a"b`, `c\d`},
		"'open":                     {"open"},
		`end\`:                      {`end\`},
	} {
		if got := audit.Words(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q", text, got)
		}
	}
}

func FuzzWords(f *testing.F) {
	f.Add(`echo 'x' | vegeta "a\"b" {body} '{body}' "{body}"`)
	f.Fuzz(func(t *testing.T, text string) {
		words := audit.Words(text)
		if p, ok := audit.ParserOf(words); ok {
			_ = p.Asked(words).Planned()
		}
		_, _ = audit.Placeholders{"body": "b"}.Fill(text)
	})
}
