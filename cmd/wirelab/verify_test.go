package main

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"wirelab/cmd/internal/desk"
	"wirelab/lab/result/resulttest"
	"wirelab/results/report/verify"
	"wirelab/results/store"
)

// What a real experiment printed and stored holds; a file in which a figure
// was changed does not, and the place is named.
func TestVerify(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	c := compared(t)
	dir, text := c.dir, []byte(c.stdout)
	file := filepath.Join(dir, "result.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	s := c.shell(t)
	o := s.run("verify", "latest", file)
	o.wants(t, desk.ExitOK, []string{
		"latest (r-", ": holds\n", "checked      digest sha256:",
		"checked      order: the slices of all 8 trials ran as seed 11 gives", "lines of the report made again",
	}, nil)
	if strings.Contains(o.stdout, "not checked") {
		t.Errorf("something was not checked:\n%s", o.stdout)
	}
	// Of the result alone, the report cannot be checked.
	var document struct{ Result json.RawMessage }
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	alone := string(document.Result)
	s.runWith(t.Context(), alone, "verify", "-").wants(t, desk.ExitOK,
		[]string{"holds, as far as it can be checked", "not checked  the digest"}, nil)

	var v []verify.Verification
	edited := bytes.Replace(text, []byte(`"order": [`), []byte(`"order": [ 99,`), 1)
	o = s.runWith(t.Context(), string(edited), "verify", "-", "--json")
	if err := json.Unmarshal([]byte(o.stdout), &v); err != nil || o.code != 1 || len(v) != 1 ||
		len(v[0].Differences) < 3 {
		t.Fatalf("%v, exit code %d: %.2000s", err, o.code, o.stdout)
	}
	for i, path := range []string{"digest", "result.rounds[0].trials[0].order"} {
		if v[0].Differences[i].Path != path {
			t.Errorf("difference %d is at %s, want %s", i, v[0].Differences[i].Path, path)
		}
	}
	for edit, says := range map[string]string{
		"":                           "file: not a result",
		"{":                          "file: not a result",
		`{"result": {"schema": 1}}`:  "result: id",
		`{"schema": 1, "rounds": 7}`: "result: not a result",
	} {
		s.runWith(t.Context(), edit, "verify", "-").wants(t, 1, []string{says}, nil)
	}
	s.runWith(t.Context(), `{"result": {"schema": 99, "id": "r-x"}}`, "verify", "-").wants(t, desk.ExitUsage, nil,
		[]string{"schema 99"})
	s.run("verify", filepath.Join(dir, "absent.json")).wants(t, desk.ExitUsage, nil, []string{"absent.json"})
	s.run("verify", "r-1999").wants(t, desk.ExitUsage, nil, []string{"no result"})
	s.run("verify").wants(t, desk.ExitUsage, nil, []string{"needs ids or files"})
}

// A change in the store is found too: the body, the digest, and
// what lists show.
func TestVerifyStore(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, c := range map[string]struct {
		column string
		edit   func(t *testing.T, body []byte) any
		says   string
	}{
		"a body edited and packed again": {"body", func(t *testing.T, body []byte) any {
			t.Helper()
			plain, err := store.UnpackText(body)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			w := gzip.NewWriter(&out)
			if _, err := w.Write(bytes.Replace(plain, []byte(`"host":"lab"`), []byte(`"host":"den"`), 1)); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			return out.Bytes()
		}, "digest: the raw data, or the digest, was edited"},
		"a damaged body": {
			"body", func(_ *testing.T, body []byte) any { return body[:len(body)/2] },
			"result: not a packed result",
		},
		"the digest": {
			"digest", func(*testing.T, []byte) any { return "sha256:00" },
			"digest: the raw data, or the digest, was edited",
		},
		"the list": {"rounds", func(*testing.T, []byte) any { return 99 }, "list.rounds: stored 99, computed 12"},
		"no digest": {
			"digest", func(*testing.T, []byte) any { return "" },
			"not checked  the digest: there is none",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newShell(t)
			s.run("results", "import", resultFile(t, resulttest.Short(12))).wants(t, desk.ExitOK, nil, nil)
			s.run("verify", "latest").wants(t, desk.ExitOK, []string{"holds"}, nil)
			db, err := sql.Open("sqlite", s.env["WIRELAB_STORE"])
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			var body []byte
			if err := db.QueryRowContext(t.Context(), "SELECT body FROM results").Scan(&body); err != nil {
				t.Fatal(err)
			}
			if _, err := db.ExecContext(t.Context(), "UPDATE results SET "+c.column+" = ?",
				c.edit(t, body)); err != nil {
				t.Fatal(err)
			}
			code := 1
			if strings.HasPrefix(c.says, "not checked") {
				code = desk.ExitOK
			}
			s.run("verify", "latest").wants(t, code, []string{c.says}, nil)
		})
	}
}
