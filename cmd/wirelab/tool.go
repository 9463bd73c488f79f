package main

import (
	"strings"

	"wirelab"
	"wirelab/cmd/internal/cli"
	"wirelab/lab/plan"
	"wirelab/lab/tool"
)

// toolCarries tells why another load generator cannot drive an arm, as far as that is known before it has seen a
// request.
func toolCarries(cell wirelab.Cell, arm plan.Arm) error {
	if arm.Tool() == "" {
		return nil
	}
	if cell.Protocol.Secure || cell.Protocol.Network != "tcp" || strings.HasPrefix(arm.Target, "unix:") {
		return cli.Usage("driver=%s calls over TCP without TLS only, and so not %s", arm.Driver, arm.Protocol)
	}
	by, err := tool.Named(arm.Tool())
	if err != nil {
		return err
	}
	if _, err := by.Find(); err != nil {
		return wirelab.Public(err).Behind("driver=" + arm.Driver + ": ")
	}
	return nil
}
