package postgres

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"wirelab/internal/daemon"
)

// attributes are how a child is started. Unless it is to outlive us it dies with
// us, by a signal on which it ends its own children at once, without a
// checkpoint.
func attributes(as *daemon.Identity, outlive bool) *syscall.SysProcAttr {
	if outlive {
		return as.Loose()
	}
	return as.Bound(syscall.SIGQUIT)
}

// initialise makes the data directory. The text order is that of bytes, the
// same on every host, and Go's. Checksums find a damaged page.
//
// Temporary data need not survive a loss of power, and so is not waited for: that is about its making, later
// commits are on disk.
func initialise(bin string, d directory, as *daemon.Identity, password string, all []Setting,
	temporary bool,
) (err error) {
	// A file, because a command line can be read by every caller.
	secret := filepath.Join(string(d), "password")
	if err := os.WriteFile(secret, []byte(password+"\n"), 0o600); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(secret)) }()
	if err := as.Chown(secret); err != nil {
		return err
	}
	arguments := []string{
		"--pgdata", d.data(), "--username", owner, "--pwfile", secret, "--auth", "scram-sha-256",
		"--encoding", "UTF8", "--locale", "C", "--data-checksums", "--no-instructions",
	}
	if temporary {
		arguments = append(arguments, "--no-sync")
	}
	command := exec.Command(filepath.Join(bin, "initdb"), arguments...)
	command.Dir, command.Env, command.SysProcAttr = string(d), daemon.Environment(string(d)), attributes(as, false)
	if said, err := command.CombinedOutput(); err != nil {
		where := ""
		if as != nil {
			where = fmt.Sprintf(" (run as %s, who must be able to enter %s; TMPDIR chooses another place)", as.Called(),
				filepath.Dir(string(d)))
		}
		return fmt.Errorf("initdb: %w%s: %s", err, where, lastLine(said))
	}
	f, err := os.OpenFile(filepath.Join(d.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("\n# wirelab's, over all above\n" + configuration(all))
	return errors.Join(err, f.Close())
}

// lastLine returns the last line that is not empty.
func lastLine(text []byte) string {
	last := ""
	for i, start := 0, 0; i <= len(text); i++ {
		if i == len(text) || text[i] == '\n' {
			if i > start {
				last = string(text[start:i])
			}
			start = i + 1
		}
	}
	return last
}
