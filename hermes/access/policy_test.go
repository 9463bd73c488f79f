package access_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"wirelab/hermes/access"
	"wirelab/internal/leaktest"
	"wirelab/wire/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(leaktest.Patient(m)) }

// write writes a file of the test's, whole at once for who looks at it.
func write(t testing.TB, file, text string) {
	t.Helper()
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// policy loads a policy of that text, which has "$name" for the hash of a token that
// is made for it.
func policy(t testing.TB, text string) (*access.Policy, *tokens) {
	t.Helper()
	all := &tokens{TB: t, file: filepath.Join(t.TempDir(), "policy.yaml"), made: map[string]string{}}
	all.write(text)
	p, err := access.Load(t.Context(), all.file)
	if err != nil {
		t.Fatal(err)
	}
	all.policy = p
	return p, all
}

// tokens are those of a policy's file.
type tokens struct {
	testing.TB
	file   string
	policy *access.Policy
	made   map[string]string
}

func (all *tokens) write(text string) {
	all.Helper()
	write(all, all.file, os.Expand(text, func(name string) string {
		if all.made[name] == "" {
			all.made[name], _ = access.NewToken()
		}
		return access.Hash(all.made[name])
	}))
}

// reload is a new text that is read.
func (all *tokens) reload(text string) {
	all.Helper()
	all.write(text)
	if changed, err := all.policy.Reload(all.Context()); err != nil || !changed {
		all.Fatal(changed, err)
	}
}

// as is a context of who shows the token of that name.
func (all *tokens) as(ctx context.Context, name string) context.Context {
	all.Helper()
	ctx, err := all.policy.Bearer(ctx, []string{"Bearer " + all.made[name]})
	if err != nil {
		all.Fatal(err)
	}
	return ctx
}

func refused(t testing.TB, what string, err error, code status.Code) {
	t.Helper()
	switch {
	case err == nil:
		t.Errorf("%s: nothing was wrong; want %v", what, code)
	case status.CodeOf(err) != code:
		t.Errorf("%s: %v; want %v", what, err, code)
	}
}

func TestPatterns(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern string
		covers  []string
		not     []string
	}{
		{"a", []string{"a"}, []string{"", "ab", "A"}},
		{"a.*", []string{"a.", "a.b", "a.b.c"}, []string{"a", "b.a."}},
		{"*", []string{"a", "hermes.dlq"}, nil},
		{"h*", []string{"h", "hermes", "hermes-x"}, []string{"hermes.dlq"}}, // dead letters are of all topics
		{"hermes*", []string{"hermes1"}, []string{"hermes.dlq"}},
		{"hermes.*", []string{"hermes.dlq"}, []string{"hermes"}},
		{"hermes.dlq", []string{"hermes.dlq"}, []string{"hermes.dlq2"}},
	} {
		for covered, topics := range map[bool][]string{true: c.covers, false: c.not} {
			for _, topic := range topics {
				if got, err := access.Covers(c.pattern, topic); err != nil || got != covered {
					t.Errorf("%s and %q: %v, %v", c.pattern, topic, got, err)
				}
			}
		}
	}
	for _, bad := range []string{
		"", "**", "*a", "a*b", "a**", ".a", ".*", "a b", "a/*", "a\x00", "é*",
		strings.Repeat("a", 250),
	} {
		if _, err := access.Covers(bad, "a"); err == nil {
			t.Errorf("%q is a pattern", bad)
		}
	}
}

