// Package fault says in plain words what the operating system, and the libraries above it, say in theirs: a
// port that is in use, a file that is not there, a full disk, a server that does not answer. One fault has one
// text, whichever command meets it. It decides by an error's type; only where a library kept nothing but
// the text of what it met does a table of texts help. It knows no command.
package fault

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"wirelab/wire/status"
)

// Text is what err says, with the words of the system and of libraries in it replaced by plain ones.
func Text(err error) string {
	text := err.Error()
	if coded := new(status.Error); errors.As(err, &coded) {
		text = strings.ReplaceAll(text, coded.Error(), coded.Message) // codes are for programs
	}
	for _, plain := range []func(error) (theirs, ours string){ofProgram, ofNetwork, ofFile, ofTime} {
		if theirs, ours := plain(err); theirs != "" {
			text = strings.ReplaceAll(text, theirs, ours)
		}
	}
	return Plain(text)
}

// Listen is the error of an address that cannot be listened at. flag is what says the address: "--addr".
func Listen(address, flag string, err error) error {
	_, port, malformed := net.SplitHostPort(address)
	if n, wrong := strconv.ParseUint(port, 10, 16); malformed != nil || wrong != nil && n != 0 {
		return status.Errorf(status.InvalidArgument, "%s %.100q is not HOST:PORT, such as 127.0.0.1:8080", flag,
			address)
	}
	return status.Errorf(status.Unavailable, "cannot listen at %s: %s; choose another %s, or port 0 for any free one",
		address, listening(err), flag)
}

// listening says why an address cannot be listened at.
func listening(err error) string {
	name := new(net.DNSError)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return "another program uses this port"
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return "this machine does not have this address"
	case errors.Is(err, syscall.EACCES):
		return "no permission; ports below 1024 take root"
	case errors.As(err, &name):
		return "there is no host " + name.Name
	}
	return Text(err)
}

// ofProgram is of a program that cannot be run, or was ended.
func ofProgram(err error) (theirs, ours string) {
	missing := new(exec.Error)
	if errors.As(err, &missing) {
		if errors.Is(err, exec.ErrNotFound) {
			return missing.Error(), fmt.Sprintf("the program %s is not installed, or not on the PATH", missing.Name)
		}
		return missing.Error(), fmt.Sprintf("the program %s cannot be run: %v", missing.Name, missing.Err)
	}
	ended := new(exec.ExitError)
	if errors.As(err, &ended) {
		return ended.Error(), Ended(ended.ProcessState)
	}
	return "", ""
}

// Ended says how a process ended: "it ended with exit code 1", "it was killed (signal 9)".
func Ended(state *os.ProcessState) string {
	status, ok := state.Sys().(syscall.WaitStatus)
	if !ok || !status.Signaled() {
		return fmt.Sprintf("it ended with exit code %d", state.ExitCode())
	}
	return signalled(status.Signal())
}

func signalled(s syscall.Signal) string {
	switch s {
	case syscall.SIGKILL:
		return "it was killed (signal 9)"
	case syscall.SIGTERM:
		return "it was told to end (signal 15)"
	case syscall.SIGINT:
		return "it was interrupted (signal 2)"
	}
	return fmt.Sprintf("it ended by signal %d (%v)", int(s), s)
}

// ofNetwork is of a connection that cannot be had, or broke.
func ofNetwork(err error) (theirs, ours string) {
	operation := new(net.OpError)
	if !errors.As(err, &operation) {
		if name := new(net.DNSError); errors.As(err, &name) {
			return name.Error(), "there is no host " + name.Name
		}
		return "", ""
	}
	at := "it"
	if operation.Addr != nil {
		at = operation.Addr.String()
	}
	name := new(net.DNSError)
	switch {
	case errors.As(err, &name):
		return operation.Error(), "there is no host " + name.Name
	case operation.Op == "listen":
		return operation.Error(), fmt.Sprintf("cannot listen at %s: %s", at, inner(operation))
	case errors.Is(err, syscall.ECONNREFUSED):
		return operation.Error(), "nothing listens at " + at
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return operation.Error(), "there is no way to " + at
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return operation.Error(), at + " closed the connection"
	case operation.Timeout():
		return operation.Error(), at + " did not answer in time"
	case errors.Is(err, net.ErrClosed):
		return operation.Error(), "the connection is closed"
	}
	return "", ""
}

