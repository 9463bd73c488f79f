package arch

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	kindsFile = "testdata/kinds.txt"
	kindsHead = "# Files outside lab/kind that test for a kind of load, and how often: each may only fall. Ask the\n" +
		"# kind's value instead (docs/adr/0064-a-kind-of-load-is-a-value.md), and in reports its Shape.\n" +
		"# Once one does: go test ./internal/arch -run TestKinds -update\n"
)

// kindTest finds a test for a kind of load: by its plan, by the state of an arm or by what a trial tells.
var kindTest = regexp.MustCompile(`\.(Messaging|Streaming)\(\)|Scenario [!=]= ""|\bStreams ([!=]= 0|> 0)|` +
	`\b(Streams|Messages|Entries|Followed|Capacity|Curve)(; \w+)? [!=]= nil|` +
	`(Kind|Kind\(\)|Name) [!=]= plan\.(Calls|Messages|Held)\b`)

// TestKinds keeps knowledge of a kind of load in the kind: each other file that tests for one has to change when a kind
// is added.
func TestKinds(t *testing.T) {
	t.Parallel()
	now := map[string]int{}
	for _, f := range load(t) {
		if f.generated || strings.HasSuffix(f.path, "_test.go") || strings.HasPrefix(f.path, "lab/kind/") ||
			!slices.Contains([]string{"lab", "results", "cmd"}, strings.Split(f.path, "/")[0]) {
			continue
		}
		text, err := os.ReadFile("../../" + f.path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			code, _, _ := strings.Cut(line, "//")
			if n := len(kindTest.FindAllString(code, -1)); n > 0 {
				now[f.path] += n
			}
		}
	}
	if *updateWords {
		text := kindsHead
		for _, path := range slices.Sorted(maps.Keys(now)) {
			text += fmt.Sprintf("%s %d\n", path, now[path])
		}
		if err := os.WriteFile(kindsFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(kindsFile)
	if err != nil {
		t.Fatal(err)
	}
	may := map[string]int{}
	for line := range strings.Lines(string(text)) {
		var path string
		var n int
		if strings.HasPrefix(line, "#") {
			continue
		}
		if _, err := fmt.Sscan(line, &path, &n); err != nil {
			t.Fatalf("%s: %q: %v", kindsFile, line, err)
		}
		may[path] = n
		if now[path] < n {
			t.Errorf("%s tests for a kind of load %d times, less than %d: write it down with -update", path,
				now[path], n)
		}
	}
	for path, n := range now {
		if n > may[path] {
			t.Errorf("%s tests for a kind of load %d times, and may %d times: ask the kind's value", path, n, may[path])
		}
	}
}
