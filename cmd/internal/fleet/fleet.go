// Package fleet is the commands and flags of experiments over several machines. It knows how a person names hosts and
// keys, and must not know how orders travel: package lab/hosts does.
package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/spf13/pflag"

	"wirelab/cmd/internal/cli"
	"wirelab/cmd/internal/desk"
	"wirelab/lab/experiment"
	"wirelab/lab/hosts"
	"wirelab/lab/plan"
)

// access has the flags that say how NATS is reached.
type access struct{ url, key, authority string }

func (f *access) register(flags *pflag.FlagSet, name, about string) {
	flags.StringVar(&f.url, name, "", about)
	flags.StringVar(&f.key, "key", "",
		"`file` with the key of NATS: a password, USER:PASSWORD or the seed of an NKey; needed beyond this machine")
	flags.StringVar(&f.authority, "ca", "", "`file` with the authority that NATS's certificate is of (default: the system's)")
}

// keyLimit is the most bytes that the file of a key, or of an authority, may have.
const keyLimit = 64 << 10

// connect connects to NATS.
func (f *access) connect(ctx context.Context, d *desk.Desk, name string, lasting bool) (*nats.Conn, error) {
	to := hosts.Access{URL: f.url, Name: name, Lasting: lasting}
	for _, file := range []struct {
		flag, path string
		into       *string
	}{{"--key", f.key, &to.Key}, {"--ca", f.authority, &to.Authority}} {
		if file.path == "" {
			continue
		}
		text, err := d.ReadFile(ctx, file.flag, file.path, keyLimit)
		if err != nil {
			return nil, err
		}
		*file.into = strings.TrimSpace(string(text))
	}
	return hosts.Connect(ctx, to)
}

// Flags are those that an experiment over hosts has.
type Flags struct {
	access
	servers, drivers []string
}

// Register adds them.
func (f *Flags) Register(flags *pflag.FlagSet) {
	flags.StringVar(&f.url, "hosts", "", "run on the hosts at this `URL`; wirelab hosts --help")
	flags.StringSliceVar(&f.servers, "servers", nil, "`hosts` for servers, by name (default: all that joined as servers)")
	flags.StringSliceVar(&f.drivers, "drivers", nil,
		"`hosts` to divide the load among, by name (default: all that joined as drivers)")
	flags.StringVar(&f.key, "hosts-key", "", "`file` with the key of NATS; see wirelab host")
	flags.StringVar(&f.authority, "hosts-ca", "", "`file` with the authority that NATS's certificate is of")
	// The help of an experiment is long. That of wirelab hosts has these.
	for _, name := range []string{"servers", "drivers", "hosts-key", "hosts-ca"} {
		if err := flags.MarkHidden(name); err != nil {
			panic(err) // the flags are defined above
		}
	}
}

// Apply puts them into a plan.
func (f *Flags) Apply(p plan.Plan) (plan.Plan, error) {
	if f.url == "" {
		for name, given := range map[string]bool{
			"servers": len(f.servers) > 0, "drivers": len(f.drivers) > 0, "hosts-key": f.key != "",
			"hosts-ca": f.authority != "",
		} {
			if given {
				return p, cli.Usage("--%s: give --hosts too, where the hosts joined", name)
			}
		}
		return p, nil
	}
	p.Hosts.Joined = true
	if len(f.servers) > 0 {
		p.Hosts.Servers = f.servers
	}
	if len(f.drivers) > 0 {
		p.Hosts.Drivers = f.drivers
	}
	for _, name := range slices.Concat(p.Hosts.Servers, p.Hosts.Drivers) {
		if err := hosts.CheckName(name); err != nil {
			return p, cli.Usage("%s", desk.Describe(err))
		}
	}
	return p, nil
}

// Use puts them into a plan and connects to its hosts, unless dry. The program's end closes the connection.
func (f *Flags) Use(ctx context.Context, d *desk.Desk, p plan.Plan, dry bool) (plan.Plan, error) {
	p, err := f.Apply(p)
	if err != nil || dry || f.url == "" {
		return p, err
	}
	build, err := ThisBuild()
	if err != nil {
		return p, err
	}
	nc, err := f.connect(ctx, d, "wirelab runner", false)
	if err == nil {
		d.Fleet = hosts.NewFleet(nc, build)
	}
	return p, err
}

// ThisBuild is what hosts compare with theirs.
func ThisBuild() (hosts.Build, error) {
	path, err := experiment.Program()
	if err != nil {
		return hosts.Build{}, err
	}
	program, err := os.Open(path)
	if err != nil {
		return hosts.Build{}, fmt.Errorf("this program: %w", err)
	}
	defer func() { _ = program.Close() }() // it was only read
	sum := sha256.New()
	if _, err := io.Copy(sum, program); err != nil {
		return hosts.Build{}, fmt.Errorf("this program: %w", err)
	}
	b := cli.ThisBuild()
	build := hosts.Build{Version: b.Version, Program: hex.EncodeToString(sum.Sum(nil))}
	if !b.Dirty {
		build.Commit = b.Commit
	}
	return build, nil
}
