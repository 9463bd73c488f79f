package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Build is what the compiler recorded in a program.
type Build struct {
	Version  string            `json:"version"`
	Commit   string            `json:"commit,omitempty"`
	Time     string            `json:"time,omitempty"` // of the commit
	Dirty    bool              `json:"dirty,omitempty"`
	Go       string            `json:"go"`
	Platform string            `json:"platform"`
	Modules  map[string]string `json:"-"` // the built-in modules and their versions
}

// ThisBuild reads what the compiler recorded in this program.
func ThisBuild() Build {
	b := Build{
		Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
		Modules: map[string]string{},
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Version != "" {
		b.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Dirty = s.Value == "true"
		}
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Modules[m.Path] = m.Version
	}
	return b
}

// CommitText writes the commit in words.
func (b Build) CommitText() string {
	switch {
	case b.Commit == "":
		return "of no commit"
	case b.Dirty:
		return b.Commit + ", changed since"
	}
	return b.Commit
}

// About returns the line that --version prints: "wirelab v1.2.0 (COMMIT), go1.26, linux/amd64".
func (b Build) About(program string) string {
	return fmt.Sprintf("%s %s (%s), %s, %s", program, b.Version, b.CommitText(), b.Go, b.Platform)
}