// A fault is refused with its line and what would be right, and never shows what may be a token.
func TestWrongPolicies(t *testing.T) {
	t.Parallel()
	token, hash := access.NewToken()
	with := func(rest string) string {
		return "principals:\n  - name: a\n    tokens: [" + hash + "]\n" + rest
	}
	for _, c := range []struct{ what, text, says string }{
		{"nothing", "", "0"},
		{"only a comment", "# none", "0"},
		{"no principals", "{}", "needs principals"},
		{"an empty list", "principals: []", "p.yaml:1: principals has 0"},
		{"two documents", "principals: []\n---\nprincipals: []\n", "2"},
		{"no YAML", "principals: [", "p.yaml:1"},
		{
			"an unknown name at the top", "principal: []",
			"p.yaml:1: a policy: unknown name \"principal\"; did you mean " +
				"principals? Known: principals",
		},
		{
			"an unknown name", with("    publishes: [a]\n"),
			"p.yaml:4: a principal: unknown name \"publishes\"; did you mean " +
				"publish? Known: admin, cluster, metrics, name, publish, quota, subscribe, tokens",
		},
		{
			"an unknown quota", with("    quota: {messages: 1}\n"),
			"Known: bytes_per_second, groups, messages_per_second, " +
				"producers, subscriptions",
		},
		{"a token as a name", with("    " + token + ": 1\n"), "p.yaml:4"},
		{"another as a name", with("    " + strings.Repeat("t0ken", 10) + ": 1\n"), "p.yaml:4"},
		{"a name twice", with("    name: b\n"), "p.yaml:4"},
		{"no tokens", "principals:\n  - name: a\n", "needs tokens"},
		{"no name", "principals:\n  - tokens: [" + hash + "]\n", "needs name"},
		{
			"a token instead of its hash", "principals:\n  - name: a\n    tokens:\n      - " + token + "\n",
			"p.yaml:4: of a token only its hash",
		},
		{"a token that is a number", "principals:\n  - name: a\n    tokens: [1234567812345678]\n", "only its hash"},
		{"tokens that are no list", "principals:\n  - name: a\n    tokens: " + token + "\n", "p.yaml:3: tokens must " +
			"be a list"},
		{
			"a token for a name", "principals:\n  - name: " + token + " !\n    tokens: [" + hash + "]\n",
			"p.yaml:2: name: 1 to 60",
		},
		{
			"a token alone for a name", "principals:\n  - name: " + token + "\n    tokens: [" + hash + "]\n",
			"p.yaml:2: name: 1 to 60",
		},
		{"a token for a principal", token, "p.yaml:1"},
		{"a token for a pattern", with("    publish: [\"" + token + "/\"]\n"), "p.yaml:4: publish:"},
		{"a token for a right", with("    publish: " + token + "\n"), "p.yaml:4: publish must be a list"},
		{"a hash too short", "principals:\n  - name: a\n    tokens: [" + hash[:70] + "]\n", "only its hash"},
		{"a token of two", with("  - name: b\n    tokens: [" + hash + "]\n"), "a token of b is also one of a"},
		{
			"a principal twice", with("  - name: a\n    tokens: [" + access.Hash("x") + "]\n"),
			"principal a is here twice",
		},
		{
			"a pattern with * in the middle", with("    subscribe: [a*b]\n"),
			"p.yaml:4: subscribe: must be a topic's name, " +
				"or a beginning",
		},
		{"a * that is no text", with("    subscribe: [*]\n"), "p.yaml:4"},
		{"a number as a pattern", with("    admin: [1]\n"), "p.yaml:4: admin must be text"},
		{"null as a right", with("    admin:\n"), "admin must be a list"},
		{"cluster as text", with("    cluster: \"true\"\n"), "cluster must be true or false"},
		{"a quota of 0", with("    quota: {subscriptions: 0}\n"), "from 1"},
		{"a quota below 0", with("    quota: {subscriptions: -1}\n"), "from 1"},
		{"a share below 0", with("    quota: {groups: -1}\n"), "from 0"},
		{"a share beyond numbers", with("    quota: {producers: 4294967296}\n"), "from 0"},
		{"a quota with a fraction", with("    quota: {bytes_per_second: 1.5}\n"), "from 1"},
		{"a quota beyond numbers", with("    quota: {bytes_per_second: 99999999999999999999}\n"), "from 1"},
		{"an alias", "a: &x " + token + "\nprincipals: *x\n", "p.yaml:1"},
		{"a deep list", strings.Repeat("[", 10_000), "deep"},
		{"a deep list of dashes", strings.Repeat("- ", 10_000), "deep"},
	} {
		err := access.Parse("p.yaml", []byte(c.text))
		if err == nil {
			t.Errorf("%s is a policy", c.what)
			continue
		}
		refused(t, c.what, err, status.InvalidArgument)
		if !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v; want %q in it", c.what, err, c.says)
		}
		for _, secret := range []string{token, token[8:30], "t0ken", "1234567812345678"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: the error shows the token: %v", c.what, err)
			}
		}
	}
}

