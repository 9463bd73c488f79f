package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/spf13/pflag"
)

// settings are a node's.
func settings(t *testing.T) (*config, *pflag.FlagSet) {
	t.Helper()
	c, flags := new(config), pflag.NewFlagSet("server", pflag.ContinueOnError)
	c.register(flags)
	return c, flags
}

// another is a value of a flag that is not its default.
func another(f *pflag.Flag) []string {
	switch f.Value.Type() {
	case "uint64", "int":
		return []string{"7"}
	case "bool":
		return []string{"true"}
	case "duration":
		return []string{"123ms"}
	case "size":
		return []string{"3MiB"}
	case "stringArray":
		return []string{"1@a:1,b:2,c:3", "2@d:4"}
	}
	return []string{"else"}
}

// Each setting is read from a flag, the environment and the file alike, and the flag
// goes before the environment, and that before the file.
func TestSettingsAreRead(t *testing.T) {
	_, flags := settings(t)
	n := 0
	eachSetting(flags, func(f *pflag.Flag) {
		n++
		t.Run(f.Name, func(t *testing.T) {
			values := another(f)
			want, wanted := settings(t)
			for _, v := range values {
				if err := wanted.Parse([]string{"--" + f.Name + "=" + v}); err != nil {
					t.Fatal(err)
				}
			}
			data, err := yaml.Marshal(map[string]any{key(f.Name): values})
			if len(values) == 1 {
				data, err = yaml.Marshal(map[string]any{key(f.Name): values[0]})
			}
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(t.TempDir(), "settings.yaml")
			if err := os.WriteFile(file, data, 0o600); err != nil {
				t.Fatal(err)
			}
			check := func(how string, env map[string]string, args ...string) {
				got, flags := settings(t)
				if err := flags.Parse(args); err != nil {
					t.Fatal(err)
				}
				a := &app{getenv: func(name string) string { return env[name] }}
				if err := a.settle(t.Context(), flags); err != nil {
					t.Errorf("%s: %v", how, err)
				}
				if fmt.Sprint(*got) != fmt.Sprint(*want) {
					t.Errorf("%s: %+v, not %+v", how, *got, *want)
				}
			}
			check("the environment", map[string]string{variable(f.Name): strings.Join(values, " ")})
			check("the file", nil, "--config", file)
			check("the file of the environment", map[string]string{"HERMES_CONFIG": file})
			check("the environment before the file", map[string]string{variable(f.Name): strings.Join(values, " ")},
				"--config",
				other(t, f))
			flag := []string{"--config", other(t, f)}
			for _, v := range values {
				flag = append(flag, "--"+f.Name+"="+v)
			}
			check("a flag before both", map[string]string{variable(f.Name): "nonsense"}, flag...)
		})
	})
	if n < 25 {
		t.Errorf("there are %d settings: the test looks for the wrong thing", n)
	}
}

// other is a file in which the setting has a value that cannot be.
func other(t *testing.T, f *pflag.Flag) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "other.yaml")
	if err := os.WriteFile(file, []byte(key(f.Name)+": nonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Every flag of a node is a setting, so that none can only be typed.
func TestEveryFlagIsASetting(t *testing.T) {
	_, flags := settings(t)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Annotations[markSetting] == nil && f.Name != configFlag {
			t.Errorf("--%s is no setting", f.Name)
		}
	})
}

// The file that "hermes config" prints, with its comments taken off, is read, and says the defaults.
func TestSampleIsRead(t *testing.T) {
	out := must(t, nil, "", "config")
	var lines []string
	for line := range strings.SplitSeq(out, "\n") {
		if name, _, ok := strings.Cut(strings.TrimPrefix(line, "# "), ": "); ok && !strings.ContainsAny(name, " $-") {
			lines = append(lines, strings.TrimPrefix(line, "# "))
		}
	}
	file := filepath.Join(t.TempDir(), "settings.yaml")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	want, flags := settings(t)
	n := 0
	eachSetting(flags, func(*pflag.Flag) { n++ })
	if len(lines) != n {
		t.Errorf("of %d settings the sample has %d: %q", n, len(lines), lines)
	}
	got, flags := settings(t)
	if err := flags.Parse([]string{"--config", file}); err != nil {
		t.Fatal(err)
	}
	if err := (&app{getenv: func(string) string { return "" }}).settle(t.Context(), flags); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(*got) != fmt.Sprint(*want) {
		t.Errorf("the sample says %+v, not %+v", *got, *want)
	}
}

func TestSizes(t *testing.T) {
	for text, want := range map[string]size{
		"0": 0, "17": 17, "64KiB": 64 << 10, "3 MiB": 3 << 20, "1GiB": 1 << 30,
		"2TiB": 2 << 40,
	} {
		var s size
		if err := s.Set(text); err != nil || s != want {
			t.Errorf("%s is %d, %v", text, s, err)
		}
		var again size
		if err := again.Set(s.String()); err != nil || again != s {
			t.Errorf("%s is written %s", text, s.String())
		}
	}
	for _, text := range []string{"", "-1", "1.5GiB", "1GB", "9999999999TiB", "MiB"} {
		var s size
		if err := s.Set(text); err == nil {
			t.Errorf("%q is read as %d", text, s)
		}
	}
}

// TLS between nodes is all of it or none.
func TestTLSBetweenNodes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pair keyPair
		says string
	}{
		"none":                {keyPair{}, ""},
		"no key":              {keyPair{cert: "c"}, "both"},
		"no certificate":      {keyPair{ca: "a"}, "both"},
		"a file that is none": {keyPair{cert: "/nowhere/c", key: "/nowhere/k", ca: "/nowhere/a"}, "/nowhere/c"},
	} {
		made, err := (&config{peerTLS: c.pair}).forPeers(t.Context(), nil)
		if made != nil || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v", name, made, err)
		}
	}
}
