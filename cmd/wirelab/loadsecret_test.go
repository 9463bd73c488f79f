package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"wirelab/cmd/internal/desk"
)

// secretsOf are values that must be nowhere, by where they were given.
var secretsOf = map[string]string{ // read only
	"typed header": "tYp3d-h34der'\"&secret", "header": "h34d-env-0123456789", "body": "b0dy \"env\"/é+x",
	"query": "qu3ry&env=#1 2", "path": "p4th-env?",
	"typed query": "tYp3d-qu3ry-012345", "short": "pq7",
}

// nowhere fails where a text has a secret, or a half of one: also as URLs, JSON and HTML have it.
func nowhere(t *testing.T, where, text string) {
	t.Helper()
	for given, secret := range secretsOf {
		quoted, _ := json.Marshal(secret)
		halves := []string{secret}
		if len(secret) > 12 {
			halves = append(halves, secret[:len(secret)/2+1], secret[len(secret)/2-1:])
		}
		for _, form := range append(halves, url.QueryEscape(secret), url.PathEscape(secret),
			strings.Trim(string(quoted), `"`)) {
			if at := strings.Index(text, form); at >= 0 && (given != "short" || strings.Contains(text, "Pin: "+form)) {
				t.Errorf("%s has the secret of the %s: …%q…", where, given,
					text[max(0, at-80):min(len(text), at+len(form)+40)])
			}
		}
	}
}

// Secrets appear in nothing that is printed or stored, also if the server repeats them.
func TestSecretsAreNowhere(t *testing.T) {
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		said := fmt.Sprintf(`{"you": %q, "token": %q, "sent": %q, "at": %q`, r.Header.Get("Authorization"),
			r.Header.Get("X-Token"), body, r.URL.String())
		if n.Add(1)%500 == 0 { // wrong, and long before the secrets
			said = strings.Repeat(" ", 150) + said + `, "more": "` + r.Header.Get("Authorization") + `"`
		}
		if n.Load()%700 == 0 {
			w.WriteHeader(http.StatusTeapot)
		}
		fmt.Fprint(w, said+"}")
	}))
	t.Cleanup(server.Close)
	s := newShell(t)
	for name, given := range map[string]string{"TOKEN": "header", "BODY": "body", "QUERY": "query", "PART": "path"} {
		s.set(name + "=" + secretsOf[given])
	}
	typed := func(more ...string) []string {
		return append([]string{
			"load", server.URL + "/items/${PART}?q=${QUERY}&api_key=" + url.QueryEscape(secretsOf["typed query"]),
			"-H", "Authorization: Bearer " + secretsOf["typed header"], "-H", "X-Token: ${TOKEN}", "-H",
			"Pin: " + secretsOf["short"],
			"-d", `{"password": "${BODY}"}`,
		}, more...)
	}
	dry := s.run(typed("--dry-run")...)
	nowhere(t, "--dry-run", dry.stdout+dry.stderr)
	if dry.code != desk.ExitOK || n.Load() != 0 ||
		!strings.Contains(dry.stdout, "POST /items/(secret)?q=(secret)&api_key=(secret)") {
		t.Errorf("--dry-run: %d, %d requests\n%s%s", dry.code, n.Load(), dry.stdout, dry.stderr)
	}
	for by, form := range map[string]string{"client": "--json", "raw": "--full"} {
		n.Store(0) // the calls before the measured ones must be right
		o := s.run(typed(form, "--driver", by, "--rounds", "1", "--max-rounds", "1", "--slices", "3", "--slice",
			"200ms", "--seed", "1", "--certificate", "none")...)
		nowhere(t, by, o.stdout+o.stderr)
		if !strings.Contains(o.stdout, "wrong") || !strings.Contains(o.stdout, "418") {
			t.Errorf("%s: no reply was wrong:\n%s%s", by, o.stdout, o.stderr)
		}
	}
	listed := s.run("results", "list")
	nowhere(t, "list", listed.stdout)
	ids := regexp.MustCompile(`r-[0-9]{8}-[0-9]{6}-[0-9a-f]+`).FindAllString(listed.stdout, -1)
	if len(ids) != 2 {
		t.Fatalf("%d results are listed, want 2:\n%s", len(ids), listed.stdout)
	}
	for _, id := range ids {
		for _, args := range [][]string{
			{"results", "show", id, "--full"},
			{"results", "export", id},
			{"results", "show", id, "--json"},
			{"report", id, "--format", "html", "-o", "-"},
			{"report", id, "--format", "markdown", "-o", "-"},
			{"report", id, "--format", "csv", "-o", "-"},
			{"report", id, "--format", "jmh", "-o", "-"},
		} {
			o := s.run(args...)
			nowhere(t, strings.Join(args, " "), o.stdout+o.stderr)
			if len(o.stdout) == 0 || strings.Contains(o.stderr, "unknown") {
				t.Errorf("%v: %d %s%s", args, o.code, o.stdout, o.stderr)
			}
		}
	}
	files, err := filepath.Glob(s.env["WIRELAB_STORE"] + "*")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		nowhere(t, filepath.Base(file), string(data))
	}
}