func TestLoad(t *testing.T) {
	t.Parallel()
	_, err := access.Load(t.Context(), filepath.Join(t.TempDir(), "none"))
	refused(t, "no file", err, status.NotFound)
	large := filepath.Join(t.TempDir(), "large")
	write(t, large, strings.Repeat("# \n", 1<<20))
	_, err = access.Load(t.Context(), large)
	refused(t, "a large file", err, status.InvalidArgument)
	_, err = access.Load(t.Context(), t.TempDir())
	if err == nil {
		t.Error("a directory is a policy")
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for range 100 {
		token, hash := access.NewToken()
		if seen[token] || len(token) < 64 || hash != access.Hash(token) || strings.Contains(hash, token[7:]) {
			t.Fatal(token, hash)
		}
		seen[token] = true
	}
	p, all := policy(t, "principals:\n  - {name: a, tokens: [$a, $a2]}\n  - {name: b, tokens: [$b]}\n")
	for token, name := range map[string]string{"a": "a", "a2": "a", "b": "b"} {
		who, err := p.Authenticate(all.made[token])
		if err != nil || who.Name() != name {
			t.Errorf("the token %s is of %v, %v", token, who, err)
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			if s := fmt.Sprintf(verb, who); len(s) > 30 {
				t.Errorf("%s shows %s", verb, s)
			}
		}
	}
	for what, values := range map[string][]string{
		"nothing":        nil,
		"two tokens":     {"Bearer " + all.made["a"], "Bearer " + all.made["b"]},
		"another scheme": {"Basic " + all.made["a"]},
		"no scheme":      {all.made["a"]},
		"no token":       {"Bearer "},
		"an empty value": {""},
		"a wrong token":  {"Bearer " + all.made["a"] + "0"},
		"a hash":         {"Bearer " + access.Hash(all.made["a"])},
		"half a token":   {"Bearer " + all.made["a"][:30]},
	} {
		ctx, err := p.Bearer(t.Context(), values)
		refused(t, what, err, status.Unauthenticated)
		if strings.Contains(err.Error(), all.made["a"][:20]) {
			t.Errorf("%s: the error shows the token: %v", what, err)
		}
		if who, ok := access.From(ctx); ok {
			t.Errorf("%s: the caller is %v", what, who)
		}
	}
	ctx, err := p.Bearer(t.Context(), []string{"bearer  " + all.made["b"]})
	if who, ok := access.From(ctx); err != nil || !ok || who.Name() != "b" {
		t.Error(who, ok, err)
	}
	if _, ok := access.From(access.With(t.Context(), access.Principal{})); ok {
		t.Error("no one is a principal")
	}
}

func FuzzParse(f *testing.F) {
	_, hash := access.NewToken()
	f.Add([]byte("principals:\n  - name: a\n    tokens: [" + hash + "]\n    publish: [\"*\"]\n    cluster: true\n    " +
		"quota: {subscriptions: 1}\n"))
	f.Add([]byte("principals: [{name: a, tokens: []}]\n"))
	f.Add([]byte("a: &b [*b]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		err := access.Parse("p.yaml", text)
		if err != nil && status.CodeOf(err) != status.InvalidArgument {
			t.Error(err)
		}
	})
}

func BenchmarkAuthenticate(b *testing.B) {
	var text strings.Builder
	text.WriteString("principals:\n")
	for i := range 1000 {
		fmt.Fprintf(&text, "  - {name: p%d, tokens: [$p%d]}\n", i, i)
	}
	p, all := policy(b, text.String())
	for b.Loop() {
		if _, err := p.Authenticate(all.made["p500"]); err != nil {
			b.Fatal(err)
		}
	}
}

// Of topics a principal sees the numbers where it sees the topic, of groups where it may read them, and with
// the right metrics of all.
func TestNumbers(t *testing.T) {
	t.Parallel()
	p, all := policy(t, `principals:
  - {name: shop, tokens: [$shop], publish: [orders], subscribe: [stock.*], admin: [shop.*]}
  - {name: prometheus, tokens: [$prometheus], metrics: true}
  - {name: none, tokens: [$none]}
`)
	for _, c := range []struct {
		who, topic    string
		itself, group bool
	}{
		{"shop", "orders", true, false},
		{"shop", "stock.a", true, true},
		{"shop", "shop.a", true, true},
		{"shop", "secret", false, false},
		{"prometheus", "secret", true, true},
		{"none", "orders", false, false},
		{"", "orders", false, false},
	} {
		ctx := t.Context()
		if c.who != "" {
			who, err := p.Authenticate(all.made[c.who])
			if err != nil {
				t.Fatal(err)
			}
			ctx = access.With(ctx, who)
		}
		topic, groups := p.Numbers(ctx)
		if topic(c.topic) != c.itself || groups(c.topic) != c.group {
			t.Errorf("%q sees numbers of %s: %v, and of its groups: %v", c.who, c.topic, topic(c.topic),
				groups(c.topic))
		}
	}
}
