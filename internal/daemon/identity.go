package daemon

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"syscall"

	"wirelab/wire/status"
)

// Identity is who a server runs as; nil: as we do.
type Identity struct {
	name     string
	uid, gid uint32
}

// nobody is the user that every system has for what needs no rights.
const nobody = "nobody"

// Choose returns who the program, named for people, is to run as: no server needs to be root and some refuse,
// so root gives up being that for it. Own is the user that a package of the program's makes. NotFound if there
// is neither that user nor "nobody".
func Choose(program, own string) (*Identity, error) {
	if os.Geteuid() != 0 {
		return nil, nil //nolint:nilnil // nil means as we do
	}
	for _, name := range []string{own, nobody} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err1 := strconv.ParseUint(u.Uid, 10, 32)
		gid, err2 := strconv.ParseUint(u.Gid, 10, 32)
		if err := errors.Join(err1, err2); err != nil {
			return nil, fmt.Errorf("user %s: %w", name, err)
		}
		return &Identity{name: name, uid: uint32(uid), gid: uint32(gid)}, nil
	}
	return nil, status.Errorf(status.NotFound,
		"%s is not to run as root, and there is no user %s or %s to run it as; run as another user", program, own,
		nobody)
}

// Called is who the server runs as, for people.
func (i *Identity) Called() string {
	if i == nil {
		return "ourselves"
	}
	return i.name
}

// Chown gives a file to who the server runs as.
func (i *Identity) Chown(name string) error {
	if i == nil {
		return nil
	}
	return os.Chown(name, int(i.uid), int(i.gid))
}

// Bound are the attributes of a child that gets a signal when we die. A separate group keeps Ctrl-C at the
// terminal from it. Only the child itself gets the signal: what it starts must end by its doing.
func (i *Identity) Bound(death syscall.Signal) *syscall.SysProcAttr {
	return i.as(&syscall.SysProcAttr{Setpgid: true, Pdeathsig: death})
}

// Loose are the attributes of a child that outlives us.
func (i *Identity) Loose() *syscall.SysProcAttr {
	return i.as(&syscall.SysProcAttr{Setsid: true})
}

func (i *Identity) as(a *syscall.SysProcAttr) *syscall.SysProcAttr {
	if i != nil {
		a.Credential = &syscall.Credential{Uid: i.uid, Gid: i.gid}
	}
	return a
}

// Searched is the path that a child of ours looks for programs on.
const Searched = "/usr/local/bin:/usr/bin:/bin"

// Environment is all that a child of ours sees of the environment, and nothing
// of the caller's: a variable such as PGDATA, ERL_FLAGS or LC_ALL would change
// what it does.
func Environment(home string) []string {
	return []string{"PATH=" + Searched, "HOME=" + home, "LC_ALL=C", "TZ=UTC"}
}
