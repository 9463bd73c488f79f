package main

import (
	"runtime"
	"runtime/debug"
)

// versionInfo is what "version --json" shows.
type versionInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"` // "of no commit" where it was built outside of one
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// version reads what the compiler put into the program.
func version() versionInfo {
	v := versionInfo{Version: "(devel)", Commit: "of no commit", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			v.Commit = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = ", changed since"
		}
	}
	v.Commit += dirty
	return v
}
