package launch_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"wirelab"
	"wirelab/lab/launch"
)

func TestParseCommand(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`./bin/shop --port $PORT`:              {"./bin/shop", "--port", "${PORT}"},
		`java -jar "my shop.jar" '--a b' c\ d`: {"java", "-jar", "my shop.jar", "--a b", "c d"},
		`shop --at "$HOST:${PORT}" {port}`:     {"shop", "--at", "${HOST}:${PORT}", "{port}"},
		`shop "\d+" '\d' \n "a\"b" ''`:         {"shop", `\d+`, `\d`, "n", `a"b`, ""},
		`shop '$HOME' \$X "\$Y" '#1' a#b *.go`: {"shop", "$HOME", "$X", "$Y", "#1", "a#b", "*.go"},
		`sh -c 'cd x && exec ./shop -p $PORT'`: {"sh", "-c", "cd x && exec ./shop -p $PORT"},
		"shop \\\n  --on # the second line\n":  {"shop", "--on"},
		`env A=1 shop`:                         {"env", "A=1", "shop"},
		`~/shop`:                               {os.Getenv("HOME") + "/shop"},
	} {
		if got, err := launch.ParseCommand(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q is read as %q, %v; want %q", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		``:                         "empty",
		` # a comment`:             "empty",
		`''`:                       "no program",
		`shop "a`:                  "quote",
		`shop; other`:              "several commands; a shell can: sh -c",
		"shop\nother":              "several commands",
		`shop &`:                   "more than a program",
		`! shop`:                   "more than a program",
		`cd x && ./shop`:           "more than a program",
		`shop | tee log`:           "more than a program",
		`shop > log`:               "redirects",
		`PORT=1 shop`:              "write env before it",
		`shop $HOME`:               "uses $HOME, and only",
		`shop ${PORT:-80}`:         "uses $PORT",
		"shop `date`":              "more than a program",
		`shop $(date) $((1))`:      "more than a program",
		`(shop)`:                   "more than a program",
		`if shop; then a; fi`:      "more than a program",
		"shop \x00":                "byte 0",
		strings.Repeat("a", 1<<20): "longer",
	} {
		got, err := launch.ParseCommand(text)
		if err == nil || wirelab.CodeOf(err) != wirelab.InvalidArgument || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q is read as %q, %v; want %q", text, got, err, want)
		}
	}
}

// Every text is split or refused, and none of it is run.
func FuzzParseCommand(f *testing.F) {
	for _, text := range []string{
		`a "b c" 'd' \e`, `a $PORT ${HOST}`, `a $(b)`, "a `b`",
		`a <(b) >c`, `a ${b/c/d} ~x {1,2} *`, `$((1/0))`, `${PORT[1]}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		words, err := launch.ParseCommand(text)
		if err == nil && (len(words) == 0 || words[0] == "") {
			t.Errorf("%q is no command", text)
		}
		if err != nil && wirelab.CodeOf(err) != wirelab.InvalidArgument {
			t.Errorf("%q: %v", text, err)
		}
	})
}