// inner is what [listening] says of an operation.
func inner(operation *net.OpError) string {
	if errors.Is(operation.Err, syscall.EADDRINUSE) || errors.Is(operation.Err, syscall.EADDRNOTAVAIL) ||
		errors.Is(operation.Err, syscall.EACCES) {
		return listening(operation.Err)
	}
	return operation.Err.Error()
}

// ofFile is of a file or a folder.
func ofFile(err error) (theirs, ours string) {
	path, link, call := new(fs.PathError), new(os.LinkError), new(os.SyscallError)
	switch {
	case errors.As(err, &path) && path.Path == os.Stdout.Name():
		return path.Error(), "cannot write to standard output: " + reason(path.Err)
	case errors.As(err, &path):
		return path.Error(), File(path.Path, path.Err)
	case errors.As(err, &link):
		return link.Error(), File(link.New, link.Err)
	case errors.As(err, &call):
		if says, ok := filing(call.Err); ok {
			return call.Error(), says
		}
	}
	return "", ""
}

// File says of a file or a folder what the system does.
func File(name string, err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no file or folder " + name
	case errors.Is(err, fs.ErrPermission):
		return "no permission for " + name
	case errors.Is(err, fs.ErrExist):
		return name + " is there already"
	}
	if says, ok := filing(err); ok {
		return name + ": " + says
	}
	return fmt.Sprintf("%s: %v", name, err)
}

// reason says what a system call met, in the words of [filing] where there are some.
func reason(err error) string {
	if says, ok := filing(err); ok {
		return says
	}
	return Text(err)
}

// filing says what a system call on a file met, where it has a name that people know.
func filing(err error) (string, bool) {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "the disk is full", true
	case errors.Is(err, syscall.EROFS):
		return "the disk is read-only", true
	case errors.Is(err, syscall.EISDIR):
		return "it is a folder, not a file", true
	case errors.Is(err, syscall.ENOTDIR):
		return "a part of this path is a file, not a folder", true
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "too many files are open; raise the limit (ulimit -n)", true
	case errors.Is(err, syscall.ENAMETOOLONG):
		return "the name is too long", true
	}
	return "", false
}

// ofTime is of what took too long.
func ofTime(err error) (theirs, ours string) {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return context.DeadlineExceeded.Error(), "no answer in time"
	case errors.Is(err, os.ErrDeadlineExceeded):
		return os.ErrDeadlineExceeded.Error(), "no answer in time"
	}
	return "", ""
}

// Write is the error of a file that cannot be written; err may be of a temporary file next to it.
func Write(name string, err error) error {
	reason := ""
	if says, ok := filing(err); ok {
		reason = says
	}
	switch {
	case reason != "":
	case errors.Is(err, fs.ErrNotExist):
		reason = "there is no folder " + filepath.Dir(name)
	case errors.Is(err, fs.ErrPermission):
		reason = "no permission"
	default:
		reason = Text(err)
	}
	return status.Errorf(status.Unavailable, "cannot write %s: %s", name, reason)
}

// Read is the error of a file that was named and cannot be read. flag says where it was named, or is "".
func Read(flag, name string, err error) error {
	if flag != "" {
		flag += ": "
	}
	code := status.Unavailable
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) || errors.Is(err, syscall.EISDIR) {
		code = status.NotFound
	}
	inner := err
	if path := new(fs.PathError); errors.As(err, &path) {
		inner = path.Err
	}
	return status.Errorf(code, "%s%s", flag, File(name, inner))
}
