package bind

import (
	"wirelab"
	"wirelab/wire/rawtcp"
	"wirelab/workload/directory"
)

// RawTCP carries the directory over no protocol: the schema's messages with a
// length in front. What it costs is what any protocol here must cost.
func RawTCP() wirelab.Binding[directory.Service] {
	return wirelab.Binding[directory.Service]{
		Protocol: rawtcp.Protocol(),
		Style:    wirelab.Idiomatic,
		Servers:  []wirelab.Server[directory.Service]{exchangeServer("net", rawtcp.Serve)},
		Clients:  []wirelab.Dialer[directory.Service]{exchangeDialer("net", rawtcp.Dial)},
		Raw:      rawtcp.Raw(rawHoles(), newExchangeStub),
	}
}
