// Package wholefile writes files so that no reader sees half of one. It knows files, and must not know what is in them.
package wholefile

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"wirelab/internal/fault"
)

// Name converts an id, which may come from a file of unknown origin, to one word without a path.
func Name(id string) string {
	name := strings.Trim(strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' {
			return c
		}
		return '-'
	}, id), "-")
	if name == "" {
		return "report"
	}
	return name
}

// IsFolder reports whether a folder has that name.
func IsFolder(name string) bool {
	info, err := os.Stat(name)
	return name != "" && err == nil && info.IsDir()
}

// Write writes a file so that a reader sees the old one or all of the new one.
func Write(name string, write func(io.Writer) error) error {
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		return fault.Write(name, syscall.EISDIR)
	}
	// A device or a pipe is written to, and not replaced by a file.
	if err == nil && !info.Mode().IsRegular() {
		var text bytes.Buffer
		if err := write(&text); err != nil {
			return err
		}
		if err := os.WriteFile(name, text.Bytes(), 0o644); err != nil {
			return fault.Write(name, err)
		}
		return nil
	}
	temporary, err := os.CreateTemp(filepath.Dir(name), ".wirelab-*")
	if err != nil {
		return fault.Write(name, err)
	}
	// Not by way of memory: a report may be larger than the result that it is of.
	out := bufio.NewWriterSize(temporary, 256<<10)
	made := write(out)
	err = fault.Both(out.Flush(), fault.Both(temporary.Chmod(0o644), temporary.Close()))
	if made == nil && err == nil {
		err = os.Rename(temporary.Name(), name)
	}
	switch {
	case err != nil: // what could not be made may be so because of it
		return fault.Both(fault.Write(name, err), os.Remove(temporary.Name()))
	case made != nil:
		return fault.Both(made, os.Remove(temporary.Name()))
	}
	return nil
}
