package launch_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"wirelab/internal/doctest"
	"wirelab/internal/prereq"
	"wirelab/lab/launch"
)

// The servers on the page keep the contract that it describes.
func TestServersOfThePage(t *testing.T) {
	t.Parallel()
	python, err := prereq.FindTool("python3")
	prereq.Python.Need(t, err)
	all, err := doctest.Blocks("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		language, program string
		ready             launch.Ready
	}{{"bash", "sh", "http:/"}, {"python", python, launch.Line}} {
		found := 0
		for _, block := range doctest.In(c.language, all) {
			if block.Page != "docs/processes.md" {
				continue
			}
			found++
			script := filepath.Join(t.TempDir(), "server")
			if err := os.WriteFile(script, []byte(block.Text), 0o600); err != nil {
				t.Fatal(err)
			}
			s := spec("")
			s.Run, s.Env, s.Ready, s.Dir = []string{c.program, script}, nil, c.ready, filepath.Dir(script)
			p := begin(t, s)
			response, err := http.Get("http://" + p.Ready().Address + "/")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(io.Discard, response.Body); err != nil || response.StatusCode != http.StatusOK {
				t.Errorf("%s:%d answers %s, %v", block.Page, block.Line, response.Status, err)
			}
			response.Body.Close()
			stopped(t, p, nil)
			if p.Forced() {
				t.Errorf("%s:%d had to be killed", block.Page, block.Line)
			}
		}
		if found == 0 {
			t.Errorf("the page has no server in %s", c.language)
		}
	}
}
