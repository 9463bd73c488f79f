package main

import (
	"slices"
	"strings"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/lab/plan"
	"wirelab/lab/result"
	"wirelab/lab/tool"
)

// toolCarries tells why another load generator cannot drive an arm, as far as that is known before it has seen a
// request.
func toolCarries(cell wirelab.Cell, arm plan.Arm, operations []string) error {
	if arm.Null() && (cell.Null == nil || arm.Inject != "" || arm.Database != "") {
		return cli.Usage("server=%s: no null responder speaks %s, or it is to do more than nothing; leave server= out, "+
			"or inject= and db=", arm.Server, arm.Protocol)
	}
	if arm.Tool() == "" {
		return nil
	}
	if cell.Protocol.Secure || cell.Protocol.Network != "tcp" || strings.HasPrefix(arm.Target, "unix:") {
		return cli.Usage("driver=%s calls over TCP without TLS only, and so not %s", arm.Driver, arm.Protocol)
	}
	for _, o := range operations {
		if slices.Contains(cell.Fresh, o) {
			return cli.Usage("driver=%s repeats one request, and each of %s may be made once only", arm.Driver, o)
		}
	}
	_, err := tool.Named(arm.Tool())
	return err
}

// describeDriver says of an arm who calls, and of a server that does nothing that it is that.
func describeDriver(described *result.Arm, arm plan.Arm) {
	if arm.Raw() {
		described.Driver, described.Client = plan.DriverRaw, plan.DriverRaw
	}
	if arm.Null() {
		described.Server = nullResponder
	}
	if name := arm.Tool(); name != "" {
		described.Driver, described.Client = arm.Driver, name
		described.Floorless = name + " tells no times to compare with a floor"
	}
}

// nullResponder is what a server that does nothing is called.
const nullResponder = "null responder"

// lacksTool says why the load generator that drives an arm cannot be had here, and what to do about it; "" if it can.
func lacksTool(arm plan.Arm) (string, error) {
	if arm.Tool() == "" {
		return "", nil
	}
	by, err := tool.Named(arm.Tool())
	if err != nil {
		return "", err
	}
	if _, err = by.Find(); err != nil && wirelab.CodeOf(err) == wirelab.NotFound {
		return describe(err), nil
	}
	return "", err
}
