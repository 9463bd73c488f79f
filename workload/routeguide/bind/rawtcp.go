package bind

import (
	"wirelab"
	"wirelab/wire/rawtcp"
	"wirelab/workload/routeguide"
)

// RawTCP carries the route guide over no protocol: published messages with a
// length in front. What it costs is what any protocol here must cost.
func RawTCP() wirelab.Binding[routeguide.Service] {
	return wirelab.Binding[routeguide.Service]{
		Protocol: rawtcp.Protocol(),
		Style:    wirelab.Idiomatic,
		Servers:  []wirelab.Server[routeguide.Service]{exchangeServer("net", rawtcp.Serve)},
		Clients:  []wirelab.Dialer[routeguide.Service]{exchangeDialer("net", rawtcp.Dial)},
	}
}
