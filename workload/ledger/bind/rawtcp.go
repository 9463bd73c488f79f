package bind

import (
	"wirelab"
	"wirelab/wire/rawtcp"
	"wirelab/workload/ledger"
)

// RawTCP carries the ledger over no protocol: the schema's messages with a
// length in front. What it costs is what any protocol here must cost.
func RawTCP() wirelab.Binding[ledger.Service] {
	return wirelab.Binding[ledger.Service]{
		Protocol: rawtcp.Protocol(),
		Style:    wirelab.Idiomatic,
		Servers:  []wirelab.Server[ledger.Service]{exchangeServer("net", rawtcp.Serve)},
		Clients:  []wirelab.Dialer[ledger.Service]{exchangeDialer("net", rawtcp.Dial)},
		Raw:      rawtcp.Raw(rawHoles(), newExchangeStub),
	}
}
