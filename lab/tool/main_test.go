package tool_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"wirelab/lab/tool"
)

// fake is the variable that makes the test program act as a tool: see [asTool].
const fake = "WIRELAB_TEST_FAKE"

func TestMain(m *testing.M) {
	if what := os.Getenv(fake); what != "" {
		asTool(what)
		return
	}
	os.Exit(m.Run())
}

// asTool makes a call and prints a report like wrk's, or fails, or does not end.
func asTool(what string) {
	switch what {
	case "fails":
		fmt.Fprintln(os.Stderr, "unable to connect")
		os.Exit(3)
	case "stays":
		time.Sleep(time.Hour)
	case "babbles":
		fmt.Println(strings.Repeat("not a report\n", 1<<18))
		return
	}
	url := os.Args[len(os.Args)-1]
	reply, err := http.Get(url) //nolint:noctx // it is a program
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = reply.Body.Close()
	for began := time.Now(); time.Since(began) < 20*time.Millisecond; { // use some CPU time that can be measured
		strconv.Itoa(len(os.Args))
	}
	fmt.Printf(`Running 1s test @ %s
  1 threads and 4 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.00ms    1.00ms   8.83ms   92.87%%
    Req/Sec     1.00k     1.00     3.31k    95.11%%
  1000 requests in 1.01s, 6.14MB read
`, url)
	if what == "wrong" {
		fmt.Println("  Non-2xx or 3xx responses: 7")
	}
	fmt.Printf("Requests/sec:   990.10\nTransfer/sec:    628.17KB\n")
}

// wrk returns the tool wrk, with the test program as its program.
func wrk(t *testing.T, what string) (tool.Tool, string) {
	t.Helper()
	by, err := tool.Named("wrk")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(folder, "wrk")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
	t.Setenv(fake, what)
	program, err := by.Find()
	if err != nil {
		t.Fatal(err)
	}
	return by, program
}
