package schematest_test

import (
	"fmt"
	"strings"
	"testing"

	"google.golang.org/protobuf/types/known/durationpb"

	"wirelab/internal/schematest"
)

// noted is a test whose errors are kept.
type noted struct {
	testing.TB
	errors []string
}

func (n *noted) Helper() {}

func (n *noted) Errorf(format string, args ...any) {
	n.errors = append(n.errors, fmt.Sprintf(format, args...))
}

func TestKeeps(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"Duration: seconds=1 nanos=2": "",
		"Duration: seconds=1":         "", // more may be there
		"Duration: seconds=2":         "Duration: lacks seconds=2; it has seconds=1 nanos=2",
		"Minute: seconds=1":           "the schema lacks Minute: seconds=1",
	} {
		n := &noted{TB: t}
		schematest.Keeps(n, durationpb.File_google_protobuf_duration_proto, []string{line})
		if got := strings.Join(n.errors, "\n"); !strings.HasPrefix(got, want) || want == "" && got != "" {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
