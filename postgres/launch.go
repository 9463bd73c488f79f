package postgres

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"

	"wirelab"
)

// identity is who a server runs as; nil: as we do.
type identity struct {
	name     string
	uid, gid uint32
}

// chooseIdentity returns who a server is to run as: PostgreSQL refuses to run
// as root, so root gives up being that for it.
func chooseIdentity() (*identity, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // nil means as we do
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		return &identity{name: name, uid: uint32(uid), gid: uint32(gid)}, nil
	}
	return nil, wirelab.Errorf(wirelab.NotFound,
		"PostgreSQL does not run as root, and there is no user postgres or nobody to run it as; run as another user")
}

// chown gives a file to who the server runs as.
func (i *identity) chown(name string) error {
	if i == nil {
		return nil
	}
	return os.Chown(name, int(i.uid), int(i.gid))
}

// attributes are how a child is started. A group of its own keeps Ctrl-C at the
// terminal from it. Unless it is to outlive us it dies with us, by a signal on
// which it ends its own children at once, without a checkpoint.
func (i *identity) attributes(outlive bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{}
	if outlive {
		a.Setsid = true
	} else {
		a.Setpgid, a.Pdeathsig = true, syscall.SIGQUIT
	}
	if i != nil {
		a.Credential = &syscall.Credential{Uid: i.uid, Gid: i.gid}
	}
	return a
}

// environment is all that a child of ours sees of the environment: of the
// caller's, a variable such as PGDATA or LC_ALL would change what it does.
func environment(home string) []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "LC_ALL=C", "TZ=UTC"}
}

// initialise makes the data directory. The text order is that of bytes, the
// same on every host, and Go's. Checksums find a damaged page.
//
// What is temporary need not survive a loss of power, and so is not waited for:
// that is about its making, what is committed later is on disk.
func initialise(bin string, d directory, as *identity, password string, all []Setting, temporary bool) (err error) {
	// A file, because a command line can be read by everybody.
	secret := filepath.Join(string(d), "password")
	if err := os.WriteFile(secret, []byte(password+"\n"), 0o600); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Remove(secret)) }()
	if err := as.chown(secret); err != nil {
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
	command.Dir, command.Env, command.SysProcAttr = string(d), environment(string(d)), as.attributes(false)
	if said, err := command.CombinedOutput(); err != nil {
		where := ""
		if as != nil {
			where = fmt.Sprintf(" (run as %s, who must be able to enter %s; TMPDIR chooses another place)", as.name, filepath.Dir(string(d)))
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
